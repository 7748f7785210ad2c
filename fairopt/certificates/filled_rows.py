"""Prices that fill rows to the last digit, and the sums over users that a pass over them brings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.by_rows import LOOSE, finite
from fairopt.certificates.partitions import ROUNDING, JudgedTerms, Spent, Used
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.instance import Bools, Floats

ROOM = 1e-6
"""a row with a price of which less than this part is left is to be full"""
SPARE, FINER = 2.0**-67, 2.0**-6
"""part of a full row that is left free, so that none is overrun: one step brings rows nearer than
that; how much finer the next one aims, where users of little money need it"""
TRIES = 4
"""steps, each with a pass over partitions"""
LARGE = 2.0**-42
"""a step of prices by more than this part of them is rounded into them, and rows are filled from
there: differences of what is more would be too coarse to divide users of ties"""
ENOUGH = TOLERANCE / 8
"""what the lightest user may be off for what is left of rows"""
ADDED = 2.0**-51
"""part of three floats by which their rounded sum may be wrong"""


@dataclass(frozen=True, eq=False)
class Filling:
    """Prices, and which rows they should fill.

    Parameters
    ----------
    price : (I, R) in the unit in which users spend what they do. more : (I, R) a trifle more.
    full : (I, R) bool. spare : part of a full row that the next step leaves free. slope :
    (I, R, I, R) by how much use falls with prices; None before a step. pairs : of all users and
    servers, by which passes are compiled or not.
    """

    price: Floats
    more: Floats
    full: Bools
    spare: float = SPARE
    slope: Floats | None = None
    pairs: int = 0

    @classmethod
    def of(cls, terms: JudgedTerms, first: Used, second: Spent, pairs: int = 0) -> Filling:
        """The prices of an answer, without those of rows of which something is left."""
        left = 1.0 - first.used * first.shrink(terms.pool) / terms.pool
        full = (terms.prices > 0) & (left <= ROOM)
        price = np.where(full, terms.prices * np.exp(second.log_scale(terms.alpha)), 0.0)
        return cls(price, np.zeros(price.shape), full, pairs=pairs)

    def moved(self, pool: Floats, rows: RowSums) -> Filling | None:
        """With prices at which rows are full; None if their system has no solution."""
        at, size = np.flatnonzero(self.full), self.price.size
        unit = np.sqrt(self.price / pool).ravel()[at]
        slope = rows.slope if self.slope is None else self.slope
        matrix = slope.reshape(size, size)[np.ix_(at, at)] * np.outer(unit, unit)
        top = np.diag(matrix).max(initial=0.0)
        aim = np.maximum(self.spare * pool, 4 * rows.error)
        wanted = ((pool - rows.high) - rows.low - aim).ravel()[at] * unit
        found = finite(matrix + LOOSE * top * np.eye(len(at)), wanted)
        if found is None:
            return None
        more = self.more.copy()
        more.ravel()[at] -= found * unit
        if (np.abs(more) > LARGE * self.price).any():
            none = np.zeros(more.shape)
            return replace(self, price=self.price + more, more=none, slope=slope)
        return replace(self, more=more, slope=slope)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over users: use (I, R) as high + low, wrong by at most error; slope (I, R, I, R), asked
    for before a step alone; after one eps, of users alone, their money and that of the lightest."""

    high: Floats
    low: Floats
    error: Floats
    slope: Floats
    eps: float
    money: float
    lightest: float

    def __add__(self, other: RowSums) -> RowSums:
        high, lost = digits.exact_sum(self.high, other.high)
        small = np.abs(self.low) + np.abs(other.low) + np.abs(lost)
        return RowSums(
            high,
            (self.low + other.low) + lost,
            self.error + other.error + ADDED * small,
            self.slope + other.slope,
            self.eps + other.eps,
            self.money + other.money,
            min(self.lightest, other.lightest),
        )

    def whole(self, filling: Filling, terms: JudgedTerms) -> float:
        """eps of users and rows; inf where a row may be overrun."""
        left, wrong = digits.exact_sum(terms.pool, -self.high)
        error = self.error + ADDED * (np.abs(left) + np.abs(wrong) + np.abs(self.low))
        left = left + (wrong - self.low)
        price = filling.price + filling.more
        if not ((left >= error).all() and (price >= 0).all()):
            return np.inf
        whole = self.eps + float((price * (left + error)).sum()) + ROUNDING**4 * self.money
        return (1 + 1e-9) * whole if np.isfinite(whole) else np.inf

    def close(self, eps: float) -> bool:
        """Whether this eps is below what floats alone would leave."""
        return eps <= ROUNDING * self.money

    def enough(self, eps: float, alpha: float) -> bool:
        """Whether a smaller eps would hardly tell more of anybody."""
        return 2 * eps <= alpha * ENOUGH**2 * self.lightest


__all__ = ["FINER", "ROOM", "SPARE", "TRIES", "Filling", "RowSums"]
