"""Where rounds stop on the path of targets, followed anew for levels that change by a digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.formulas.targets import Jump, PathPoint, Piece
from fairopt.instance import Floats
from fairopt.solving.engines.quotas.rounds import LEAST_JUMP, Round, RoundsQuestion

LARGEST_CHANGE = 1e-6
"""a level that would change by a larger part is left as it was found"""
SAME_LEVEL = 1e-9
"""levels within this part of each other are one"""
MOST_PIECES = 10_000
"""most pieces that are followed"""

Level = Callable[[Lowered, Round, "Piece | Jump", Floats], "float | None"]
"""(rules, round, piece, base) -> how far along the piece the round is; None if it is not known"""


@dataclass(frozen=True)
class RoundsReached:
    """Rounds and what everybody is due.

    Parameters
    ----------
    rounds : in order. due : (N,) shares. line : (N, K) how much more each user is due, in the round
        that stops it, for a unit of its t, or of its part of a jump.
    """

    rounds: tuple[Round, ...]
    due: Floats
    line: Floats

    def moved(self, by: Floats) -> list[Round]:
        """The rounds with t, or parts of jumps, changed by (K,)."""
        return [
            replace(one, jump=min(max(one.jump + d, LEAST_JUMP), 1.0))
            if one.jump
            else replace(one, t=one.t + d)
            for one, d in zip(self.rounds, by.tolist(), strict=True)
        ]


def followed(
    rounds: Sequence[Round], asked: RoundsQuestion, level: Level | None = None
) -> RoundsReached | None:
    """The rounds along the path of targets; None if it leads elsewhere.

    Parameters
    ----------
    level : where each is stopped, if levels are to be worked out.
    """
    base = asked.floor if asked.added else np.zeros_like(asked.floor)
    share, line = asked.floor.copy(), np.zeros((len(base), len(rounds)))
    found = list[Round]()
    point, rank, last = None, None, 0.0
    for k, one in enumerate(rounds):
        if point is None or one.rank != rank:
            point = PathPoint.start(asked.tree, share - base, asked.rank == one.rank)
            rank, last = one.rank, 0.0
        piece = _piece(point, one.t, bool(one.jump))
        if piece is None:
            return None
        if isinstance(piece, Jump):
            part = one.jump
            if level is not None and one.users.any() and part < 1:
                part = _near(level(asked.low, one, piece, base), part, 1.0)
            point, rate = piece.at(min(part, 1.0)), piece.end.due - piece.start.due
            one = replace(one, t=float(piece.start.t), jump=part)
        else:
            t = max(one.t, last)
            if level is not None and one.users.any():
                step = level(asked.low, one, piece, base)
                begun = float(piece.start.t)
                t = _near(None if step is None else begun + step, t, t)
            t = min(max(t, float(piece.start.t)), float(piece.until))
            point, rate, one = piece.at(t), piece.slope, replace(one, t=t)
        last = float(point.t)
        line[:, k] = np.where(one.users, rate, 0.0)
        share = np.where(one.users, point.due + base, share)
        point = point.freeze(one.users)
        found.append(one)
    return RoundsReached(tuple(found), share, line)


def _near(value: float | None, old: float, size: float) -> float:
    return old if value is None or not abs(value - old) <= LARGEST_CHANGE * size else value


def _piece(point: PathPoint, t: float, jumps: bool) -> Piece | Jump | None:
    """The piece on which level t is reached, or the jump there."""
    for _ in range(MOST_PIECES):
        piece = point.piece()
        here = point.t >= t * (1 - SAME_LEVEL)
        if isinstance(piece, Jump):
            if here and jumps:
                return piece
            if here:  # stopped before it
                still = 0 * point.t
                return Piece(point, 0 * point.due, point.t, still, 0 * point.v, 0 * point.amount[0])
            point = piece.end
        elif jumps:
            if piece.until > t * (1 + SAME_LEVEL):
                return None
            point = piece.at(piece.until)
        elif piece.until >= t * (1 - SAME_LEVEL):
            return piece
        else:
            point = piece.at(piece.until)
    return None


__all__ = ["RoundsReached", "followed"]
