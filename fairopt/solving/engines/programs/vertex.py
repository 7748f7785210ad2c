r"""A vertex of the kept max-min model with about thirty digits, from the basis of HiGHS.

HiGHS keeps conditions to 1e-10. Where throughputs are nearly in one ratio, the prices of one level
span nine decades and more, and levels found at frozen ones multiply their errors by as much. So the
two square systems of the basis are solved again for the data as given, by sparse factors in floats
and residuals in two floats each (iterative refinement; Higham, Accuracy and Stability, 12.1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fairopt.formulas.doubles import exact_product, exact_sum
from fairopt.instance import Bools, Floats, Ints

STEPS = 6
"""corrections of a square system at most"""
CLOSE = 1e-26
"""relative correction at which it stops"""
SOLVED = 1e-18
"""relative correction that will do if rounding ends it"""
FEW_ENTRIES = 48
"""entries of a row up to which all rows are summed side by side"""


class Pair(NamedTuple):
    """Numbers as high + low, each low within half a digit of high."""

    high: Floats
    low: Floats

    def plus(self, more: Floats) -> Pair:
        """The sum with floats, its rounding kept."""
        high, error = exact_sum(self.high, more)
        return Pair(*exact_sum(high, error + self.low))

    def at(self, where: Ints) -> Pair:
        """The entries at these places."""
        return Pair(self.high[where], self.low[where])


def product(a: Floats, b: Pair) -> Pair:
    """a (floats) times b."""
    high, error = exact_product(a, b.high)
    return Pair(*exact_sum(high, error + a * b.low))


class SparseRows:
    """A sparse matrix by rows, for products with pairs that lose no digits."""

    def __init__(self, down: Ints, across: Ints, value: Floats, rows: int) -> None:
        order = np.argsort(down, kind="stable")
        self.across, self.value = across[order], value[order]
        self.count = np.bincount(down, minlength=rows)
        self.begin = np.concatenate([[0], np.cumsum(self.count)[:-1]])

    def short_of(self, whole: Pair, x: Pair) -> Floats:
        """(rows,) whole - matrix x, as floats, to 2^-100 of the largest term."""
        high, error = exact_product(self.value, x.high[self.across])
        rest = error + self.value * x.low[self.across]
        total, low = whole.high.copy(), whole.low.copy()
        for j in range(min(int(self.count.max(initial=0)), FEW_ENTRIES)):
            rows = np.flatnonzero((self.count > j) & (self.count <= FEW_ENTRIES))
            at = self.begin[rows] + j
            total[rows], more = exact_sum(total[rows], -high[at])
            low[rows] += more - rest[at]
        found: Floats = total + low
        for row in np.flatnonzero(self.count > FEW_ENTRIES).tolist():
            part = slice(int(self.begin[row]), int(self.begin[row] + self.count[row]))
            terms = [whole.high[row], whole.low[row], *(-high[part]), *(-rest[part])]
            found[row] = math.fsum(terms)
        return found


class Vertex(NamedTuple):
    """A vertex: columns x and prices of rows, in the units of the data.

    wrong : the largest violation of a bound, or of a sign of a price, in units of the model.
    """

    x: Pair
    price: Pair
    wrong: float


class Data:
    """The model with its data as given, in natural units; its last column is t.

    Rows of users come first: shares less their part of t are at least `least`, and what the other
    rows hold is at most `most`.

    Parameters
    ----------
    down, across, value : the entries, but for those of t.
    pace : (N,) share of a user in one t; 0 once it rises no more.
    most : of the rows after those of users.
    unit, size : (M,) and (C,), one unit of the model in each row, and of each column.
    """

    def __init__(
        self,
        down: Ints,
        across: Ints,
        value: Floats,
        pace: Floats,
        most: Floats,
        unit: Floats,
        size: Floats,
    ) -> None:
        self.down, self.across, self.value = down, across, value
        self.pace, self.users = pace.copy(), len(pace)
        self.unit, self.size = unit, size
        self.bound = Pair(np.concatenate([np.zeros(len(pace)), most]), np.zeros(len(unit)))

    def freeze(self, users: Ints, share: Pair) -> None:
        """These users keep these shares and rise no more."""
        self.pace[users] = 0.0
        self.bound.high[users], self.bound.low[users] = share

    def entries(self) -> tuple[Ints, Ints, Floats]:
        """All entries, with the last column."""
        rising = np.flatnonzero(self.pace)
        column = np.full(len(rising), len(self.size) - 1)
        return (
            np.concatenate([self.down, rising]),
            np.concatenate([self.across, column]),
            np.concatenate([self.value, -self.pace[rising]]),
        )

    def vertex(self, basic: Ints) -> Vertex | None:
        """The vertex of a basis, given as HiGHS does: columns, and rows as -1 - row; or None."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        rows, columns = len(self.unit), len(self.size)
        in_columns, in_rows = np.zeros(columns, bool), np.ones(rows, bool)
        in_columns[basic[basic >= 0]] = True
        in_rows[-1 - basic[basic < 0]] = False
        c, r = np.flatnonzero(in_columns), np.flatnonzero(in_rows)
        if len(c) != len(r) or not in_columns[-1]:
            return None
        down, across, value = self.entries()
        keep = in_rows[down] & in_columns[across]
        row, column = np.cumsum(in_rows)[down[keep]] - 1, np.cumsum(in_columns)[across[keep]] - 1
        near = value[keep] / self.unit[down[keep]] * self.size[across[keep]]
        try:
            factor = splu(csc_array((near, (row, column)), shape=(len(r), len(c))))
        except RuntimeError:
            return None
        right = self.bound.at(r)
        mine = SparseRows(row, column, value[keep], len(r))
        x = _refined(mine, right, lambda short: self.size[c] * factor.solve(short / self.unit[r]))
        goal = np.zeros(len(c))
        goal[-1] = -self.users / self.size[-1]
        back = SparseRows(column, row, value[keep], len(c))
        price = _refined(
            back,
            Pair(goal, np.zeros(len(c))),
            lambda short: factor.solve(short * self.size[c], trans="T") / self.unit[r],
        )
        if x is None or price is None:
            return None
        whole, all_prices = (Pair(np.zeros(k), np.zeros(k)) for k in (columns, rows))
        whole.high[c], whole.low[c] = x
        all_prices.high[r], all_prices.low[r] = price
        return self._judged(whole, all_prices, in_rows, in_columns, (down, across, value))

    def _judged(
        self,
        x: Pair,
        price: Pair,
        in_rows: Bools,
        in_columns: Bools,
        entries: tuple[Ints, Ints, Floats],
    ) -> Vertex:
        """What the vertex breaks, and the model about the difference from it."""
        down, across, value = entries
        rows, columns = len(self.unit), len(self.size)
        none = Pair(np.zeros(rows), np.zeros(rows))
        held = -SparseRows(down, across, value, rows).short_of(none, x) / self.unit
        user = np.arange(rows) < self.users
        # of a row that is not full
        left = np.where(in_rows, 0.0, self.bound.high / self.unit - held)
        goal = Pair(np.zeros(columns), np.zeros(columns))
        goal.high[-1] = -self.users / self.size[-1]
        back = SparseRows(across, down, value, columns).short_of(goal, price) * self.size
        back[in_columns] = 0.0
        sign = np.where(user, price.high, -price.high) * self.unit
        wrong = max(
            float(-(x.high / self.size).min()),
            float(-back.min()),
            float(-sign.min()),
            float(left[user].max(initial=0.0)),
            float(-left[~user].min(initial=0.0)),
        )
        return Vertex(x, price, max(wrong, 0.0))


def _refined(matrix: SparseRows, right: Pair, solve: Any) -> Pair | None:
    """The solution by refinement; None if corrections do not fall."""
    x = Pair(np.zeros(len(right.high)), np.zeros(len(right.high)))
    before = np.inf
    for _ in range(STEPS):
        short = matrix.short_of(right, x)
        step = solve(short)
        if not np.isfinite(step).all():
            return None
        x = x.plus(step)
        size = float(np.abs(step).max(initial=0.0) / (np.abs(x.high).max(initial=0.0) or 1.0))
        if size <= CLOSE:
            return x
        if size > 0.5 * before:
            return x if before < SOLVED else None
        before = size
    return x if before < SOLVED else None
