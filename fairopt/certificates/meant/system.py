"""All rules of an instance as one system in powers of two, and where an answer is in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.asked_users import power
from fairopt.certificates.columns import Listed
from fairopt.certificates.given import flows
from fairopt.formulas.lowered import DOWN_OF_TWO, RULE, Lowered, lower
from fairopt.instance import Bools, Floats, Ints

BAND = 2.0**-89
"""part of an amount that `equal` asks by which the sum may be below it: no sum of numbers of two
floats hits it"""


@dataclass(frozen=True)
class System:
    """Columns of tasks and flows, rows and users, each in a power of two of its own.

    Parameters
    ----------
    low : the lowered system. columns : of it, in these units. rhs (M,). bounds : (2, F) of flows.
    row_unit, share_unit, tasks_unit : (M,), (N,), (N,).
    """

    low: Lowered
    columns: Listed
    rhs: Floats
    bounds: Floats
    row_unit: Floats
    share_unit: Floats
    tasks_unit: Floats

    @classmethod
    def of(cls, alloc: Allocation, share: Floats) -> System:
        """The system of an answer's instance.

        Parameters
        ----------
        share : (N,) about what each holds.
        """
        low = lower(alloc.instance, alloc.score)
        top = np.zeros(len(share))
        np.maximum.at(top, low.owner, low.score)
        share_unit = power(share)
        tasks_unit = power(np.where(top > 0, share / np.where(top > 0, top, 1.0), 1.0))
        row_unit = power(low.unit)
        nobody = np.zeros(len(share), dtype=bool)
        matrix = low.matrix.tocsc()
        columns = Listed.of(matrix, low, tasks_unit, share_unit, nobody, row_unit, low.empty)
        flow = row_unit[matrix.indices[matrix.indptr[low.columns : -1]]]
        bounds = np.array([low.low, low.high]) / flow
        return cls(low, columns, low.rhs / row_unit, bounds, row_unit, share_unit, tasks_unit)

    @cached_property
    def size(self) -> Floats:
        """(M,) the size of each row, 1 of those that allow nothing."""
        return np.asarray(np.where(self.rhs == 0, 1.0, np.abs(self.rhs)))

    @cached_property
    def below(self) -> Bools:
        """(M,) rows that hold from below what another row holds from above: those of `equal`."""
        return np.asarray((self.low.kind == RULE) & (self.low.two == DOWN_OF_TWO))

    def left(self, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(M,) what amounts (2, C) leave of rows, and its error."""
        left, error = self.columns.left(self.rhs, columns, amount)
        return left + np.where(self.below, BAND * self.size, 0.0), error

    @cached_property
    def _gross(self) -> Any:
        """(P + F, M) entries without signs, if own rules count tasks below 0; else None."""
        return np.abs(self.columns.matrix).T.tocsr() if self.low.signed.any() else None

    def gross(self, price: Floats, cost: Floats) -> Floats:
        """(P,) what a task pays and is paid at prices (M,) at which it costs `cost`."""
        if self._gross is None:
            return cost
        found: Floats = (self._gross @ price)[: self.tasks]
        return np.where(self.columns.shut, np.inf, found)

    def gross_of(self, columns: Ints, price: Floats, cost: Floats) -> Floats:
        """The same of some columns, at which a task costs `cost`."""
        if self._gross is None:
            return cost
        return self.gross(price, self.columns.cost(price))[columns]

    @property
    def tasks(self) -> int:
        """P, the columns of tasks."""
        return self.columns.count

    @property
    def some(self) -> Bools:
        """(N,) who may hold anything: of whom rules shut not every column."""
        open_ = self.columns.of_column[~self.columns.shut]
        return np.asarray(np.bincount(open_, minlength=len(self.share_unit)) > 0)

    def held(self, alloc: Allocation) -> tuple[Ints, Floats]:
        """The columns that an answer uses, then all flows; the amount of each."""
        given = np.maximum(alloc.by_way[self.low.way, self.low.server], 0.0)
        given = np.where(self.columns.shut, 0.0, given) / self.tasks_unit[self.low.owner]
        on = np.flatnonzero(given)
        y = flows(self.columns, self.rhs, self.bounds, on, given[on])
        return np.concatenate([on, self.tasks + np.arange(len(y))]), np.concatenate([given[on], y])
