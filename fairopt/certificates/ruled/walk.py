"""The rounds of a max-min answer, followed along the path of targets: who is due what, and why not.

Only the tree, the floors, and each round's t, part of a jump and users are read; the shares that
the answer holds are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.ruled.prices import PricesGiven, of_round
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.targets import Jump, PathPoint
from fairopt.instance import Bools, Floats, Ints

SAME_T = 1e-12
"""levels t of rounds that differ by at most this part are one"""
PATH = "_path"
"""under which an answer keeps its rounds along the path of targets"""
MOST_PIECES = 100_000
"""most pieces of the path of targets that are followed"""


@dataclass(frozen=True)
class Reached:
    """Where a round stopped on the path of targets.

    Parameters
    ----------
    start : the point. jump : the line on which it is, if targets jump there. part : of that line.
    """

    start: PathPoint
    jump: Jump | None
    part: float


@dataclass(frozen=True)
class RoundWalk:
    """A round as the judge worked it out.

    Parameters
    ----------
    users : positions of Z_k. due : (N,) l: of Z_1..Z_k what they are due, of others what they are
        due by then. done : (N,) in Z_1..Z_k. prices : None if nothing is proved.
    reached : where it is on the path of targets.
    """

    users: Ints
    due: Floats
    done: Bools
    prices: PricesGiven
    reached: Reached


def path(alloc: Allocation, asked: Entitled) -> tuple[list[RoundWalk], str]:
    """The rounds worked out from the tree, the floors, t and Z; what is wrong with them, or ""."""
    walk = _TargetWalk(alloc, asked)
    try:
        return list(walk), ""
    except _WrongError as wrong:
        return walk.stops, str(wrong)


class _WrongError(Exception):
    """What is wrong with the rounds, in words."""


class _TargetWalk:
    """The path of targets, followed round by round."""

    def __init__(self, alloc: Allocation, asked: Entitled) -> None:
        self.alloc, self.asked = alloc, asked
        inst = alloc.instance
        position = {name: n for n, name in enumerate(inst.users)}
        self.rounds = [
            (each, np.array([position[name] for name in each["users"]], dtype=np.int64))
            for each in alloc.rounds or ()
        ]
        self.due = asked.floor - asked.base
        self.done = np.zeros(len(inst.users), dtype=bool)
        self.stops: list[RoundWalk] = []

    def __iter__(self) -> Iterator[RoundWalk]:
        point, rank = None, -1
        for k, (each, stopped) in enumerate(self.rounds):
            own = self._rank(k)
            if own < rank:
                raise _WrongError(f"round {k + 1} is of an earlier priority class")
            if own > rank:
                self._all_of(rank)
                point = PathPoint.start(self.asked.tree, self.due, self.asked.rank == own)
                rank = own
            assert point is not None
            if self.done[stopped].any() or len(np.unique(stopped)) < len(stopped):
                raise _WrongError(f"round {k + 1} stops somebody a second time")
            if (self.asked.rank[stopped] != rank).any():
                raise _WrongError(f"round {k + 1} stops users of two priority classes")
            part = float(each["jump"])
            point, jump = self._follow(point, k, float(each["t"]), part)
            self.due = point.due
            reached = Reached(point, jump, part)
            point = point.freeze(stopped)
            self.done = self.done.copy()
            self.done[stopped] = True
            if len(stopped):
                due = self.due + self.asked.base
                stop = RoundWalk(
                    stopped, due, self.done, of_round(self.alloc.instance, each["prices"]), reached
                )
                self.stops.append(stop)
                yield stop
        self._all_of(None)

    def _rank(self, k: int) -> int:
        """The class of a round: of its users, or where a jump stopped nobody, of the next ones."""
        for _, stopped in self.rounds[k:]:
            if len(stopped):
                return int(self.asked.rank[stopped[0]])
        raise _WrongError(f"round {k + 1} stops nobody")

    def _all_of(self, rank: int | None) -> None:
        """Whether everybody of a class (or everybody) is stopped."""
        mine = self.asked.rank <= rank if rank is not None else np.ones_like(self.done)
        left = np.flatnonzero(mine & ~self.done)
        if len(left):
            raise _WrongError(f"no round stops {self.alloc.instance.users[left[0]]}")

    def _follow(
        self, point: PathPoint, k: int, t: float, part: float
    ) -> tuple[PathPoint, Jump | None]:
        """The point of round k: at level t, or at that part of the jump there, and the jump."""
        if t < point.t * (1 - SAME_T):
            raise _WrongError(f"round {k + 1} is at level {t:g}, below the round before it")
        for _ in range(MOST_PIECES):
            piece = point.piece()
            here = point.t >= t * (1 - SAME_T)
            if isinstance(piece, Jump):
                if here:
                    return (piece.at(part), piece) if part else (point, None)
                point = piece.end
            elif here:
                if part:
                    raise _WrongError(f"round {k + 1} tells of a jump where targets do not jump")
                return point, None
            elif piece.until >= t * (1 - SAME_T):
                point = piece.at(min(t, piece.until))
            else:
                point = piece.at(piece.until)
        raise _WrongError(f"round {k + 1} is at level {t:g}, too far along the targets")
