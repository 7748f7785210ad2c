"""What everybody is due at the levels of rounds, to twice a float's digits: flat, and in groups.

In groups targets are followed along their path (`formulas.targets`) in decimals, round after round,
each stopped at its own level or on the line of a jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.nearby.pieces import OwnPiece, first
from fairopt.certificates.nearby.rows import Lot
from fairopt.formulas.doubles import exact_product
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.targets import Jump, PathPoint, Piece, TargetTree
from fairopt.instance import Bools, Floats, Ints

DIGITS = 45
"""decimal digits of the path of targets; two floats have 32"""
STANDS = Decimal("1e-12")
"""part by which the level of a jump may be off where it is looked for"""
SETTLED = 1e-24
"""part by which what is due by then may differ from what is due in the end, and is the same"""
MOST = 100_000
"""most pieces of the path that are followed"""
ALIKE = 1e-9
"""the same of floats, which then need to be looked at to all digits"""
NOBODY = np.zeros(0, dtype=np.int64)
WALKED = 400_000
"""most users times pieces of the path that are followed in all steps: some seconds"""


class LostError(Exception):
    """The rounds told are not on the path of targets, or it takes too long to follow."""


@dataclass(frozen=True)
class Flat:
    """Without groups: the larger of `floor` and base + level times weight, (N,), in units of
    shares."""

    weight: Floats
    floor: Floats
    base: Floats

    def at(self, level: Floats, users: Ints) -> Floats:
        """(2, U) what these users are due at a level (2,)."""
        high, low = exact_product(np.full(len(users), level[0]), self.weight[users])
        due = digits.plus(np.array([high, low + level[1] * self.weight[users]]), self.base[users])
        stays = due[0] <= self.floor[users] * (1 + 1e-12)
        due[0] = np.where(stays, self.floor[users], due[0])
        due[1] = np.where(stays, 0.0, due[1])
        return due

    def begun(self, lot: Lot, share: Floats) -> Lot:
        """The lot with the level that its users hold."""
        mine = lot.users[self.weight[lot.users] > 0]
        if not len(mine):  # all of them hold nothing
            return replace(lot, level=np.zeros(2))
        level = float(np.median((share[mine] - self.base[mine]) / self.weight[mine]))
        return replace(lot, level=np.array([max(level, 0.0), 0.0]))

    def walk(self, lots: Sequence[Lot]) -> FlatWalk:
        """What all are due, lot by lot."""
        due = np.zeros((2, len(self.weight)))
        for lot in lots:
            due[:, lot.users] = self.at(lot.level, lot.users)
        return FlatWalk(self, due)


@dataclass(frozen=True)
class FlatWalk:
    """What users are due: each at the level of its own lot, whatever the others'."""

    targets: Flat
    due: Floats

    def to(self, lot: Lot) -> tuple[Floats, Floats]:
        """(2, N) what all are due in the end, and (N,) how fast that grows with the lot's level."""
        mine, of = lot.users, self.targets
        high = of.base[mine] + lot.level[0] * of.weight[mine]
        slope = np.zeros(len(of.weight))
        slope[mine] = np.where(high > of.floor[mine] * (1 + 1e-12), of.weight[mine], 0.0)
        return self.due, slope

    def stop(self, lot: Lot) -> Lot:
        """The lot, stopped at its level."""
        self.due[:, lot.users] = self.targets.at(lot.level, lot.users)
        return lot

    def settled(self, lots: list[Lot]) -> list[Lot]:
        """The lots; who is at its floor is known without the path."""
        return lots


class Nested:
    """In groups.

    Parameters
    ----------
    asked : what is asked. unit : (N,) of shares. none : (N,) who is due nothing at all.
    """

    def __init__(self, asked: Entitled, unit: Floats, none: Bools) -> None:
        tree = asked.tree
        self.tree = TargetTree.of(tree.parent, _exact(tree.weight), tree.leaf, _exact(tree.use))
        self.unit, self.none, self.rank, self.walked = unit, none, asked.rank, 0
        self.base = _exact(asked.base)
        self.start = np.where(none, self.base * 0, _exact(asked.floor) - self.base)

    def begun(self, lot: Lot, share: Floats) -> Lot:
        """The lot, whose level is told."""
        return lot

    def walk(self, lots: Sequence[Lot]) -> NestedWalk | ApartWalk:
        """What all are due, lot by lot, from the first on."""
        plain = all(lot.part is None and not lot.jumped for lot in lots)
        if plain and len({lot.rank for lot in lots}) == 1:
            return ApartWalk(self, lots[0].rank)
        return NestedWalk(self)

    @cached_property
    def apart(self) -> list[tuple[Ints, TargetTree]]:
        """The groups of the root, each by itself."""
        return self.tree.apart()

    def floats(self, due: Any, users: Any = slice(None)) -> Floats:
        """(2, N) decimals (N,) in units of shares, or those of some users."""
        due = due + self.base[users]
        high = due.astype(np.float64)
        both = np.array([high, (due - _exact(high)).astype(np.float64)], dtype=np.float64)
        found: Floats = both / self.unit[users]
        return found


