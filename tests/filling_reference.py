"""The schedulers in their plainest form: each step looks at every user and machine.

Cost of one increment: users x machines x resources. Only `exact.scaled` is shared with the fast
form, so that the two can be compared on every instance.
"""

from __future__ import annotations

import random

import numpy as np

from fairopt.filling.cluster import rounded
from fairopt.filling.units import scaled
from fairopt.formulas.schedulers import find
from fairopt.instance import Floats, Instance

_TIE = 1 + 1e-12


class Plain:
    """One run of a scheduler, ties to the highest user and the lowest machine.

    Demands must be the same on every server, and the criterion one of drf, ps-dsf, rps-dsf, rdrf.
    """

    def __init__(self, instance: Instance, scheduler: str, selection: str | None = None) -> None:
        self.criterion, self.selection = find(scheduler, selection)
        self.inst = instance
        self.demand, capacity, slack, _ = scaled(instance, 1.0)
        self.rows = np.repeat(np.arange(len(instance.servers)), instance.count)
        self.capacity, self.slack = capacity[self.rows], slack[self.rows]
        self.residual = self.capacity.copy()
        self.units = np.zeros((len(instance.users), len(self.rows)), dtype=np.int64)
        self.placed: list[tuple[int, int]] = []

    def run(self, seed: int = 0, budget: float = np.inf) -> Floats:
        """(N, I) tasks when nothing more can be placed."""
        draw = random.Random(seed)
        server_first = {"random-server", "rrr", "in-order"}
        pick = self._server_first if self.selection in server_first else self._user_first
        self._open = list(range(len(self.rows)))
        self._tour: list[int] = []
        while len(self.placed) < budget and (pair := pick(draw)) is not None:
            n, j = pair
            self.residual[j] -= self.demand[n]
            self.units[n, j] += 1
            self.placed.append(pair)
        tasks = np.zeros(self.inst.shape[:2])
        np.add.at(tasks.T, self.rows, self.units.T.astype(float))
        return tasks

    def _fits(self, n: int, j: int) -> bool:
        below_limit = self.units[n].sum() + 1 <= self.inst.limit[n] * _TIE
        room = (self.demand[n] <= self.residual[j] + self.slack[j]).all()
        return bool(below_limit and room and self.inst.eligible[n, self.rows[j]])

    def _factor(self, n: int, j: int) -> float:
        have = {
            "drf": self.capacity.sum(axis=0),
            "rdrf": self.residual.sum(axis=0),
            "ps-dsf": self.capacity[j],
            "rps-dsf": self.residual[j],
        }[self.criterion]
        return max(
            float(d) / float(c) if c > 0 else np.inf
            for d, c in zip(self.demand[n], have, strict=True)
            if d > 0
        )

    def _user_first(self, draw: random.Random) -> tuple[int, int] | None:
        choices = []
        for n in range(len(self.inst.users)):
            held = int(self.units[n].sum())
            fits = [j for j in range(len(self.rows)) if self._fits(n, j)]
            if not fits:
                continue
            factor = {j: self._factor(n, j) if held else 0.0 for j in fits}
            least = min(factor.values())
            near = [j for j in fits if factor[j] <= least * _TIE]
            choices.append((rounded(held * least / self.inst.weight[n]), -n, n, min(near), fits))
        for _, _, n, joint, fits in sorted(choices):
            if self.selection == "joint":
                return n, joint
            if self.selection == "first-fit":
                return n, fits[0]
            full_too = self.selection == "best-fit-any"
            every = range(len(self.rows))
            among = [j for j in every if self.inst.eligible[n, self.rows[j]]] if full_too else fits
            distance = {j: self._distance(n, j) for j in among}
            least = min(distance.values())
            match = min(j for j in among if distance[j] <= least * _TIE)
            if self._fits(n, match):
                return n, match
        return None

    def _distance(self, n: int, j: int) -> float:
        total = self.capacity.sum(axis=0)
        total = np.where(total > 0, total, 1.0)
        need, have = self.demand[n] / total, self.residual[j] / total
        one = next(r for r in range(len(need)) if need[r] > 0)
        if have[one] <= 0:
            return np.inf
        return float(sum(abs(need / need[one] - have / have[one])))

    def _server_first(self, draw: random.Random) -> tuple[int, int] | None:
        while self._open:
            if self.selection == "random-server":
                j = self._open[draw.randrange(len(self._open))]
            elif self.selection == "in-order":
                j = self._open[0]
            else:
                if not self._tour:
                    self._tour = sorted(self._open)
                    draw.shuffle(self._tour)
                j = self._tour.pop(0)
            users = [n for n in reversed(range(len(self.inst.users))) if self._fits(n, j)]
            if not users:
                at, last = self._open.index(j), self._open.pop()
                if last != j:
                    self._open[at] = last
                if self.selection == "in-order":
                    self._open.sort()
                continue
            level = [self.units[n].sum() / self.inst.weight[n] * self._factor(n, j) for n in users]
            near = min(level) * (1 + 2.0**-40)
            return users[next(k for k, v in enumerate(level) if v <= near)], j
        return None
