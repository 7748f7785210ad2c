"""What the method for the trade-off knows of an instance before it is told the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance, remembered
from fairopt.solving.engines.penalties.centring import Centring
from fairopt.solving.engines.penalties.whole import MOST, Frame, unknowns


class Ground:
    """Arrays over eligible pairs that follow from instance and scores alone, in natural units.

    u (P,) dominant share of a task; use (P, rows) parts of the resources and limits that are used
    at all, per unit of share; levels (P, N) F in it; a0 (P,) shares to begin with, `size` the
    (geometric) mean level there; weight (N,) with sum 1.
    """

    def __init__(self, instance: Instance, score: Floats, weight: Floats) -> None:
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pairs = np.arange(len(n))
        self.asked, self.n = (score, weight), n
        self.shape = servers, resources, users
        self.u = score[n, i]
        pool = np.where(instance.pool > 0, instance.pool, np.inf)
        use = np.zeros((len(n), servers, resources))
        use[pairs, i] = instance.pair_demand / pool[i] / self.u[:, None]
        columns = use.reshape(len(n), -1)
        self.rows = np.flatnonzero(columns.any(axis=0))
        self.limited = np.flatnonzero(np.isfinite(instance.limit))
        limits = (n[:, None] == self.limited) / (self.u[:, None] * instance.limit[self.limited])
        self.use = np.concatenate([columns[:, self.rows], limits], axis=1)
        on = np.zeros((len(n), servers))
        on[pairs, i] = 1.0
        on = on[:, on.any(axis=0)]
        self.across, self.within = Centring(np.ones((users, 1))), Centring(on)
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.log_weight = np.log(self.weight)
        self.levels = np.zeros((len(n), users))
        self.levels[pairs, n] = 1.0 / weight[n]
        self.machines = instance.count[i] * np.bincount(i)[i]
        self.a0 = self._begin(instance, i)
        self.s0 = np.maximum(1.0 - self.a0 @ self.use, 0.1)
        self.size = float(np.exp(np.log(self.a0 @ self.levels).mean()))
        self.of_user = self.levels / self.size
        some = self.use > 0
        self.even = some / some.sum(axis=1, keepdims=True)
        self.small = unknowns(len(n), self.use.shape[1], users) <= MOST
        self._frames: dict[tuple[bool, bool], Frame] = {}

    @classmethod
    def of(cls, instance: Instance, score: Floats, weight: Floats) -> Ground:
        """The ground of an instance, kept while it is small: a sweep asks thousands of times."""
        if instance.demand.size + instance.placement.size > 2 * MOST:
            return cls(instance, score, weight)
        kept: Ground = remembered(
            instance, "_trade_off_ground", lambda: cls(instance, score, weight)
        )
        same = kept.asked[0] is score and kept.asked[1] is weight
        return kept if same else cls(instance, score, weight)

    def frame(self, of_user: Floats, across: Centring, within: Centring) -> Frame:
        """The conditions as a matrix, but for the forces; kept for levels counted in `size`."""
        key = across.none, within.none
        if of_user is not self.of_user:
            return Frame(of_user, self.use, across, within)
        if key not in self._frames:
            self._frames[key] = Frame(of_user, self.use, across, within)
        return self._frames[key]

    def _begin(self, instance: Instance, i: Any) -> Floats:
        """Equal shares on each server, every row at most half full; limits then cut."""
        servers = len(instance.servers)
        a = np.asarray(instance.count / np.bincount(i, minlength=servers), dtype=np.float64)[i]
        capacity = self.use[:, : len(self.rows)]
        # the fullest row of each server, whether or not this user demands it
        fullest = np.zeros(servers)
        np.maximum.at(fullest, self.rows // instance.shape[2], a @ capacity)
        a = a * 0.5 / fullest[i]
        if len(self.limited):
            limits = self.use[:, len(self.rows) :]
            a = a * np.minimum(1.0, 0.5 / ((limits > 0) @ (a @ limits)))
        return np.asarray(a, dtype=np.float64)
