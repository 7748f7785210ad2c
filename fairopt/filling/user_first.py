"""User-first filling: a heap of users, and a scan of machine states only where one has changed.

Cost of one increment: O(log N) for the heap, and O(states x R) in NumPy only when the machine that
was best for this kind of user has changed in a way that may matter. No step looks at all pairs of
user and machine: factors never fall, so a user's old level is a lower bound of its new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from fairopt.filling.cluster import Machines, rounded
from fairopt.filling.criteria import FIXED, MACHINE, POOL, FillingCriterion, gain, table
from fairopt.filling.selection import first_of_least, shape_distance
from fairopt.filling.states import States

Record = Callable[[int, int, float], None]
NO_FIT, LIMIT, FULL_MATCH = "no machine fits", "limit reached", "best match is full"


class UserFirst:
    """Runs a rule with selection joint, first-fit, best-fit or best-fit-any to its end."""

    def __init__(self, cluster: Machines, rule: FillingCriterion, selection: str) -> None:
        self.cluster, self.rule, self.selection = cluster, rule, selection
        self.states = States(cluster, keep_full=selection == "best-fit-any")
        self.fixed = table(cluster, rule) if rule.moved_by == FIXED else None
        self.gain = gain(cluster, rule)
        n = len(cluster.units)
        self.progress: list[float] = [float(k) for k in cluster.units]
        if self.gain is not None:
            self.progress = [0.0] * n
            for position, held in cluster.packing.items():
                for user, k in held.items():
                    share = self.gain[cluster.kind[user], cluster.shape[position]]
                    self.progress[user] += k * float(share)
        # per kind: (factor, position, version of that machine)
        self._best: dict[int, tuple[float, int, int]] = {}
        self._first: dict[int, tuple[int, int]] = {}
        self._kind: list[int] = cluster.kind.tolist()
        self._weight: list[float] = cluster.instance.weight.tolist()

    def run(self, users: list[int], budget: float, record: Record | None) -> dict[int, str]:
        """Fill until all users stop or `budget` increments are placed; returns why they stop."""
        c = self.cluster
        stopped: dict[int, str] = {}
        heap = [(0.0, c.user_rank[n], n) for n in users]
        heapq.heapify(heap)
        aside: list[tuple[float, int, int]] = []
        while budget > 0 and (heap or aside):
            if not heap:
                # no user's best match has room, and that will not change
                stopped.update({n: FULL_MATCH for _, _, n in aside})
                break
            key, rank, n = heap[0]
            if c.units[n] >= c.most[n]:
                stopped[n] = LIMIT
                heapq.heappop(heap)
                continue
            at = self._level(n)
            if at is None:
                stopped[n] = NO_FIT
                heapq.heappop(heap)
                continue
            level, position = at
            if level > key:
                heapq.heapreplace(heap, (level, rank, n))
                continue
            if self.selection == "best-fit-any":
                match = self._match(n, full_too=True)
                if not c.fits(self._kind[n], match):
                    aside.append(heapq.heappop(heap))
                    continue
                position = match
            elif self.selection == "best-fit":
                position = self._match(n, full_too=False)
            self._give(n, position)
            budget -= 1
            if record is not None:
                record(n, position, level)
            for entry in aside:
                heapq.heappush(heap, entry)
            aside.clear()
        return stopped

    def _give(self, n: int, position: int) -> None:
        kind, shape = self._kind[n], self.cluster.shape[position]
        self.states.place(n, position)
        self.progress[n] += 1.0 if self.gain is None else float(self.gain[kind, shape])

    def _match(self, n: int, full_too: bool) -> int:
        kind = self._kind[n]
        s = self.states
        which = np.flatnonzero(s.eligible(kind)) if full_too else s.fitting(kind)
        return first_of_least(s, which, shape_distance(self.cluster, s, kind, which))

    def _level(self, n: int) -> tuple[float, int] | None:
        """The user's criterion at its best machine and that machine; None when nothing fits."""
        kind, progress = self._kind[n], self.progress[n]
        if progress == 0 or self.rule.moved_by == POOL:
            first = self._first_fit(kind)
            if first is None:
                return None
            if progress == 0:
                return 0.0, first
            best = self._pool_factor(kind), first
        else:
            least = self._least(kind)
            if least is None:
                return None
            best = least
        factor, position = best
        if self.selection == "first-fit":
            position = self._first_fit(kind) or 0
        if self.gain is not None:
            factor = 1.0
        return rounded(progress * factor / self._weight[n]), position

    def _pool_factor(self, kind: int) -> float:
        shapes = np.zeros(1, dtype=np.int64)
        rest = self.cluster.capacity[shapes]
        return float(self.rule.factor(self.cluster, kind, shapes, rest)[0])

    def _first_fit(self, kind: int) -> int | None:
        """The first machine where the kind fits; remembered until that machine is too full."""
        if kind in self._first:
            position, version = self._first[kind]
            if self.states.version[position] == version:
                return position
            if self.cluster.fits(kind, position):
                self._first[kind] = position, self.states.version[position]
                return position
        which = self.states.fitting(kind)
        if not len(which):
            return None
        position = int(self.states.first[which].min())
        self._first[kind] = position, self.states.version[position]
        return position

    def _least(self, kind: int) -> tuple[float, int] | None:
        """Least factor over the machines where the kind fits, first machine among ties."""
        s = self.states
        if kind in self._best:
            factor, position, version = self._best[kind]
            if s.version[position] == version:
                return factor, position
            if self.fixed is not None and self.cluster.fits(kind, position):
                self._best[kind] = factor, position, s.version[position]
                return factor, position
        which = s.fitting(kind)
        if not len(which):
            return None
        shapes = s.shape[which]
        if self.rule.moved_by == MACHINE:
            value = self.rule.factor(self.cluster, kind, shapes, s.residual(which))
        else:
            assert self.fixed is not None
            value = self.fixed[kind, shapes]
        position = first_of_least(s, which, value)
        factor = float(value.min())
        self._best[kind] = factor, position, s.version[position]
        return factor, position
