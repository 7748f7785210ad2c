r"""The fixed arrays of a question: general rows, each user's own, and the patterns of products.

Three kinds of rows are told apart, as each costs a step another amount: general ones, A z <= r, of
which one system is solved; the limit of a user, g'z <= 1 over its columns; and what bounds one
column alone, e z <= 1, which is taken into the column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.formulas.lowered import CAPACITY, LIMIT, PLACE, Lowered
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.path.scaled import standard

SMALL = 50_000
"""entries up to which a matrix is kept full"""
FULL = 4_000_000
"""users times rows up to which what users take of rows is a full matrix"""
THICK = 0.05
"""part of entries above which it is one anyway"""
ROOMY = 1_000_000
"""keys of which a table may be made"""
FEW, WIDE = 60, 40
"""rows of a small system; most rows of a block"""


class Frame:
    """The rules in units in which everything is about 1.

    m, columns, count, users : general rows, columns with and without flows, users.
    owner : (count,). size : (columns,). row, column, value : (E,) entries of A (m, columns).
    rhs : (m,). g : (columns,) part of its user's limit that a unit of each column takes; most,
    least : (users,) of these. place : (B,) columns bounded alone, by : (B,) their e; alone :
    (B,) right sides of these rows.
    of_low, of_limit, of_place : rows of the lowered system that these are.
    """

    def __init__(self, low: Lowered, unit: Floats) -> None:
        form = standard(low, unit)
        whole = form.matrix
        self.size, self.owner, self.users = form.size, form.owner, len(unit)
        self.count, self.columns = len(form.owner), whole.shape[1]
        kind = np.full(whole.shape[0], -1)
        kind[: len(low.kind)] = low.kind
        limit = (kind == LIMIT) & (form.rhs > 0)
        place = (kind == PLACE) & (form.rhs > 0) & (np.diff(whole.indptr) == 1)
        self.of_low = np.flatnonzero(~limit & ~place)
        self.rhs = form.rhs[self.of_low]
        self.only_capacity = bool((kind[self.of_low] == CAPACITY).all())
        self._general(whole[self.of_low])
        self._limits(whole, form.rhs, np.flatnonzero(limit))
        self.of_place = np.flatnonzero(place)
        self.place = whole.indices[whole.indptr[self.of_place]].astype(np.int64)
        self.alone = form.rhs[self.of_place]
        self.by = whole.data[whole.indptr[self.of_place]] / self.alone
        self._products()
        self._shares()

    def _general(self, a: Any) -> None:
        by_column = a.tocsc()
        by_column.sort_indices()
        self.m = a.shape[0]
        self.value, self.row = by_column.data, by_column.indices.astype(np.int64)
        self.begins = by_column.indptr
        self.column = np.repeat(np.arange(self.columns), np.diff(by_column.indptr))
        full = self.m * self.columns <= SMALL
        self.a: Any = a.toarray() if full else a.tocsr()
        self.at: Any = self.a.T if full else a.T.tocsr()
        self.size_of_a: Any = abs(self.a)
        self.first = np.flatnonzero(np.diff(self.owner, prepend=-1) > 0)

    def _limits(self, whole: Any, rhs: Floats, rows: Ints) -> None:
        self.g = np.zeros(self.columns)
        self.limited: Bools = np.zeros(self.users, bool)
        self.of_limit = np.full(self.users, -1)
        entries = whole[rows].tocoo()
        user = self.owner[entries.col]
        self.g[entries.col] = entries.data / rhs[rows[entries.row]]
        self.limited[user] = True
        self.of_limit[user] = rows[entries.row]
        self.most = np.maximum.reduceat(self.g[: self.count], self.first)
        self.least = np.minimum.reduceat(self.g[: self.count], self.first)
        self.mixed = bool((self.most > self.least * (1 + 1e-12)).any())

    def of(self, x: Floats) -> Floats:
        """(users,) sums of x (columns,) over each user's columns."""
        return np.asarray(np.add.reduceat(x[: self.count], self.first))

    def to(self, users: Floats) -> Floats:
        """(columns,) what each column's user has of users (N,); 0 of flows."""
        if self.columns == self.count:
            return np.asarray(users[self.owner])
        found = np.zeros(self.columns)
        found[: self.count] = users[self.owner]
        return found

    def cheapest(self, cost: Floats) -> Floats:
        """(users,) the least of cost (columns,) among each user's columns."""
        return np.asarray(np.minimum.reduceat(cost[: self.count], self.first))

    def _products(self) -> None:
        """A theta A' as one sparse map of theta: pairs of entries of a column, lower triangle."""
        from scipy.sparse import csr_array

        many = np.diff(self.begins)
        keys, values, columns = [], [], []
        for i in range(int(many.max())):
            has = np.flatnonzero(many > i)
            start = self.begins[has]
            for j in range(i + 1):
                keys.append(self.row[start + i] * self.m + self.row[start + j])
                values.append(self.value[start + i] * self.value[start + j])
                columns.append(has)
        key, value, column = (np.concatenate(part) for part in (keys, values, columns))
        found, place = _distinct(key, self.m * self.m)
        shape = (len(found), self.columns)
        pairs = csr_array((value, (place, column)), shape=shape)
        self.pairs: Any = pairs.toarray() if shape[0] * shape[1] <= SMALL else pairs
        self.up, self.left = found // self.m, found % self.m
        self.blocks: tuple[int, int] | None = None
        if self.only_capacity and self.users < self.m and self.m > FEW:
            self._blocks()

    def _blocks(self) -> None:
        """Rows that share columns, as those of one server do, are a block where few do."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        entries = (np.ones(len(self.up)), (self.up, self.left))
        count, of = connected_components(coo_array(entries, shape=(self.m, self.m)))
        width = np.bincount(of)
        if width.max() > WIDE:
            return
        order = np.argsort(of, kind="stable")
        self.within = np.empty(self.m, np.int64)
        self.within[order] = np.arange(self.m) - np.repeat(np.cumsum(width) - width, width)
        self.block, self.blocks = of, (int(count), int(width.max()))

    def _shares(self) -> None:
        """Where the entries of `coupled` are, from those of A."""
        owned = self.column < self.count
        self.taking, self.taken = self.value[owned], self.column[owned]
        self.key = self.owner[self.taken] * self.m + self.row[owned]
        cells = self.users * self.m
        self.cells, self.at_cell = _distinct(self.key, cells)
        self.once = len(self.cells) == len(self.key)
        self.full = cells <= FULL or len(self.cells) > THICK * cells

    def coupled(self, theta: Floats) -> Any:
        """(users, m) what each user's columns take of each row, times theta (columns,)."""
        entry = self.taking * theta[self.taken]
        if not self.once:
            entry = np.bincount(self.at_cell, entry, len(self.cells))
        if self.full:
            found = np.zeros((self.users, self.m))
            found.reshape(-1)[self.key if self.once else self.cells] = entry
            return found
        from scipy.sparse import csr_array

        user, row = np.divmod(self.key if self.once else self.cells, self.m)
        return csr_array((entry, (user, row)), shape=(self.users, self.m))


def _distinct(key: Ints, most: int) -> tuple[Ints, Ints]:
    """The distinct keys below `most` in order, and where each key is among them."""
    if most > 20 * len(key) + ROOMY:
        found, place = np.unique(key, return_inverse=True)
        return found, place
    there = np.zeros(most, bool)
    there[key] = True
    found = np.flatnonzero(there)
    where = np.empty(most, np.int64)
    where[found] = np.arange(len(found))
    return found, where[key]


__all__ = ["FEW", "Frame"]
