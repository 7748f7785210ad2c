"""Server-first filling: visit a machine, then choose the user of smallest criterion there.

Cost of one increment: O(users that still fit on that machine) in NumPy, whatever the number of
machines. Which users fit in a given residual is remembered, so equal machines are examined once.
"""

from __future__ import annotations

import random

import numpy as np

from fairopt.filling.cluster import Machines
from fairopt.filling.criteria import FIXED, POOL, FillingCriterion, gain, table
from fairopt.filling.selection import VISITS, Open
from fairopt.filling.user_first import LIMIT, NO_FIT, Record
from fairopt.instance import Floats, Ints

_TIE = 1 + 2.0**-40
_HUGE = 1e200


class ServerFirst:
    """Runs a rule with selection random-server, rrr or in-order to its end."""

    def __init__(self, cluster: Machines, rule: FillingCriterion, selection: str) -> None:
        self.cluster, self.rule, self.visit = cluster, rule, VISITS[selection]
        self.fixed = table(cluster, rule) if rule.moved_by == FIXED else None
        self.gain = gain(cluster, rule)
        self._by_rank: Ints = np.argsort(cluster.user_rank)
        self._order: Ints = self._by_rank[:0]
        self._memo: dict[tuple[int, bytes], tuple[Ints, Floats]] = {}

    def run(
        self, users: list[int], budget: float, record: Record | None, draw: random.Random
    ) -> dict[int, str]:
        """Fill until nothing fits or `budget` increments are placed; returns why users stopped."""
        c = self.cluster
        order = self._by_rank[np.isin(self._by_rank, users)]
        if not np.array_equal(order, self._order):
            self._order = order
            self._memo.clear()
        seats, weight = order.tolist(), c.instance.weight[order].tolist()
        progress = self._progress()
        level = progress / c.instance.weight[order]
        may = np.array([c.units[n] < c.most[n] for n in seats])
        machines = Open(len(c.shape))
        for position in self.visit(machines, draw) if budget > 0 else ():
            if position not in machines:
                continue
            which, factor = self._fitting(position)
            if not may.all():
                which, factor = which[may[which]], factor[may[which]]
            if not len(which):
                machines.close(position)
                continue
            value = level[which] * factor
            k = int(np.argmax(value <= value.min() * _TIE))
            seat = int(which[k])
            n = seats[seat]
            step = 1.0
            if self.gain is not None:
                step = float(self.gain[c.kind[n], c.shape[position]])
            c.place(n, position)
            progress[seat] += step
            level[seat] = progress[seat] / weight[seat]
            may[seat] = c.units[n] < c.most[n]
            if record is not None:
                record(n, position, float(value[k]))
            budget -= 1
            if budget <= 0:
                break
        done = not machines.list
        return {
            n: NO_FIT if ok else LIMIT for n, ok in zip(seats, may, strict=True) if done or not ok
        }

    def _progress(self) -> Floats:
        """(seats,) progress of the users in order of ties."""
        c = self.cluster
        if self.gain is None:
            return np.array([float(c.units[n]) for n in self._order])
        total = np.zeros(len(c.units))
        for position, held in c.packing.items():
            for user, k in held.items():
                total[user] += k * self.gain[c.kind[user], c.shape[position]]
        return np.asarray(total[self._order])

    def _fitting(self, position: int) -> tuple[Ints, Floats]:
        """Seats of the users that fit on the machine, in order of ties, and their factors there."""
        c = self.cluster
        shape = int(c.shape[position])
        key = (shape, c.residual[position].tobytes())
        found = self._memo.get(key)
        if found is None or (self.rule.moved_by == POOL and len(found[0])):
            kinds, fitting = c.kind[self._order], c.fitting(position)
            factor = np.zeros(len(c.demand))
            if self.gain is not None:
                factor[fitting] = 1.0
            elif self.fixed is not None:
                factor[fitting] = self.fixed[fitting, shape]
            else:
                at, rest = np.array([shape]), c.residual[position][None]
                for kind in fitting:
                    factor[kind] = min(self.rule.factor(c, int(kind), at, rest)[0], _HUGE)
            which = np.flatnonzero(np.isin(kinds, fitting))
            found = self._memo[key] = which, factor[kinds[which]]
        return found
