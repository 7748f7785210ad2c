"""The columns of a question, as many as there are pairs, of which few are looked at closely.

`Grid` reads a plain instance as it is, so that it costs no more than the tasks do; `listed` holds
the lowered system of any rules. Both count in the units of a `Question`: tasks and shares of each
user, rows, all powers of two but for shares counted in tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fairopt.certificates import by_entries, digits
from fairopt.certificates.by_entries import ColumnTable, Entries, entries, least, profit
from fairopt.certificates.dense import profits, used
from fairopt.certificates.listed import Listed
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Instance, Ints

USERS = 1 << 13
"""users of whom costs are worked out at once"""
DENSE, PRICED = 3_000, 600
"""entries above which rows are summed up as products of tables; above which tasks are priced all at
once"""
MANY_WORTHS = 20_000
"""columns of which the worth is one number in the room of all"""
FILLED = 12
"""one in so many columns holds something where sums over the whole table take less"""
ONE = np.ones(1)
"""what all columns of a grid without scores are worth"""
ONE.flags.writeable = False


@dataclass(frozen=True)
class Grid:
    """Users times servers, n I + i; no flows.

    Parameters
    ----------
    demand : (N, R) or (N, I, R), in units of each user's tasks. row_unit : (M,).
    score : (N, I) share of a unit of tasks, in units of each user's share; None where it is 1.
    limited : users whose limits are rows, after those of capacity. eligible : None: everywhere.
    """

    shape: tuple[int, int, int]
    demand: Floats
    row_unit: Floats
    score: Floats | None
    eligible: Bools | None
    limited: Ints
    tasks_unit: Floats

    @classmethod
    def of(
        cls,
        inst: Instance,
        score: Floats,
        tasks_unit: Floats,
        share_unit: Floats,
        same: Bools,
        row_unit: Floats,
        limited: Ints,
    ) -> Grid:
        """Columns of a grid, every user on every server, in the units of the proof."""
        demand = inst.demand * (
            tasks_unit[:, None] if inst.demand.ndim == 2 else tasks_unit[:, None, None]
        )
        worth = None
        if not same.all():
            scale = np.where(same, 0.0, tasks_unit / share_unit)
            worth = score * scale[:, None] + same[:, None]
        open_ = None if inst.everywhere else inst.eligible
        return cls(inst.shape, demand, row_unit, worth, open_, limited, tasks_unit)

    @property
    def count(self) -> int:
        """P."""
        return self.shape[0] * self.shape[1]

    def owner(self, columns: Ints) -> Ints:
        """User of each of these columns."""
        found: Ints = columns // self.shape[1]
        return found

    def worth(self, columns: Ints) -> Floats:
        """Share of a task of each of these columns."""
        if self.score is not None:
            return self.score.ravel()[columns]
        many = len(columns) > MANY_WORTHS
        return np.broadcast_to(ONE, columns.shape) if many else np.ones(len(columns))

    def entries(self, columns: Ints) -> Entries:
        """The entries of these columns; see `Entries`."""
        return entries(self, columns)

    def _entries(self, columns: Ints) -> Entries:
        _, servers, resources = self.shape
        n, i = np.divmod(columns, servers)
        need = self.demand[n] if self.demand.ndim == 2 else self.demand[n, i]
        row = i[:, None] * resources + np.arange(resources)
        value = need / self.row_unit[row]
        if value.all():
            found = row.ravel(), np.repeat(np.arange(len(columns)), resources), value.ravel()
        else:
            each, r = np.nonzero(value)
            found = row[each, r], each, value[each, r]
        if not len(self.limited):
            return found
        at = np.full(self.shape[0], -1)
        at[self.limited] = np.arange(len(self.limited))
        own = np.flatnonzero(at[n] >= 0)
        limit = servers * resources + at[n[own]]
        more = limit, own, self.tasks_unit[n[own]] / self.row_unit[limit]
        return tuple(np.concatenate(pair) for pair in zip(found, more, strict=True))  # type: ignore

    @cached_property
    def table(self) -> ColumnTable:
        """All columns at once, for loops over few of them."""
        users, servers, resources = self.shape
        need = self.demand[:, None] if self.demand.ndim == 2 else self.demand
        entry = need / self.row_unit[: servers * resources].reshape(servers, resources)
        start, row, owner = _laid_out(users, servers, resources)
        if len(self.limited):
            own, at = np.zeros((users, servers, 1)), np.zeros((users, servers, 1), np.int64)
            limit = servers * resources + np.arange(len(self.limited))
            takes = self.tasks_unit[self.limited] / self.row_unit[limit]
            own[self.limited, :, 0], at[self.limited, :, 0] = takes[:, None], limit[:, None]
            entry = np.concatenate([entry, own], axis=2)
            row = np.concatenate([row.reshape(users, servers, resources), at], axis=2).ravel()
            start = np.arange(self.count + 1) * (resources + 1)
        worth = np.ones(self.count) if self.score is None else self.score.ravel()
        worth = worth if self.eligible is None else worth * self.eligible.ravel()
        return ColumnTable(start, row, entry.ravel(), owner, worth)

    def left(self, rhs: Floats, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(M,) what amounts (k, C) of these columns leave of rows, and (M,) its error."""
        servers, resources = self.shape[1:]
        dense = len(columns) * resources > DENSE and FILLED * len(columns) > self.count
        if not dense or len(amount) > 2 or self.demand.ndim > 2:
            return by_entries.used(self, columns).left(rhs, amount)
        rows = servers * resources
        high, low, error = (
            part.ravel() / self.row_unit[:rows]
            for part in used(self.demand, servers, columns, amount)
        )
        shared = self.remaining(rhs[:rows], high, low, error)
        if not len(self.limited):
            return shared
        owner, at = self.owner(columns), np.full(self.shape[0], -1)
        at[self.limited] = np.arange(len(self.limited))
        own = np.flatnonzero(at[owner] >= 0)
        k, unit = at[owner[own]], self.tasks_unit[owner[own]]
        own_rows = digits.remainders(rhs[rows:], k, unit / self.row_unit[rows + k], amount[:, own])
        return (np.concatenate([shared[0], own_rows[0]]), np.concatenate([shared[1], own_rows[1]]))

    def remaining(
        self, rhs: Floats, high: Floats, low: Floats, error: Floats
    ) -> tuple[Floats, Floats]:
        """What is left of rows when high + low of them is used, known but for an error; with its
        error."""
        left, wrong = digits.exact_sum(rhs, -high)
        return left + (wrong - low), error + digits.SURE * np.abs(rhs)

    def profit(self, columns: Ints, price: Floats, value: Floats) -> tuple[Floats, Floats]:
        """(K,) what tasks are worth at values (k, N) less their cost at prices (k, M), and its
        error."""
        servers, resources = self.shape[1:]
        if len(columns) * resources <= PRICED or len(price) > 2:
            return profit(self, columns, len(columns), price, value)
        p = price / self.row_unit
        more = None
        if len(self.limited):
            more = np.zeros(value.shape)
            more[:, self.limited] = p[:, servers * resources :] * self.tasks_unit[self.limited]
        each = p[:, : servers * resources].reshape(2, servers, resources)
        return profits(self.demand, each, self.worth(columns), value, more, columns)

    def open(self, columns: Ints) -> Bools:
        """Which of these columns may hold tasks."""
        every = np.ones(len(columns), dtype=bool)
        return every if self.eligible is None else np.asarray(self.eligible.ravel()[columns])

    def of_users(self, users: Bools, rows: Bools, flows: Ints) -> tuple[Ints, Grid, Ints]:
        """The columns of some users, as the whole counts them and of their own, and all rows (of
        the whole) on the servers where they may be; `rows` (M,) are those that they share."""
        n = np.flatnonzero(users)
        open_ = None if self.eligible is None else self.eligible[n]
        i = np.arange(self.shape[1]) if open_ is None else np.flatnonzero(open_.any(axis=0))
        resources, both = self.shape[2], np.ix_(n, i)
        own = np.flatnonzero(users[self.limited])
        at = (i[:, None] * resources + np.arange(resources)).ravel()
        at = np.concatenate([at, self.shape[1] * resources + own])
        found = Grid(
            (len(n), len(i), resources),
            self.demand[n] if self.demand.ndim == 2 else self.demand[both],
            self.row_unit[at],
            None if self.score is None else self.score[both],
            None if open_ is None else open_[:, i],
            np.searchsorted(n, self.limited[own]),
            self.tasks_unit[n],
        )
        return (n[:, None] * self.shape[1] + i).ravel(), found, at

    def of_slice(self, users: slice) -> Grid:
        """The columns of users who stand together, views of these; no limits."""
        open_ = None if self.eligible is None else self.eligible[users]
        score = None if self.score is None else self.score[users]
        demand, unit = self.demand[users], self.tasks_unit[users]
        shape = (len(unit), *self.shape[1:])
        return Grid(shape, demand, self.row_unit, score, open_, self.limited[:0], unit)

    def cost(self, price: Floats) -> Floats:
        """(P,) price of a task of each column, for prices (M,); inf where not eligible."""
        found = np.empty(self.shape[:2])
        for some, table in self._tables(price):
            found[some] = table
        return found.ravel()

    def _tables(self, price: Floats) -> Iterator[tuple[slice, Floats]]:
        """Users, and what a task of theirs costs on each server, in pieces that stay in the
        cache."""
        users, servers, resources = self.shape
        p = price / self.row_unit
        each = p[: servers * resources].reshape(servers, resources)
        own = np.zeros(users if len(self.limited) else 0)
        if len(own):
            own[self.limited] = p[servers * resources :] * self.tasks_unit[self.limited]
        for start in range(0, max(users, 1), USERS):
            some = slice(start, min(start + USERS, users))
            if self.demand.ndim == 2:
                found = self.demand[some] @ each.T
            else:
                found = np.einsum("nir,ir->ni", self.demand[some], each)
            if len(own):
                found += own[some, None]
            if self.eligible is not None:
                np.copyto(found, np.inf, where=~self.eligible[some])
            yield some, found

    def within(self, price: Floats, value: Floats) -> Ints:
        """The columns whose task costs, at prices (M,), at most what it is worth at a value (N,) of
        a share."""
        servers, found = self.shape[1], []
        for some, table in self._tables(price):
            most = value[some, None]
            most = most if self.score is None else most * self.score[some]
            found.append(np.flatnonzero(table <= most) + some.start * servers)
        return np.concatenate(found)

    def least(self, price: Floats) -> Floats:
        """(N,) the least that a unit of share costs at prices (M,)."""
        return least(self, price)

    def _least(self, price: Floats) -> Floats:
        return np.concatenate([self._cheapest(table, some) for some, table in self._tables(price)])

    def cheapest(self, cost: Floats) -> Floats:
        """(N,) the least that a unit of share costs."""
        return self._cheapest(cost.reshape(self.shape[:2]), slice(None))

    def _cheapest(self, table: Floats, users: slice) -> Floats:
        if self.score is None:
            return rows.least(table)
        score, dear = self.score[users], np.full(table.shape, np.inf)
        return rows.least(np.divide(table, score, out=dear, where=score > 0))


@lru_cache(32)
def _laid_out(users: int, servers: int, resources: int) -> tuple[Ints, Ints, Ints]:
    """Of a grid's columns: where the entries of each begin, the row of each entry, and users."""
    row = np.tile(np.arange(servers * resources), users)
    return np.arange(users * servers + 1) * resources, row, np.repeat(np.arange(users), servers)


Columns = Grid | Listed

__all__ = ["Columns", "Entries", "Grid", "Listed"]
