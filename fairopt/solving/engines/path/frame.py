"""What stays the same along a path: rows, columns and limits in their units, and which meet.

Columns are z >= 0, tasks first, then flows counted from one of their bounds; a task is one unit of
its user's share. Rows are of three kinds, by what they hold: `shared` ones; those that bound one
column `alone`; and limits, one of each limited user, `limit` per unit of its tasks.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fairopt.formulas.lowered import LIMIT, Lowered
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.path import own
from fairopt.solving.engines.path.blocks import fits
from fairopt.solving.engines.path.scaled import standard

SMALL = 50_000
"""numbers of a matrix up to which it is kept whole"""
DENSE, THICK = 4_000_000, 0.05
"""numbers up to which users times rows are kept whole, and the part that is not 0 from which"""


class Frame:
    """The question in units in which everything is about 1.

    Parameters
    ----------
    unit : (N,) a share of about the size expected of each user. together : whether all rows are
        taken as shared ones.
    """

    def __init__(self, low: Lowered, unit: Floats, together: bool = False) -> None:
        form = standard(low, unit)
        self.size, self.owner = form.size, form.owner
        self.tasks, self.users = len(form.owner), len(unit)
        whole = form.matrix
        self.rows, self.columns = whole.shape
        limits = np.zeros(self.rows, dtype=bool)
        limits[: form.rows] = (low.kind == LIMIT) & (not together)
        one = (np.diff(whole.indptr) == 1) & ~limits & (not together)
        self.shared = np.flatnonzero(~limits & ~one)
        self.alone, self.of_limits = np.flatnonzero(one), np.flatnonzero(limits)
        self.bounded = whole.indices[whole.indptr[self.alone]].astype(np.int64)
        self.bound = whole.data[whole.indptr[self.alone]]
        self.rhs_shared, self.rhs_alone = form.rhs[self.shared], form.rhs[self.alone]
        self._limits(whole, form.rhs)
        a = whole[self.shared].tocsc()
        a.sort_indices()
        self.value, self.row = a.data, a.indices.astype(np.int64)
        self.column = np.repeat(np.arange(self.columns), np.diff(a.indptr))
        self.count = len(self.shared)
        small = self.count * self.columns <= SMALL
        self.a: Any = a.toarray() if small else a.tocsr()
        self.at: Any = self.a.T if small else self.a.T.tocsr()
        signed = bool((self.value < 0).any())
        self.size_of: Any = abs(self.a) if signed else self.a
        self.is_task = np.arange(self.columns) < self.tasks
        self.in_blocks = fits(self.users * (1 + self.mixed), self.a)
        self.own: tuple[own.User, ...] = ()
        self.common = np.arange(self.count)
        if not small and not self.in_blocks:
            self._apart()

    def _apart(self) -> None:
        """The rows of users alone, where these are most of them."""
        user = np.full(self.columns, -1)
        user[: self.tasks] = self.owner
        lone = own.alone(self.row, user[self.column], self.count)
        if own.fits(lone):
            self.own = own.users_of(self.a, self.owner, lone)
            self.common = np.flatnonzero(lone < 0)

    def _limits(self, whole: Any, rhs: Floats) -> None:
        """`limit` (P + F,) of each column, 0 where none; of users the largest and the smallest."""
        part = whole[self.of_limits].tocoo()
        self.limit = np.zeros(self.columns)
        self.limit[part.col] = part.data / rhs[self.of_limits[part.row]]
        self.limited = np.zeros(self.users, dtype=bool)
        self.row_of_limit = np.full(self.users, -1)
        mine = self.owner[part.col]
        self.limited[mine] = True
        self.row_of_limit[mine] = self.of_limits[part.row]
        self.rhs_limit = np.ones(self.users)
        self.rhs_limit[mine] = rhs[self.of_limits[part.row]]
        self.most_limit = self.largest(self.limit[: self.tasks], 0.0)
        self.least_limit = self.smallest(self.limit[: self.tasks])
        uneven = self.most_limit > self.least_limit * (1 + 1e-12)
        self.mixed = bool((uneven & self.limited).any())

    # -- users and their columns -------------------------------------------------------------

    def of(self, z: Floats) -> Floats:
        """(N,) sums over a user's tasks."""
        return np.asarray(np.bincount(self.owner, z[: self.tasks], self.users), np.float64)

    def to(self, of_users: Floats) -> Floats:
        """(P + F,) of a user to its columns; 0 of flows."""
        found = np.zeros(self.columns)
        found[: self.tasks] = of_users[self.owner]
        return found

    def smallest(self, of_tasks: Floats) -> Floats:
        """(N,) the least of a user's tasks."""
        found = np.full(self.users, np.inf)
        np.minimum.at(found, self.owner, of_tasks)
        return found

    def largest(self, of_tasks: Floats, start: float) -> Floats:
        """(N,) the most of a user's tasks, at least `start`."""
        found = np.full(self.users, start)
        np.maximum.at(found, self.owner, of_tasks)
        return found

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
        key, at = np.unique(np.concatenate(keys), return_inverse=True)
        entries = np.concatenate(values), (at, np.concatenate(columns))
        products = csr_array(entries, shape=(len(key), self.columns))
        return products, *np.divmod(key, max(count, 1))

    @cached_property
    def _meeting(self) -> tuple[Ints, Ints, Ints, bool]:
        """Of entries of tasks: which, and to which pair of user and row they add; the pairs;
        whether users times rows are kept whole."""
        mine = np.flatnonzero(self.column < self.tasks)
        key = self.owner[self.column[mine]] * self.count + self.row[mine]
        pairs, at = np.unique(key, return_inverse=True)
        every = self.users * self.count
        return mine, at, pairs, every <= DENSE or len(pairs) > THICK * every

    def coupled(self, theta: Floats) -> Any:
        """(N, rows) sums over a user's tasks of theta times the entry; whole, or sparse."""
        mine, at, pairs, whole = self._meeting
        value = np.bincount(at, self.value[mine] * theta[self.column[mine]], len(pairs))
        if whole:
            found = np.zeros((self.users, self.count))
            found.reshape(-1)[pairs] = value
            return found
        from scipy.sparse import csr_array

        user, row = np.divmod(pairs, self.count)
        ends = np.concatenate([[0], np.cumsum(np.bincount(user, minlength=self.users))])
        return csr_array((value, row, ends), shape=(self.users, self.count))
