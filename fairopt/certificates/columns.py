"""The columns of a question, as many as there are pairs, of which few are looked at closely.

`Grid` reads a plain instance as it is, so that it costs no more than the tasks do; `Listed` holds
the lowered system of any rules. Both count in the units of a `Question`: tasks and shares of each
user, rows, all powers of two but for shares counted in tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.dense import profits, used
from fairopt.certificates.kept import Entries, entries, least
from fairopt.formulas import rows
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Instance, Ints

DENSE = 20_000
"""entries from which tables are summed up in pieces"""
FILLED = 12
"""one in so many columns holds something where sums over the whole table take less"""


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
        return np.ones(len(columns)) if self.score is None else self.score.ravel()[columns]

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

    def left(self, rhs: Floats, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(M,) what amounts (k, C) of these columns leave of rows, and (M,) its error."""
        servers, resources = self.shape[1:]
        dense = len(columns) * resources > DENSE and FILLED * len(columns) > self.count
        if not dense or len(amount) > 2 or self.demand.ndim > 2:
            row, each, entry = self.entries(columns)
            return digits.remainders(rhs, row, entry, amount[:, each])
        rows = servers * resources
        high, low, error = (
            part.ravel() / self.row_unit[:rows]
            for part in used(self.demand, servers, columns, amount)
        )
        left, wrong = digits.exact_sum(rhs[:rows], -high)
        shared = left + (wrong - low), error + digits.SURE * np.abs(rhs[:rows])
        if not len(self.limited):
            return shared
        owner, at = self.owner(columns), np.full(self.shape[0], -1)
        at[self.limited] = np.arange(len(self.limited))
        own = np.flatnonzero(at[owner] >= 0)
        k, unit = at[owner[own]], self.tasks_unit[owner[own]]
        own_rows = digits.remainders(rhs[rows:], k, unit / self.row_unit[rows + k], amount[:, own])
        return (np.concatenate([shared[0], own_rows[0]]), np.concatenate([shared[1], own_rows[1]]))

    def profit(self, columns: Ints, price: Floats, value: Floats) -> tuple[Floats, Floats]:
        """(K,) what tasks are worth at values (k, N) less their cost at prices (k, M), and its
        error."""
        servers, resources = self.shape[1:]
        if len(columns) * resources <= DENSE or len(price) > 2:
            return _profit(self, columns, len(columns), price, value)
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

    def cost(self, price: Floats) -> Floats:
        """(P,) price of a task of each column, for prices (M,); inf where not eligible."""
        users, servers, resources = self.shape
        p = price / self.row_unit
        each = p[: servers * resources].reshape(servers, resources)
        if self.demand.ndim == 2:
            found = self.demand @ each.T
        else:
            found = np.einsum("nir,ir->ni", self.demand, each)
        if len(self.limited):
            own = p[servers * resources :] * self.tasks_unit[self.limited]
            found[self.limited] += own[:, None]
        if self.eligible is not None:
            np.copyto(found, np.inf, where=~self.eligible)
        return np.asarray(found.ravel())

    def below(self, cost: Floats, value: Floats) -> Ints:
        """The columns whose task costs at most what it is worth at a value (N,) of a share."""
        users, servers, _ = self.shape
        table = cost.reshape(users, servers)
        if self.score is None:
            return np.flatnonzero(table <= value[:, None])
        return np.flatnonzero(table <= value[:, None] * self.score)

    def least(self, price: Floats) -> Floats:
        """(N,) the least that a unit of share costs at prices (M,)."""
        return least(self, price)

    def cheapest(self, cost: Floats) -> Floats:
        """(N,) the least that a unit of share costs."""
        users, servers, _ = self.shape
        table = cost.reshape(users, servers)
        if self.score is None:
            return rows.least(table)
        dear = np.full(table.shape, np.inf)
        return rows.least(np.divide(table, self.score, out=dear, where=self.score > 0))