class NestedWalk:
    """The path of targets, followed lot by lot."""

    def __init__(self, targets: Nested) -> None:
        self._of, self._rank = targets, -1
        self._due = targets.start
        self._point: PathPoint | None = None
        self._piece: Any = None
        self._by: list[tuple[Any, Any]] = []

    @property
    def due(self) -> Floats:
        """(2, N) what all are due, as far as is known."""
        return self._of.floats(self._due)

    def to(self, lot: Lot) -> tuple[Floats, Floats]:
        """(2, N) what all are due by then, and (N,) how fast that grows with the lot's level, or
        with its part of a jump."""
        of = self._of
        if lot.rank != self._rank:
            free = (of.rank == lot.rank) & ~of.none
            self._rank, self._point = lot.rank, PathPoint.start(of.tree, self._due, free)
        self._piece = self._followed(lot)
        if isinstance(self._piece, Jump):
            slope = self._piece.end.due - self._piece.start.due
        else:
            slope = self._piece.slope
        return of.floats(self._here(lot).due), slope.astype(np.float64) / of.unit

    def _followed(self, lot: Lot) -> Piece | Jump:
        """The piece of the path, or the jump, in which a lot is stopped."""
        point, t = self._point, _both(lot.level)
        assert point is not None
        before: Piece | None = None
        for _ in range(MOST):
            self._of.walked += len(self._of.unit)
            if self._of.walked > WALKED:
                break
            piece = point.piece()
            if isinstance(piece, Jump):
                here = lot.part is not None and point.t >= t * (1 - STANDS)
                if here and len(piece.users):
                    return piece
                before = None if len(piece.users) else before
                point = piece.end
            elif lot.part is None and piece.until >= t * (1 + STANDS if lot.jumped else 1):
                # a jump of nobody, or none: what is told to come after may come before as well
                return before if before is not None else piece
            elif piece.until > t * (1 + STANDS) or piece.until == np.inf:
                break
            else:
                before = piece if before is None and piece.until >= t else before
                point = piece.at(piece.until)
        raise LostError

    def _here(self, lot: Lot) -> PathPoint:
        """Where a lot is stopped."""
        found: PathPoint = self._piece.at(_both(lot.level if lot.part is None else lot.part))
        return found

    def stop(self, lot: Lot) -> Lot:
        """The lot, stopped: with the level of its jump."""
        here = self._here(lot)
        self._due = here.due
        piece = self._piece
        line = piece.end.due - piece.start.due if isinstance(piece, Jump) else piece.slope
        self._by.append((self._due, line))
        self._point = here.freeze(lot.users)
        if lot.part is None:
            return lot
        high = float(here.t)
        return replace(lot, level=np.array([high, float(here.t - Decimal(high))]))

    def settled(self, lots: list[Lot]) -> list[Lot]:
        """The lots, with whose dues by then are what they are in the end."""
        last = self.due
        found = []
        for lot, (told, line) in zip(lots, self._by, strict=True):
            due, by = self._of.floats(told), np.maximum(told.astype(np.float64), 0.0)
            apart = np.abs((last[0] - due[0]) + (last[1] - due[1]))
            moving = line.astype(np.float64) > 0
            found.append(replace(lot, settled=apart <= SETTLED * last[0], by=by, moving=moving))
        return found


