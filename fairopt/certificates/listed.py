"""The columns of a question with any rules, as their rows list them; see `columns`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.certificates import by_entries
from fairopt.certificates.by_entries import ColumnTable, Entries, entries, least, profit
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Ints

FEW_PRICED = 20
"""rows have a price if they are this part of all, or less, and costs are added up row by row"""
DENSE = 20_000
"""entries of a matrix up to which it is kept with those that are 0"""


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

    @cached_property
    def table(self) -> ColumnTable:
        """All columns at once, for loops over few of them."""
        start, row = (each.astype(np.int64) for each in (self.matrix.indptr, self.matrix.indices))
        worth = np.where(self.shut, 0.0, self.score)
        return ColumnTable(start, row, self.matrix.data, self.of_column, worth)

    def left(self, rhs: Floats, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(M,) what amounts (k, C) of these columns, tasks or flows, leave of rows; its error."""
        return by_entries.used(self, columns).left(rhs, amount)

    def profit(self, columns: Ints, price: Floats, value: Floats) -> tuple[Floats, Floats]:
        """(K,) what tasks are worth at values (k, N) less their cost at prices (k, M), of flows
        what they cost less, and its error; columns in order."""
        return profit(self, columns, int(np.searchsorted(columns, self.count)), price, value)

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

    @cached_property
    def by_row(self) -> Any:
        """(M, P + F) the matrix, by rows."""
        return self.matrix.tocsr()

    def cost(self, price: Floats) -> Floats:
        """(P,) price of a task of each column, for prices (M,); inf where it may hold none."""
        found: Floats = (self._turned @ price)[: self.count]
        return np.where(self.shut, np.inf, found) if self.shut.any() else found

    def dear(self, price: Floats) -> tuple[Ints, Floats]:
        """The columns of tasks that cost something, and what; those of the last prices are kept."""
        known: dict[bytes, tuple[Ints, Floats]] = self.__dict__.setdefault("_dear_at", {})
        key = price.tobytes()
        if key not in known:
            known.clear()
            known[key] = self._dear(price)
        return known[key]

    def _dear(self, price: Floats) -> tuple[Ints, Floats]:
        on = np.flatnonzero(price)
        if self.shut.any() or len(on) * FEW_PRICED > len(price):
            cost = self.cost(price)
            at = np.flatnonzero(cost)
            return at, cost[at]
        # of few rows, columns are read row by row
        entry, size = self._of_rows(on)
        paid = self.by_row.data[entry] * np.repeat(price[on], size)
        touched = self.by_row.indices[entry].astype(np.int64)
        at, each = np.unique(touched, return_inverse=True)
        cost = np.bincount(each, paid, len(at)).astype(np.float64)
        some = (at < self.count) & (cost != 0)
        return at[some], cost[some]

    def _of_rows(self, rows: Ints) -> tuple[Ints, list[int]]:
        """Where the entries of these rows are in `by_row`, and how many each has."""
        start = self.by_row.indptr
        own = [np.arange(start[row], start[row + 1]) for row in rows.tolist()]
        return np.concatenate([rows[:0], *own]), [len(part) for part in own]

    def touching(self, rows: Ints) -> Ints:
        """The columns of these rows, one after another."""
        found: Ints = self.by_row.indices[self._of_rows(rows)[0]].astype(np.int64)
        return found

    @cached_property
    def many(self) -> Ints:
        """(N,) columns of each user."""
        return np.bincount(self.of_column, minlength=len(self.same))

    def within(self, price: Floats, value: Floats) -> Ints:
        """The columns whose task costs, at prices (M,), at most what it is worth at a value (N,) of
        a share."""
        return self.below(self.cost(price), value)

    def below(self, cost: Floats, value: Floats) -> Ints:
        """The columns whose task costs at most what it is worth at a value (N,) of a share."""
        return np.flatnonzero(cost <= value[self.of_column] * self.score)

    def least(self, price: Floats) -> Floats:
        """(N,) the least that a unit of share costs at prices (M,)."""
        return least(self, price)

    def _least(self, price: Floats) -> Floats:
        return self.cheapest(self.cost(price))

    def cheapest(self, cost: Floats) -> Floats:
        """(N,) the least that a unit of share costs."""
        found = np.full(len(self.same), np.inf)
        np.minimum.at(found, self.of_column, cost / self.score)
        return found


__all__ = ["Listed"]
