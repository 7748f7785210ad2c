"""One point of the path, with what it still misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.path.frame import Frame

LIGHTEST = 1e-280
"""part of the largest money that anybody's is counted as, at least"""


class PathParts(NamedTuple):
    """Views of the numbers of a state, all above 0.

    z (P + F,) columns; slack of shared rows, then of those of one column; room (L,) below limits;
    above (G,) floors. What vanishes with each: dear, price, rent, pledge. share (N,) above the
    base; spare (N,) what of it is beyond what is due at its value, only of steep questions; value
    (N,) of a unit of it.
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
    spare: Floats
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

    def __init__(self, frame: Frame, floored: Bools, active: Bools, steep: bool) -> None:
        self.frame, self.steep = frame, steep
        self.counted: Ints = np.flatnonzero(active & steep)
        self.limited: Ints = np.flatnonzero(frame.limited)
        self.floored: Ints = np.flatnonzero(floored)
        rows = frame.count + len(frame.alone)
        sizes = frame.columns, rows, len(self.limited), len(self.floored)
        self.half = int(sum(sizes))
        users = frame.users
        ends = np.cumsum([0, *sizes, *sizes, users, users * steep, users])
        self._slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def parts(self, whole: Floats) -> PathParts:
        """The parts of a state, or of a step."""
        return PathParts._make(map(whole.__getitem__, self._slices))

    def changes(self, products: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Of what vanishes together, by columns, rows, limits, floors and users."""
        z, slack, room, above = map(products.__getitem__, self._slices[:4])
        spare = np.zeros(self.frame.users)
        spare[self.counted] = products[self.half :]
        return z, slack, room, above, spare

    def products(self, whole: Floats) -> Floats:
        """What vanishes together, multiplied."""
        found = whole[: self.half] * whole[self.half : 2 * self.half]
        if not self.steep:
            return np.asarray(found)
        users = self.frame.users
        own = whole[-2 * users : -users] * whole[-users:]
        return np.concatenate([found, own[self.counted]])

    def of_limits(self, some: Floats) -> Floats:
        """(N,) of numbers of limited users alone."""
        found = np.zeros(self.frame.users)
        found[self.limited] = some
        return found

    def lengths(self, state: Floats, step: Floats) -> tuple[float, float]:
        """How far tasks and shares, and prices and values, may go before a number is 0, at most
        1."""
        part = -(step / state)
        half, users = self.half, self.frame.users
        mine = max(part[:half].max(), part[2 * half : -users].max(), 1.0)
        paid = max(part[half : 2 * half].max(), part[-users:].max(), 1.0)
        return 1.0 / float(mine), 1.0 / float(paid)

    def moved(self, state: Floats, step: Floats, mine: float, paid: float) -> Floats:
        """The state after steps of these lengths of tasks and shares, and of prices and values."""
        users = self.frame.users
        sizes = self.half, self.half, users * (1 + self.steep), users
        return np.asarray(state + np.repeat([mine, paid, mine, paid], sizes) * step)

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