@dataclass(frozen=True)
class Listed:
    """The eligible columns of the lowered system `low`, then its flows.

    Parameters
    ----------
    matrix : (M, P + F), by columns. of_column, score : (P,) user and share of a task.
    same : (N,) whose limit is no row. shut : (P,) columns that hold nothing, as a rule says.
    """

    low: Lowered
    matrix: Any
    of_column: Ints
    score: Floats
    same: Bools
    shut: Bools

    @classmethod
    def of(
        cls,
        matrix: Any,
        low: Lowered,
        tasks_unit: Floats,
        share_unit: Floats,
        same: Bools,
        row_unit: Floats,
        shut: Bools,
    ) -> Listed:
        """Columns as rows list them, and what a unit of each is worth in the units of the proof."""
        matrix = matrix.copy()
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        first = matrix.indices[matrix.indptr[low.columns : -1]]
        unit = np.concatenate([tasks_unit[low.owner], row_unit[first]])
        matrix.data = matrix.data * unit[column] / row_unit[matrix.indices]
        scale = tasks_unit / share_unit
        score = np.where(same[low.owner], 1.0, low.score * scale[low.owner])
        return cls(low, matrix, low.owner, score, same, shut)

    @property
    def count(self) -> int:
        """P."""
        return len(self.of_column)

    @cached_property
    def _turned(self) -> Any:
        """(P + F, M) the matrix, transposed; of few entries with those that are 0."""
        rows, columns = self.matrix.shape
        return self.matrix.T if rows * columns > DENSE else self.matrix.toarray().T.copy()

    def owner(self, columns: Ints) -> Ints:
        """User of each of these columns."""
        found: Ints = self.of_column[columns]
        return found

    def worth(self, columns: Ints) -> Floats:
        """Share of a task of each of these columns."""
        found: Floats = self.score[columns]
        return found

    def entries(self, columns: Ints) -> Entries:
        """The entries of these columns, tasks or flows; see `Entries`."""
        return entries(self, columns)

    def _entries(self, columns: Ints) -> Entries:
        start, end = self.matrix.indptr[columns], self.matrix.indptr[columns + 1]
        size = end - start
        each = np.repeat(np.arange(len(columns)), size)
        at = np.arange(size.sum()) + np.repeat(start - np.cumsum(size) + size, size)
        return self.matrix.indices[at].astype(np.int64), each, self.matrix.data[at]

    def left(self, rhs: Floats, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(M,) what amounts (k, C) of these columns, tasks or flows, leave of rows; its error."""
        row, each, entry = self.entries(columns)
        return digits.remainders(rhs, row, entry, amount[:, each])

    def profit(self, columns: Ints, price: Floats, value: Floats) -> tuple[Floats, Floats]:
        """(K,) what tasks are worth at values (k, N) less their cost at prices (k, M), of flows
        what they cost less, and its error; columns in order."""
        return _profit(self, columns, int(np.searchsorted(columns, self.count)), price, value)

    def open(self, columns: Ints) -> Bools:
        """Which of these columns may hold tasks."""
        return np.asarray(~self.shut[columns])

    def of_users(self, users: Bools, rows: Bools, flows: Ints) -> tuple[Ints, Listed, Ints]:
        """The columns of some users, as the whole counts them and of their own, and their rows."""
        tasks, at = np.flatnonzero(users[self.of_column]), np.flatnonzero(rows)
        matrix = self.matrix[:, np.concatenate([tasks, self.count + flows])].tocsr()[at].tocsc()
        owner = (np.cumsum(users) - 1)[self.of_column[tasks]]
        found = Listed(
            self.low, matrix, owner, self.score[tasks], self.same[users], self.shut[tasks]
        )
        return tasks, found, at

    def cost(self, price: Floats) -> Floats:
        """(P,) price of a task of each column, for prices (M,); inf where it may hold none."""
        found: Floats = (self._turned @ price)[: self.count]
        return np.where(self.shut, np.inf, found) if self.shut.any() else found

    def below(self, cost: Floats, value: Floats) -> Ints:
        """The columns whose task costs at most what it is worth at a value (N,) of a share."""
        return np.flatnonzero(cost <= value[self.of_column] * self.score)

    def least(self, price: Floats) -> Floats:
        """(N,) the least that a unit of share costs at prices (M,)."""
        return least(self, price)

    def cheapest(self, cost: Floats) -> Floats:
        """(N,) the least that a unit of share costs."""
        found = np.full(len(self.same), np.inf)
        np.minimum.at(found, self.of_column, cost / self.score)
        return found


def _profit(
    columns: Grid | Listed, near: Ints, tasks: int, price: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """`profit`, entry by entry; the first `tasks` are tasks."""
    row, each, entry = columns.entries(near)
    minus = -value[:, columns.owner(near[:tasks])]
    return digits.remainders(
        np.zeros(len(near)),
        np.concatenate([each, np.arange(tasks)]),
        np.concatenate([entry, columns.worth(near[:tasks])]),
        np.concatenate([price[:, row], minus], axis=1),
    )


Columns = Grid | Listed

__all__ = ["Columns", "Entries", "Grid", "Listed"]
