"""Pieces of the path of targets of one group of the root, in decimals, each with what comes next.

A group of users alone is followed by a few numbers: its v, what is used of each resource, and what
all who are free add to that. Any other group, and one that jumps, is followed by its whole tree
(`formulas.targets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.formulas.targets import SAME_DECIMALS, Jump, PathPoint, Piece, TargetTree
from fairopt.instance import Bools, Ints

ZERO, ONE = Decimal(0), Decimal(1)


def first(tree: TargetTree, start: Any, free: Bools) -> OwnPiece:
    """The first piece of a group.

    Parameters
    ----------
    start : (N,) what everybody is due at level 0, decimals. free : (N,) who takes part.
    """
    grouped = len(tree.parent) == 2 + len(start) and (tree.parent[2:] == 1).all()
    alone = len(tree.parent) == 1 + len(start)
    if (grouped or alone) and not any(start.tolist()):
        weight, use = tree.weight[tree.leaf].tolist(), tree.use.tolist()
        share = tree.weight[1] if grouped else None
        group = _OwnUsers(
            tree, share, weight, [[w * u for u in own] for w, own in zip(weight, use, strict=True)]
        )
        return _piece(group, ZERO, ZERO, [ZERO] * tree.use.shape[1], start, free)
    return AnyPiece.after(PathPoint.start(tree, start, free))


@dataclass(frozen=True)
class AnyPiece:
    """A piece of any group."""

    piece: Piece

    @classmethod
    def after(cls, point: PathPoint) -> AnyPiece:
        """The next piece from a point on, after all jumps."""
        while isinstance(piece := point.piece(), Jump):
            point = piece.end
        return cls(piece)

    @property
    def free(self) -> Bools:
        """(N,) who is not stopped."""
        return self.piece.start.free

    @property
    def t(self) -> Any:
        """Where it begins."""
        return self.piece.start.t

    @property
    def until(self) -> Any:
        """Where it ends."""
        return self.piece.until

    def due(self, t: Any, at: Ints) -> Any:
        """What free users are due at a level of the piece."""
        return self.piece.start.due[at] + self.piece.slope[at] * (t - self.piece.start.t)

    def line(self, at: Ints) -> Any:
        """How fast that grows."""
        return self.piece.slope[at]

    def next(self, t: Any, stopped: Ints) -> OwnPiece:
        """The next piece, from a level of this one on, where users are stopped."""
        point = self.piece.at(t)
        return self.after(point.freeze(stopped) if len(stopped) else point)


@dataclass(frozen=True)
class _OwnUsers:
    """A group without groups in it.

    Parameters
    ----------
    share : weight of the group; None of users in none. weight : of its users. counts : what a unit
    of v adds of each resource, user by user.
    """

    tree: TargetTree
    share: Decimal | None
    weight: list[Decimal]
    counts: list[list[Decimal]]

    @cached_property
    def weights(self) -> Any:
        """(N,) the weights as an array."""
        return np.array(self.weight, dtype=object)


@dataclass(frozen=True)
class UsersPiece:
    """A piece of a group of users, which were due nothing at level 0.

    Parameters
    ----------
    t, v, used : where it begins, v there, and what is used of each resource. rate : how fast v
        grows. grows : what is used, for a unit of v. stays : (N,) what the stopped are due.
    """

    group: _OwnUsers
    t: Any
    v: Any
    used: list[Any]
    rate: Any
    grows: list[Any]
    until: Any
    stays: Any
    free: Bools

    def due(self, t: Any, at: Ints) -> Any:
        """What free users are due at a level of the piece."""
        return self.group.weights[at] * (self.v + self.rate * (t - self.t))

    def line(self, at: Ints) -> Any:
        """How fast that grows."""
        return self.group.weights[at] * self.rate

    def next(self, t: Any, stopped: Ints) -> OwnPiece:
        """The next piece, from a level of this one on, where users are stopped."""
        more = self.rate * (t - self.t)
        v, stays, free = self.v + more, self.stays, self.free
        used = [a + more * b for a, b in zip(self.used, self.grows, strict=True)]
        if len(stopped):
            stays, free = stays.copy(), free.copy()
            stays[stopped], free[stopped] = self.group.weights[stopped] * v, False
        return _piece(self.group, t, v, used, stays, free)


OwnPiece = AnyPiece | UsersPiece


def _piece(group: _OwnUsers, t: Any, v: Any, used: list[Any], stays: Any, free: Bools) -> OwnPiece:
    """The piece that begins at a level: as `formulas.targets` has it, where nobody waits."""
    some = [group.counts[n] for n in np.flatnonzero(free).tolist()]
    grows = [sum(of, ZERO) for of in zip(*some, strict=True)] if some else [ZERO] * len(used)
    forever = Decimal("Infinity")
    if not some:
        return UsersPiece(group, t, v, used, ZERO, grows, forever, stays, free)
    if group.share is None:
        return UsersPiece(group, t, v, used, ONE, grows, forever, stays, free)
    size = max(used)
    full = size * (1 - SAME_DECIMALS)
    # of a level that is no number nothing is known, which is seen by whoever asked
    most = (b for a, b in zip(used, grows, strict=True) if a >= full)
    grown = max(most, default=Decimal("NaN"))
    if not grown:  # who is left uses nothing of what there is most of: the group jumps
        base = np.where(free, group.weights * v, stays)
        at = np.zeros(len(group.tree.parent), dtype=object)
        at[:] = ZERO
        at[0], at[1] = t, v
        return AnyPiece.after(PathPoint(group.tree, np.where(free, stays, base), base, at, free))
    until = forever
    for a, b in zip(used, grows, strict=True):
        if b > grown and a < full:  # it overtakes the one of which there is most
            until = min(until, t + (size - a) / ((b / grown - 1) * group.share))
    rate = group.share * (1 / grown)
    return UsersPiece(group, t, v, used, rate, grows, until, stays, free)


__all__ = ["AnyPiece", "OwnPiece", "UsersPiece", "first"]