class ApartWalk:
    """The path of targets where no round is stopped on a jump: each group of the root by itself,
    so that a round costs no more than the groups of those whom it stops.

    What `to` tells of users who pay nothing in a round is what was told of them last.
    """

    def __init__(self, targets: Nested, rank: int) -> None:
        self._of = targets
        self.due = targets.floats(targets.start)
        self._users = [users for users, _ in targets.apart]
        free = (targets.rank == rank) & ~targets.none
        self._pieces = [
            first(tree, targets.start[users], free[users]) for users, tree in targets.apart
        ]
        # of each user its group, and its place there
        self._place, self._at = np.zeros((2, len(targets.unit)), dtype=np.int64)
        for k, users in enumerate(self._users):
            self._place[users], self._at[users] = k, np.arange(len(users))
        self._by: list[tuple[Decimal, list[OwnPiece]]] = []

    def to(self, lot: Lot) -> tuple[Floats, Floats]:
        """(2, N) what all who pay are due by then, and (N,) how fast that of the lot's own users
        grows with its level."""
        t = _both(lot.level)
        for k, piece in enumerate(self._pieces):
            while piece.until < t:
                piece = self._walked(k, piece.until, NOBODY)
        asked = lot.value[0] > 0
        asked[lot.users] = True
        slope = np.zeros(len(asked))
        for k in sorted(set(self._place[asked].tolist())):
            piece, users = self._pieces[k], self._users[k]
            at = np.flatnonzero(asked[users] & piece.free)
            mine = users[at]
            self.due[:, mine] = self._of.floats(piece.due(t, at), mine)
            slope[mine] = piece.line(at).astype(np.float64) / self._of.unit[mine]
        return self.due, slope

    def _walked(self, k: int, t: Any, stopped: Ints) -> OwnPiece:
        """The next piece of a group, from a level on where some of its users are stopped."""
        self._of.walked += len(self._users[k])
        if self._of.walked > WALKED:
            raise LostError
        found = self._pieces[k] = self._pieces[k].next(t, stopped)
        return found

    def stop(self, lot: Lot) -> Lot:
        """The lot, stopped at its level."""
        t = _both(lot.level)
        self._by.append((t, list(self._pieces)))
        group = self._place[lot.users]
        for k in sorted(set(group.tolist())):
            mine = lot.users[group == k]
            at = self._at[mine]
            self.due[:, mine] = self._of.floats(self._pieces[k].due(t, at), mine)
            self._walked(k, t, at)
        return lot

    def settled(self, lots: list[Lot]) -> list[Lot]:
        """The lots, with whose dues by then are what they are in the end.

        What floats tell apart needs no more digits.
        """
        of, found = self._of, list[Lot]()
        last: list[OwnPiece | None] = [None] * len(self._users)
        size = self.due[0] * of.unit
        stays = np.maximum(size - of.base.astype(np.float64), 0.0)
        begun, line = stays.copy(), np.zeros(len(stays))
        free = np.zeros(len(stays), dtype=bool)
        for lot, (t, pieces) in zip(lots, self._by, strict=True):
            for k, piece in enumerate(pieces):
                if piece is not last[k]:
                    users, at = self._users[k], np.flatnonzero(piece.free)
                    free[users] = piece.free
                    begun[users[at]] = piece.due(piece.t, at).astype(np.float64)
                    line[users[at]] = piece.line(at).astype(np.float64)
            last[:] = pieces
            past = np.array([float(t - piece.t) for piece in pieces])
            by = np.where(free, begun + line * past[self._place], stays)
            same = ~free | (np.abs(by - stays) <= ALIKE * size)
            for k in np.unique(self._place[same & free]).tolist():
                users = self._users[k]
                at = np.flatnonzero((same & free)[users])
                mine = users[at]
                due = of.floats(pieces[k].due(t, at), mine)
                apart = np.abs((self.due[0, mine] - due[0]) + (self.due[1, mine] - due[1]))
                same[mine] = apart <= SETTLED * self.due[0, mine]
            found.append(replace(lot, settled=same, by=by, moving=free & (line > 0)))
        return found


def _exact(values: Floats) -> Any:
    """Floats as an array of decimals."""
    found = np.empty(values.shape, dtype=object)
    found.ravel()[:] = [+Decimal(v) for v in values.ravel().tolist()]
    return found


def _both(value: Floats) -> Decimal:
    """The decimal of two floats."""
    return Decimal(float(value[0])) + Decimal(float(value[1]))


Targets = Flat | Nested
Walk = FlatWalk | NestedWalk | ApartWalk

__all__ = ["DIGITS", "Flat", "LostError", "Nested", "Targets", "Walk"]
