"""What stays the same along a path: rows, columns and limits in their units, and which meet.

Columns are z >= 0, tasks first, then flows counted from one of their bounds; a task is one unit of
its user's share. Rows are of three kinds, by what they hold: `shared` ones; those that bound one
column `alone`; and limits, one of each limited user, `limit` per unit of its tasks: its own, or a
ceiling or rule that counts each of its tasks alike, and no other's.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fairopt.formulas.lowered import BOUND, CAPACITY, LIMIT, RULE, Lowered
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.path import blocks, grid, own

SMALL = 50_000
"""numbers of a matrix up to which it is kept whole"""
EVEN = 1 + 1e-12
"""largest ratio of what a user's tasks count in a row that counts them alike"""
DENSE, THICK = 4_000_000, 0.05
"""numbers up to which users times rows are kept whole, and the part that is not 0 from which"""


class Frame:
    """The question in units in which everything is about 1.

    Parameters
    ----------
    unit : (N,) a share of about the size expected of each user. together : whether limits are
        rows like others.
    """

    def __init__(self, low: Lowered, unit: Floats, together: bool = False) -> None:
        self.owner, self.tasks, self.users = low.owner, low.columns, len(unit)
        self.ruled = bool((low.kind == RULE).any())
        """whether there are own rules"""
        self.first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        """where the columns of each user begin: they are in the order of users"""
        rows, row, column, value, rhs = self._standard(low, unit)
        self.rows, self.columns = len(rhs), len(self.size)
        limits = np.zeros(self.rows, dtype=bool)
        if not together:
            limits[:rows] = self._of_one(low, row, column, value, rhs)
        one = (np.bincount(row, minlength=self.rows) == 1) & ~limits
        shared = ~limits & ~one
        self.shared, self.alone = np.flatnonzero(shared), np.flatnonzero(one)
        at = np.flatnonzero(one[row])
        at = at[np.argsort(row[at], kind="stable")]
        self.bounded, self.bound = column[at], value[at]
        self.rhs_shared, self.rhs_alone = rhs[self.shared], rhs[self.alone]
        at = limits[row]
        self._limits(row[at], column[at], value[at], rhs)
        at = np.flatnonzero(shared[row])
        if len(low.low):  # rows of bounds of flows came last
            at = at[np.lexsort((row[at], column[at]))]
        self.count = len(self.shared)
        self.value, self.column = value[at], column[at]
        self.row = (np.cumsum(shared) - 1)[row[at]]
        small = self.count * self.columns <= SMALL
        self.grid = None if small else grid.DemandGrid.of(low, self.size, self.shared)
        self.a, self.at = self._matrix(small)
        signed = bool((self.value < 0).any())
        self.size_of: Any = abs(self.a) if signed else self.a
        self.signed = signed
        self.is_task = np.arange(self.columns) < self.tasks
        self.wide = self._wide(low)
        users = self.users * (1 + self.mixed)
        self.blocks = blocks.of(users, self.count, self.row, self.column, self.columns)
        self.own: tuple[own.User, ...] = ()
        self.common = np.arange(self.count)
        if not small and self.blocks is None and self.grid is None:
            self._apart()

    def _apart(self) -> None:
        """The rows of users alone, where these are most of them."""
        user = np.full(self.columns, -1)
        user[: self.tasks] = self.owner
        lone = own.alone(self.row, user[self.column], self.count)
        if own.fits(lone):
            self.own = own.users_of(self.a, self.owner, lone)
            self.common = np.flatnonzero(lone < 0)

    def _wide(self, low: Lowered) -> Ints:
        """The entries of tasks in rows over servers, of several users, that all columns of their
        user, more than one, are in: what these cost is the same wherever it runs."""
        over = np.zeros(self.rows, dtype=bool)
        over[: len(low.kind)] = low.kind != CAPACITY
        at = np.flatnonzero(over[self.shared][self.row] & (self.column < self.tasks))
        if not len(at):
            return at
        mine, row = self.owner[self.column[at]], self.row[at]
        pair, each, many = np.unique(
            row * self.users + mine, return_inverse=True, return_counts=True
        )
        shared = np.bincount(pair // self.users, minlength=self.count)[row] > 1
        whole = np.bincount(self.owner, minlength=self.users)[mine]
        found: Ints = at[shared & (many[each] == whole) & (whole > 1)]
        return found

    def _of_one(self, low: Lowered, row: Ints, column: Ints, value: Floats, rhs: Floats) -> Bools:
        """(rows of `low`,) those that limit one user, the tightest of each."""
        found: Bools = low.kind == LIMIT
        some = ((low.kind == BOUND) | (low.kind == RULE)) & (rhs[: len(found)] > 0)
        if not some.any():
            return found
        at = np.flatnonzero((row < len(found)) & (column < self.tasks))
        row, mine, part = row[at], self.owner[column[at]], value[at] / rhs[row[at]]
        least, most, first, last = (
            np.full(len(found), end) for end in (np.inf, 0.0, self.users, -1)
        )
        np.minimum.at(least, row, part)
        np.maximum.at(most, row, part)
        np.minimum.at(first, row, mine)
        np.maximum.at(last, row, mine)
        many = np.bincount(row, minlength=len(found))
        whole = np.append(np.bincount(self.owner, minlength=self.users), 0)
        some &= (first == last) & (many == whole[last]) & (least > 0) & (most <= least * EVEN)
        tightest = np.zeros(self.users + 1)
        limit = np.flatnonzero(found)
        tightest[last[limit]] = most[limit]
        for k in np.flatnonzero(some).tolist():
            n = last[k]
            if least[k] > tightest[n]:
                found[found & (last == n)] = False
                found[k], tightest[n] = True, least[k]
        return found

    def _standard(self, low: Lowered, unit: Floats) -> tuple[int, Ints, Ints, Floats, Floats]:
        """How many rows are those of `low`, which come first, and what all hold: row, column and
        value of each entry, and right sides (M,). A row is in units of its typical amount; flows
        are counted from one of their bounds, and the other bound is one more row."""
        entry = low.matrix.tocsc()  # in the order of columns
        entry.sort_indices()
        row, value = entry.indices.astype(np.int64), entry.data
        column = np.repeat(np.arange(entry.shape[1]), np.diff(entry.indptr))
        rows, rhs, value = len(low.rhs), low.rhs / low.unit, value / low.unit[row]
        self.size = unit[self.owner] / low.score
        if len(low.low):
            at = column >= self.tasks
            mine, flow = np.flatnonzero(at), column[at] - self.tasks
            from_low = np.isfinite(low.low)
            start = np.where(from_low, low.low, low.high)
            rhs = rhs - np.bincount(row[mine], value[mine] * start[flow], rows)
            here = np.abs(value[mine]) * low.unit[row[mine]]
            paid = np.bincount(flow, here * low.unit[row[mine]], len(start))
            reach = paid / np.maximum(np.bincount(flow, here, len(start)), 1.0)
            value[mine] *= np.where(from_low, 1.0, -1.0)[flow]
            both = np.flatnonzero(from_low & np.isfinite(low.high))
            row = np.concatenate([row, rows + np.arange(len(both))])
            column = np.concatenate([column, self.tasks + both])
            value = np.concatenate([value, 1.0 / (low.high[both] - low.low[both])])
            rhs = np.concatenate([rhs, np.ones(len(both))])
            self.size = np.concatenate([self.size, reach])
        return rows, row, column, value * self.size[column], rhs

    def _matrix(self, small: bool) -> tuple[Any, Any]:
        """The shared rows as a matrix (rows, P + F), and its transpose."""
        if self.grid is not None:
            return grid.Map(self.grid.used), grid.Map(self.grid.cost)
        shape = self.count, self.columns
        if small:
            whole = np.zeros(shape)
            whole[self.row, self.column] = self.value
            return whole, whole.T
        from scipy.sparse import csc_array

        ends = np.concatenate([[0], np.cumsum(np.bincount(self.column, minlength=self.columns))])
        by_column = csc_array((self.value, self.row, ends), shape=shape)
        return by_column.tocsr(), by_column.T

    def _limits(self, row: Ints, column: Ints, value: Floats, rhs: Floats) -> None:
        """`limit` (P + F,) of each column, 0 where none; of users the largest and the smallest."""
        self.limit = np.zeros(self.columns)
        self.limit[column] = value / rhs[row]
        self.limited = np.zeros(self.users, dtype=bool)
        self.row_of_limit = np.full(self.users, -1)
        mine = self.owner[column]
        self.limited[mine] = True
        self.row_of_limit[mine] = row
        self.rhs_limit = np.ones(self.users)
        self.rhs_limit[mine] = rhs[row]
        self.most_limit = self.largest(self.limit[: self.tasks])
        self.least_limit = self.smallest(self.limit[: self.tasks])
        uneven = self.most_limit > self.least_limit * (1 + 1e-12)
        self.mixed = bool((uneven & self.limited).any())

    # -- users and their columns -------------------------------------------------------------

    def of(self, z: Floats) -> Floats:
        """(N,) sums over a user's tasks."""
        return self._by_user(np.add, z[: self.tasks], 0.0)

    def to(self, of_users: Floats) -> Floats:
        """(P + F,) of a user to its columns; 0 of flows."""
        if self.columns == self.tasks:
            return np.asarray(of_users[self.owner])
        found = np.zeros(self.columns)
        found[: self.tasks] = of_users[self.owner]
        return found

    def smallest(self, of_tasks: Floats) -> Floats:
        """(N,) the least of a user's tasks."""
        return self._by_user(np.minimum, of_tasks, np.inf)

    def largest(self, of_tasks: Floats) -> Floats:
        """(N,) the most of a user's tasks."""
        return self._by_user(np.maximum, of_tasks, -np.inf)

    def _by_user(self, along: np.ufunc, of_tasks: Floats, nothing: float) -> Floats:
        found: Floats = along.reduceat(of_tasks, self.first)
        if len(found) == self.users:
            return found
        every = np.full(self.users, nothing)  # somebody has no column
        every[self.owner[self.first]] = found
        return every

    # -- prices --------------------------------------------------------------------------------

    def cost(self, price: Floats, own: Floats) -> Floats:
        """(P + F,) price of a column at prices of shared rows, and of those of one column."""
        found = np.asarray(self.at @ price, dtype=np.float64)
        return found + np.bincount(self.bounded, self.bound * own, self.columns)

    # -- which products of entries there are ----------------------------------------------------

    @cached_property
    def gram(self) -> tuple[Any, Ints, Ints]:
        """A sparse map of theta (P + F,) to the entries of A diag(theta) A', and their rows and
        columns, of the lower triangle, among `common` rows: entries of a column in pairs."""
        if self.grid is not None:
            return self.grid.gram()
        from scipy.sparse import csr_array

        place = np.full(self.count, -1)
        place[self.common] = np.arange(len(self.common))
        on = place[self.row] >= 0
        row, column, value = place[self.row[on]], self.column[on], self.value[on]
        count = len(self.common)
        start = np.searchsorted(column, np.arange(self.columns))
        many = np.bincount(column, minlength=self.columns)
        keys, values, columns = [], [], []
        for i in range(int(many.max(initial=0))):
            has = np.flatnonzero(many > i)
            first = start[has]
            for j in range(i + 1):
                keys.append(row[first + i] * count + row[first + j])
                values.append(value[first + i] * value[first + j])
                columns.append(has)
        if not keys:
            empty = np.zeros(0, dtype=np.int64)
            return csr_array((0, self.columns)), empty, empty
        key, at = _distinct(np.concatenate(keys), count * count)
        entries = np.concatenate(values), (at, np.concatenate(columns))
        products = csr_array(entries, shape=(len(key), self.columns))
        return products, *np.divmod(key, max(count, 1))

    @cached_property
    def _meeting(self) -> tuple[Ints, Ints | None, Ints, bool]:
        """Of entries of tasks: which, and to which pair of user and row they add; the pairs;
        whether users times rows are kept whole."""
        mine = np.flatnonzero(self.column < self.tasks)
        key = self.owner[self.column[mine]] * self.count + self.row[mine]
        every = self.users * self.count
        at: Ints | None
        pairs, at = _distinct(key, every)
        if len(pairs) == len(key):  # each entry has a pair of its own
            pairs, at = key, None
        return mine, at, pairs, every <= DENSE or len(pairs) > THICK * every

    def coupled(self, theta: Floats) -> Any:
        """(N, rows) sums over a user's tasks of theta times the entry; whole, or sparse."""
        if self.grid is not None:
            return self.grid.coupled(theta)
        mine, at, pairs, whole = self._meeting
        value: Floats = self.value[mine] * theta[self.column[mine]]
        if at is not None:
            value = np.bincount(at, value, len(pairs)).astype(np.float64)
        if whole:
            found = np.zeros((self.users, self.count))
            found.reshape(-1)[pairs] = value
            return found
        from scipy.sparse import csr_array

        if at is None:
            from scipy.sparse import coo_array

            place = np.divmod(pairs, self.count)
            return coo_array((value, place), shape=(self.users, self.count)).tocsr()
        user, row = np.divmod(pairs, self.count)
        ends = np.concatenate([[0], np.cumsum(np.bincount(user, minlength=self.users))])
        return csr_array((value, row, ends), shape=(self.users, self.count))


def _distinct(key: Ints, most: int) -> tuple[Ints, Ints]:
    """The keys, below `most`, in order and once each, and where each key is among them."""
    if most > 20 * len(key) + 1_000_000:
        found, at = np.unique(key, return_inverse=True)
        return found, at
    place = np.zeros(most, dtype=np.int64)
    place[key] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[key]
