"""One point of the path, with what it still misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.path.frame import Frame

LIGHTEST = 1e-280
"""part of the largest money that anybody's is counted as, at least"""


class Parts(NamedTuple):
    """Views of the numbers of a state, all above 0.

    z (P + F,) columns; slack of shared rows, then of those of one column; room (L,) below limits;
    above (G,) floors. What vanishes with each: dear, price, rent, pledge. share (N,) above the
    base; value (N,) of a unit of it.
    """

    z: Floats
    slack: Floats
    room: Floats
    above: Floats
    dear: Floats
    price: Floats
    rent: Floats
    pledge: Floats
    share: Floats
    value: Floats


@dataclass(frozen=True)
class PathMissing:
    """What a state misses: dual (P + F,) of prices, rows, limits (L,), floors (G,), shares (N,),
    curve (N,) of the relation of share and value, in the logarithm. held (N,) shares of the
    columns; q (N,) what a unit of share pays; cost (P + F,); used (rows,) of
    shared ones; own (N,) money; money () of all."""

    dual: Floats
    rows: Floats
    limits: Floats
    floors: Floats
    shares: Floats
    curve: Floats
    held: Floats
    q: Floats
    cost: Floats
    used: Floats
    own: Floats
    money: float


class StateLayout:
    """Where the parts lie in one array, so that a step and its length are single operations."""

    def __init__(self, frame: Frame, floored: Bools) -> None:
        self.frame = frame
        self.limited: Ints = np.flatnonzero(frame.limited)
        self.floored: Ints = np.flatnonzero(floored)
        rows = frame.count + len(frame.alone)
        sizes = frame.columns, rows, len(self.limited), len(self.floored)
        self.half = int(sum(sizes))
        ends = np.cumsum([0, *sizes, *sizes, frame.users, frame.users])
        self._slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def parts(self, whole: Floats) -> Parts:
        """The parts of a state, or of a step."""
        return Parts._make(map(whole.__getitem__, self._slices))

    def halves(self, products: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The parts of what vanishes together."""
        z, slack, room, above = map(products.__getitem__, self._slices[:4])
        return z, slack, room, above

    def products(self, whole: Floats) -> Floats:
        """What vanishes together, multiplied."""
        return np.asarray(whole[: self.half] * whole[self.half : 2 * self.half])

    def of_limits(self, some: Floats) -> Floats:
        """(N,) of numbers of limited users alone."""
        found = np.zeros(self.frame.users)
        found[self.limited] = some
        return found

    def length(self, state: Floats, step: Floats) -> float:
        """How far a step may go before a number is 0."""
        return float(1.0 / max(-(step / state).min(), 1e-300))

    def cost(self, price: Floats) -> Floats:
        """(P + F,) of all rows but limits."""
        count = self.frame.count
        return self.frame.cost(price[:count], price[count:])

    def used(self, z: Floats) -> Floats:
        """What columns take of shared rows and of those of one column."""
        frame = self.frame
        return np.concatenate([frame.a @ z, frame.bound * z[frame.bounded]])

    @property
    def rhs(self) -> Floats:
        """What there is of these rows."""
        return np.concatenate([self.frame.rhs_shared, self.frame.rhs_alone])
