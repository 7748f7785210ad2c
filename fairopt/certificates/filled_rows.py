"""Prices that fill rows to the last digit, and the sums over users that a pass over them brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from fairopt import clock
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
TRIES = 16
"""passes over the users, each after a step of prices or a change of tasks"""
FURTHEST = 16.0
"""the factor by which a step may change a price: what leads further leads nowhere"""
LARGE = 2.0**-42
"""a step of prices by more than this part of them is rounded into them, and rows are filled from
there: differences of what is more would be too coarse to divide users of ties"""
ENOUGH = TOLERANCE / 2
"""what the lightest user may be off for what is left of rows, where nothing else is asked"""
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
        """With prices at which rows are full; None if their system has no solution, or one far from
        the prices that are."""
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
        price = self.price + more
        if not ((price >= self.price / FURTHEST) & (price <= self.price * FURTHEST)).all():
            return None
        if (np.abs(more) > LARGE * self.price).any():
            none = np.zeros(more.shape)
            return replace(self, price=price, more=none, slope=slope)
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

    def enough(self, eps: float, alpha: float, off: float = ENOUGH) -> bool:
        """Whether with this eps the lightest user is off by no more than `off`, nearly."""
        return 2 * eps <= alpha * off**2 * self.lightest


class UserPasses(Protocol):
    """Passes over all users, wherever they are."""

    def summed(self, terms: JudgedTerms, filling: Filling) -> RowSums:
        """The sums of all users at a filling."""

    def moved(self: P, terms: JudgedTerms, filling: Filling) -> P:
        """The same where users have the tasks of the point of this filling: of users who had many
        servers of nearly the same price what was slightly dearer is less or gone, and others have
        what rows lacked."""


P = TypeVar("P", bound=UserPasses)


def fill(
    passes: P, terms: JudgedTerms, filling: Filling, enough: float = ENOUGH
) -> tuple[Filling | None, float, P]:
    """Prices at which rows are full, eps there, the least that some steps find, and the passes with
    the tasks that led there; None and inf where nothing is found.

    Parameters
    ----------
    enough : what the lightest user may be off, as a part of its share.
    """
    alpha = terms.alpha
    best: tuple[Filling | None, float, P] = None, np.inf, passes
    if not filling.full.any():
        return best
    least = lost = np.inf
    wanted, stalls = None, 0
    rows = passes.summed(terms, filling)
    for _ in range(TRIES):
        stepped = filling.moved(terms.pool, rows)
        if stepped is None or clock.late():
            break
        # what users lose by themselves where prices hardly move any more only other tasks make less
        small = bool(stepped.more.any())
        if wanted is not None and small and not rows.enough(rows.eps, alpha, wanted):
            stalls = stalls + 1 if not rows.eps <= lost / 2 else 0
            if stalls > 1:
                break
            lost, wanted, passes = min(lost, rows.eps), None, passes.moved(terms, stepped)
            # prices keep their last digits, and rows are filled as far as before
            price, more = digits.exact_sum(stepped.price, stepped.more)
            filling = replace(stepped, price=price, more=more, slope=None)
            rows = passes.summed(terms, filling)
            continue
        filling, rows = stepped, passes.summed(terms, stepped)
        eps = rows.whole(filling, terms)
        # a step that fills overrun rows changes it again, so that less is asked of it before
        wanted = enough if np.isfinite(eps) else 2 * enough
        if rows.close(eps):
            if least < np.inf and not eps <= least / 2:
                break
            best, least = (filling, eps, passes), eps
            if rows.enough(eps, alpha, enough):
                break
            filling = replace(filling, spare=filling.spare * FINER)
        elif small:
            # so fine no step comes where users have many servers of the same price
            filling = replace(filling, spare=max(filling.spare, SPARE))
    return best


__all__ = ["ROOM", "Filling", "RowSums", "UserPasses", "fill"]
