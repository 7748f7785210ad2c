"""The optimality conditions of alpha-fairness over all rules: unknowns, errors, products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.quotas.blocks import fits
from fairopt.solving.engines.quotas.scaled import Standard


@dataclass
class State:
    """All unknowns; names as in `interior`. z, dear (P+F,); slack, price (M,); share, value (N,):
    s - b and m; above, nu (N,): s - sigma and the floor's price (only where `floored`)."""

    z: Floats
    dear: Floats
    slack: Floats
    price: Floats
    share: Floats
    value: Floats
    above: Floats
    nu: Floats


def _alone(a: Any, form: Standard) -> tuple[Ints, Ints, Floats]:
    """Rows that bound one column of tasks alone, that column, and its entry: most limits on a
    server. They are taken into the column, so that they cost the system nothing."""
    one = np.flatnonzero(np.diff(a.indptr) == 1)
    column, entry = a.indices[a.indptr[one]].astype(np.int64), a.data[a.indptr[one]]
    keep = (column < len(form.owner)) & (entry > 0) & (form.rhs[one] > 0)
    return one[keep], column[keep], entry[keep]


class Problem:
    """Names as in `interior`; active (N,): who counts in the objective.

    alone, of_alone, entry: rows of one column, that column, its entry. shared: the other rows, b
    their matrix.
    """

    def __init__(
        self, form: Standard, log_w: Floats, alpha: float, floor: Floats, added: bool, active: Bools
    ) -> None:
        from scipy.sparse import csr_array

        self.form, self.log_w, self.alpha = form, log_w, alpha
        self.a = form.matrix
        self.at = self.a.T.tocsr()
        self.alone, self.of_alone, self.entry = _alone(self.a, form)
        self.shared = np.setdiff1d(np.arange(self.a.shape[0]), self.alone)
        self.b = self.a[self.shared]
        self.bt = self.b.T.tocsr()
        self.in_blocks = fits(len(log_w), self.b) and self.a.shape[1] == len(form.owner)
        self.users, self.count = len(log_w), len(form.owner)
        self.owner = form.owner
        self.active = active
        self.base = np.where(active & added, floor, 0.0)
        self.floored: Bools = (floor > 0) & ~(active & added)
        self.floor = floor
        self.choose(np.zeros(self.count))
        # (P + F, N): whose share a column counts for; nobody's for flows
        entries = (np.ones(self.count), (np.arange(self.count), self.owner))
        self.of = csr_array(entries, shape=(self.a.shape[1], self.users))

    def values(self, share: Floats) -> Floats:
        """(N,) marginal values W s^-alpha; 0 of those that do not count."""
        log_s = np.log(np.where(self.active, share, 1.0))
        return np.where(self.active, np.exp(self.log_w - self.alpha * log_s), 0.0)

    def largest(self, of: Floats) -> Ints:
        """(N,) the column of each user with the largest entry."""
        order = np.lexsort((of[: self.count], self.owner))
        last = np.append(np.diff(self.owner[order]) > 0, True)
        return np.asarray(order[last])

    def choose(self, of: Floats) -> None:
        """Take as main columns those with the largest entries."""
        self.main = self.largest(of)
        self.is_main = np.zeros(self.count, bool)
        self.is_main[self.main] = True

    def beside(self) -> Any:
        """Sparse (M, P + F): each column less its user's main one; flows as they are."""
        from scipy.sparse import csr_array

        other = np.flatnonzero(~self.is_main)
        entries = (np.ones(len(other)), (self.main[self.owner[other]], other))
        size = self.a.shape[1]
        return self.b - self.b @ csr_array(entries, shape=(size, size))

    def money(self, s: State) -> tuple[Floats, Floats, Floats]:
        """What products are measured in: of columns, of rows, of floors."""
        own = s.value * (s.share + self.base) + s.nu * s.above
        total = float(own[self.active].sum())
        own = np.where(self.active, own, total / self.users)
        of_columns = np.full(len(s.z), total / max(len(s.z), 1))
        per = np.bincount(self.owner, minlength=self.users)
        mine = (own / per)[self.owner]
        of_columns[: self.count] = np.where(mine > 0, mine, of_columns[: self.count])
        return of_columns, np.full(len(s.slack), total / len(s.slack)), own

    def residuals(self, s: State) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Errors of rows, of shares, of columns' prices, of marginal values (log), of floors."""
        held = self.of.T @ s.z
        rows = self.a @ s.z + s.slack - self.form.rhs
        shares = held - s.share - self.base
        columns = self.at @ s.price - self.of @ (s.value + s.nu) - s.dear
        there = self.active
        log_s, log_m = (np.log(np.where(there, part, 1.0)) for part in (s.share, s.value))
        values = np.where(there, self.log_w - self.alpha * log_s - log_m, 0.0)
        floors = np.where(self.floored, s.share + self.base - s.above - self.floor, 0.0)
        return rows, shares, columns, values, floors
