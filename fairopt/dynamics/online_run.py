"""One run of frameworks on a cluster: who is offered what, and when tasks end."""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.dynamics.remembered import Remembered, is_ledger
from fairopt.dynamics.replications import generator
from fairopt.files.tables import arrays_of
from fairopt.filling.filler import Filler


class OnlineRun:
    """One replication: the cluster, the queues of frameworks and the running tasks."""

    def __init__(self, piece: Mapping[str, Any]) -> None:
        from fairopt.instance.reading import Faults, build

        faults = Faults("piece")
        self.instance = build(faults, **arrays_of(dict(piece["instance"]), faults))
        users = len(self.instance.users)
        self.each, self.size = int(piece["frameworks"]), int(piece["tasks_per_job"])
        self.coarse = piece["offers"] == "coarse"
        named = str(piece["scheduler"])
        self.book = Remembered(self.instance, named) if is_ledger(named) else None
        scheduler = "drf" if self.book is not None else named
        self.filler = Filler(self.instance, scheduler, None, int(piece["seed"]))
        self.cluster = self.filler.cluster
        draw = generator(piece["seed"], piece["number"])
        shape = (users, self.each, self.size)
        work = draw.standard_exponential(shape)
        if piece["times"] == "given":
            work = np.ones(shape)
        self.work: list[Any] = (work * np.array(piece["means"])[:, None, None]).tolist()
        gaps = draw.standard_exponential((users, self.each)) * piece["gap"]
        self.arrival: list[list[float]] = np.cumsum(gaps, axis=1).tolist()
        self.select = random.Random(int(draw.integers(2**32)))
        self.limit = list(self.cluster.most)
        self.begun = [0] * users
        """frameworks begun by each user"""
        self.waiting, self.running = [0] * users, [0] * users
        self.heap: list[tuple[float, int, int, int]] = []
        """(time, serial number, user, position of the machine or -1 for an arrival)"""
        self.serial = self.started = self.ended = 0
        self.stay = [0.0] * users
        row, number = self.cluster.row.tolist(), self.cluster.number.tolist()
        self.place = {
            (self.instance.servers[i], k): p
            for p, (i, k) in enumerate(zip(row, number, strict=True))
        }
        full = self.cluster.residual
        self.part = np.where(full > 0, full, 1.0).copy()
        self.least = 1.0

    def to_the_end(self) -> dict[str, Any]:
        """The record of `replicate`."""
        cluster, now, area, spent = self.cluster, 0.0, 0.0, 0.0
        used = np.zeros(len(cluster.left))
        for user, times in enumerate(self.arrival):
            self._push(times[0], user, -1)
        while self.heap:
            time, _, user, position = heapq.heappop(self.heap)
            area += (time - now) * sum(self.running)
            used += (time - now) * (cluster.total - cluster.left)
            if self.book is not None:
                self.book.passed(self.running, self.waiting, time - now)
            now = time
            if position < 0:
                self.begun[user] += 1
                self.waiting[user] = self.size
            else:
                cluster.take(user, position)
                self.running[user] -= 1
                self.ended += 1
                if not self.running[user] and not self.waiting[user]:
                    self._leave(user, now)
            if not self.heap or self.heap[0][0] > now:  # all that happens at once is seen at once
                spent += self._fill(now)
        total = np.where(cluster.total > 0, cluster.total, 1.0)
        names = self.instance.users
        return {
            "total": now,
            "use": dict(zip(self.instance.resources, (used / now / total).tolist(), strict=True)),
            "stay": {name: s / self.each for name, s in zip(names, self.stay, strict=True)},
            "tasks": {
                "started": self.started,
                "ended": self.ended,
                "running": sum(self.running),
                "asked": len(names) * self.each * self.size,
            },
            "least": self.least,
            "little": abs(area - spent) / spent,
        }

    def _push(self, time: float, user: int, position: int) -> None:
        heapq.heappush(self.heap, (time, self.serial, user, position))
        self.serial += 1

    def _leave(self, user: int, now: float) -> None:
        """A framework ends; the user's next begins when it has arrived."""
        done = self.begun[user]
        self.stay[user] += now - self.arrival[user][done - 1]
        if done < self.each:
            self._push(max(now, self.arrival[user][done]), user, -1)

    def _fill(self, now: float) -> float:
        """Place waiting tasks until nothing more fits; the sum of their times."""
        cluster, spent = self.cluster, 0.0
        while any(self.waiting):
            for n, wait in enumerate(self.waiting):
                cluster.most[n] = min(self.limit[n], self.running[n] + wait)
            for step in (trace := self._chosen()):
                user = self.instance.users.index(step["user"])
                position = self.place[step["server"], step["machine"]]
                spent += self._start(user, position, now)
                kind = int(cluster.kind[user])
                while (
                    self.coarse
                    and self.waiting[user]
                    and cluster.fits(kind, position)
                    and (self.running[user] < self.limit[user])
                ):
                    cluster.place(user, position)
                    spent += self._start(user, position, now)
            if not trace or (self.book is None and not self.coarse):
                break
        return spent

    def _chosen(self) -> list[dict[str, Any]]:
        """What the scheduler places next: all that fits, or one task where it must look again."""
        trace: list[dict[str, Any]] = []
        if self.book is None:
            self.filler.run(self.select, budget=1 if self.coarse else np.inf, trace=trace)
            return trace
        line = self.book.line(self.running, self.waiting)
        left = [n for n, wait in enumerate(self.waiting) if wait and not line.out[n]]
        while left and not trace:
            user = line.next(left, self.running)
            self.filler.run(self.select, [user], 1, trace)
            left.remove(user)
        return trace

    def _start(self, user: int, position: int, now: float) -> float:
        """A task that has been placed runs; its time."""
        tasks = self.work[user][self.begun[user] - 1]
        time: float = tasks[self.size - self.waiting[user]]
        self.waiting[user] -= 1
        self.running[user] += 1
        self.started += 1
        self._push(now + time, user, position)
        left = self.cluster.residual[position] / self.part[position]
        self.least = min(self.least, float(left.min()))
        return time


__all__ = ["OnlineRun"]
