"""Arrays of an instance for the trade-off's methods, independent of the penalties' weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance, Ints, remembered
from fairopt.solving.engines.penalties.centring import Centring
from fairopt.solving.engines.penalties.whole import MOST_UNKNOWNS, Positions, unknowns

DENSE = 300_000
"""entries up to which a table is kept with those that are 0"""


class Ground:
    """Arrays over shares that follow from instance, scores and weights, in natural units.

    A share is what a user holds on a server; where all users of a server are to hold the same
    (15), one share stands for them all. `pair` (pairs,) is the share of each eligible pair.

    u (pairs,) dominant share of a task; use (P, rows) parts of the resources and limits that are
    used at all, per unit of share; levels (P, N) F in it; a0 (P,) shares to begin with, `size` the
    (geometric) mean level there; weight (N,) with sum 1; on (P, N) whose shares they are.
    """

    def __init__(self, instance: Instance, score: Floats, weight: Floats, together: bool) -> None:
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pairs = np.arange(len(n))
        self.asked = (score, weight, together)
        self.shape = servers, resources, users
        self.u = score[n, i]
        # each share has an entry for each resource that it needs, and for a limit
        pool = np.where(instance.pool > 0, instance.pool, np.inf)
        part = instance.pair_demand / pool[i] / self.u[:, None]
        of, r = np.nonzero(part)
        self.rows, column = np.unique(i[of] * resources + r, return_inverse=True)
        self.limited = np.flatnonzero(np.isfinite(instance.limit))
        place = np.full(users, -1)
        place[self.limited] = len(self.rows) + np.arange(len(self.limited))
        held = np.flatnonzero(place[n] >= 0)
        size = len(n), len(self.rows) + len(self.limited)
        use = np.concatenate([part[of, r], 1.0 / (self.u[held] * instance.limit[n[held]])])
        column = np.concatenate([column, place[n[held]]])
        self.use = self._table(use, np.concatenate([of, held]), column, size)
        self.levels = self._table(1.0 / weight[n], pairs, n, (len(n), users))
        self.machines = instance.count[i] * np.bincount(i)[i]
        self.a0 = self._begin(instance, i)
        self.pair, self.alone = pairs, None if together else n
        if together:
            i, first, self.pair = np.unique(i, return_index=True, return_inverse=True)
            self._together(first)
        used, own = np.unique(i, return_inverse=True)
        each = np.arange(len(own))
        group = self._table(np.ones(len(own)), each, own, (len(own), len(used)))
        self.across, self.within = Centring(np.ones((users, 1))), Centring(group)
        self.on = self.levels > 0  # a row of users for each share
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.log_weight = np.log(self.weight)
        self.size = float(np.exp(np.log(self.a0 @ self.levels).mean()))
        self.of_user = self.levels / self.size
        some = self.use > 0
        self.even = some / np.asarray(some.sum(axis=1)).reshape(-1, 1)
        self.small = unknowns(len(self.a0), self.use.shape[1], users) <= MOST_UNKNOWNS
        self._frames: dict[tuple[bool, bool], Positions] = {}

    @classmethod
    def of(
        cls, instance: Instance, score: Floats, weight: Floats, together: bool = False
    ) -> Ground:
        """The arrays of an instance; kept for a small one, which a sweep solves very often."""
        if instance.demand.size + instance.placement.size > 2 * MOST_UNKNOWNS:
            return cls(instance, score, weight, together)
        asked = score, weight, together
        kept: Ground = remembered(instance, "_trade_off_ground", lambda: cls(instance, *asked))
        same = all(a is b for a, b in zip(kept.asked, asked, strict=True))
        return kept if same else cls(instance, *asked)

    @staticmethod
    def _table(value: Floats, row: Ints, column: Ints, shape: tuple[int, int]) -> Any:
        """Entries as a table; of many, those that are 0 are not kept."""
        from scipy.sparse import csr_array

        if shape[0] * shape[1] > DENSE:
            return csr_array((value, (row, column)), shape=shape)
        found = np.zeros(shape)
        found[row, column] = value
        return found

    def _together(self, first: Any) -> None:
        """One share a server; `first` is a pair of each."""
        every = np.arange(len(self.pair))
        sums = self._table(np.ones(len(every)), self.pair, every, (len(first), len(every)))
        least = np.full(len(first), np.inf)
        np.minimum.at(least, self.pair, self.a0)
        self.use, self.levels, self.a0 = (
            *map(full, (sums @ self.use, sums @ self.levels)),
            least,
        )
        self.machines = self.machines[first]

    def least(self, x: Floats) -> Floats:
        """(P,) least of x (N,) over the users of each share."""
        if self.alone is not None:
            return np.asarray(x[self.alone])
        found: Floats = np.where(self.on, x, np.inf).min(axis=1)
        return found

    def frame(self, of_user: Floats, across: Centring, within: Centring) -> Positions:
        """The linear conditions without the forces; kept for levels in units of `size`."""
        key = across.none, within.none
        if of_user is not self.of_user:
            return Positions(of_user, self.use, across, within)
        if key not in self._frames:
            self._frames[key] = Positions(of_user, self.use, across, within)
        return self._frames[key]

    def _begin(self, instance: Instance, i: Any) -> Floats:
        """Equal shares on each server with every row at most half full, then cut to the limits."""
        servers = len(instance.servers)
        a = np.asarray(instance.count / np.bincount(i, minlength=servers), dtype=np.float64)[i]
        capacity = self.use[:, : len(self.rows)]
        # the fullest row of each server, also for users that do not demand it
        fullest = np.zeros(servers)
        np.maximum.at(fullest, self.rows // instance.shape[2], a @ capacity)
        a = a * 0.5 / fullest[i]
        if len(self.limited):
            limits = self.use[:, len(self.rows) :]
            a = a * np.minimum(1.0, 0.5 / ((limits > 0) @ (a @ limits)))
        return np.asarray(a, dtype=np.float64)


def full(table: Any) -> Floats:
    """A table with the entries that are 0."""
    found: Floats = table.toarray() if hasattr(table, "toarray") else table
    return found
