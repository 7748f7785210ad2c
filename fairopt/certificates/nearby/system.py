"""All rules of an instance as one system in powers of two, and where an answer is in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import digits
from fairopt.certificates.asking import power
from fairopt.certificates.columns import Listed
from fairopt.certificates.given import flows
from fairopt.formulas.lowered import Lowered, lower
from fairopt.instance import Bools, Floats, Ints


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
        bounds = np.array([low.low, low.high]).reshape(2, -1) / flow
        return cls(low, columns, low.rhs / row_unit, bounds, row_unit, share_unit, tasks_unit)

    @property
    def tasks(self) -> int:
        """P, the columns of tasks."""
        return self.columns.count

    @property
    def some(self) -> Bools:
        """(N,) who may hold anything: of whom rules shut not every column."""
        open_ = self.columns.of_column[~self.columns.shut]
        return np.asarray(np.bincount(open_, minlength=len(self.share_unit)) > 0)

    def owner(self, columns: Ints) -> Ints:
        """(C,) the user of each column, -1 of flows."""
        task = columns < self.tasks
        found = np.full(len(columns), -1)
        found[task] = self.columns.owner(columns[task])
        return found

    def held(self, alloc: Allocation) -> tuple[Ints, Floats]:
        """The columns that an answer uses, then all flows; the amount of each."""
        given = np.maximum(alloc.by_way[self.low.way, self.low.server], 0.0)
        given = np.where(self.columns.shut, 0.0, given) / self.tasks_unit[self.low.owner]
        on = np.flatnonzero(given)
        y = flows(self.columns, self.rhs, self.bounds, on, given[on])
        return np.concatenate([on, self.tasks + np.arange(len(y))]), np.concatenate([given[on], y])

    def shares(self, target: Floats, columns: Ints, amount: Floats) -> tuple[Floats, Floats]:
        """(N,) target (2, N) less the share that amounts (2, C) make, and its error."""
        task = np.flatnonzero(columns < self.tasks)
        at = columns[task]
        left, error = digits.remainders(
            target[0], self.columns.owner(at), self.columns.worth(at), amount[:, task]
        )
        return left + target[1], error
