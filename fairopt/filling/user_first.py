"""User-first filling: a heap of users, and a scan of machine states only where one has changed.

Cost of one increment: O(log N) for the heap, and O(states x R) in NumPy only when the machine that
was best for this kind of user has changed in a way that may matter. No step looks at all pairs of
user and machine: factors never fall, so a user's old level is a lower bound of its new one.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import numpy as np

from fairopt.filling.cluster import Machines, rounded
from fairopt.filling.criteria import FIXED, MACHINE, POOL, FillingCriterion, gain, table
from fairopt.filling.selection import VISITS, Open, States, first_of_least, shape_distance
from fairopt.instance import Floats, Ints

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
        self._weight: list[float] = cluster.weight.tolist()

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
            if not c.allows(n, position):
                self._best.pop(self._kind[n], None)
                self._first.pop(self._kind[n], None)
                continue
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
        seats, weight = order.tolist(), c.weight[order].tolist()
        progress = self._progress()
        level = progress / c.weight[order]
        may = np.array([c.units[n] < c.most[n] for n in seats])
        machines = Open(len(c.shape))
        for position in self.visit(machines, draw) if budget > 0 else ():
            if position not in machines:
                continue
            which, factor = self._fitting(position)
            if not may.all():
                which, factor = which[may[which]], factor[may[which]]
            # nobody fits: what is left of a machine only falls, so nobody will
            if not len(which):
                machines.close(position)
                continue
            value = level[which] * factor
            k = int(np.argmax(value <= value.min() * _TIE))
            while len(which) and not c.allows(seats[int(which[k])], position):
                self._memo.clear()
                which, value = np.delete(which, k), np.delete(value, k)
                k = int(np.argmax(value <= value.min() * _TIE)) if len(which) else 0
            if not len(which):
                machines.close(position)
                continue
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
