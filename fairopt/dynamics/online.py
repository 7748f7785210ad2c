"""Frameworks that arrive and leave a cluster, task by task, without revocation (kesidis2018).

A user is a queue of frameworks that run one after another; a framework is `tasks_per_job` tasks,
each of which runs to its end on the machine that it was given. After every arrival and every end of
a task the scheduler of `fairopt.filling` places waiting tasks until nothing more fits. Offers are
*characterised* (one task at a time, as `fill` does) or *coarse*: all that is left of the machine
chosen goes to the user chosen, which starts as many of its waiting tasks as fit. A scheduler may be
a ledger by the name of its policy, which remembers (`remembered`). The measure is the
total execution time, until the last task has ended, and the use over that time.
"""

from __future__ import annotations

import heapq
import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.dynamics import needed
from fairopt.dynamics.remembered import Remembered, is_ledger
from fairopt.dynamics.replications import Estimate, Progress, estimate, generator, run
from fairopt.dynamics.runs import CLOSE, whole_numbers
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files.tables import arrays_of, tables_of
from fairopt.filling.filler import Filler
from fairopt.formulas.schedulers import find
from fairopt.instance import Instance

OFFERS = {
    "characterised": "one task at a time, the scheduler knows what a task takes",
    "coarse": "all that is left of a machine; the framework starts as many tasks as fit",
}
TIMES = {"exponential": "drawn, of the user's mean", "given": "the user's mean itself"}
SCHEDULERS = ("drf", "tsf", "bf-drf", "ps-dsf", "rps-dsf", "rrr-ps-dsf", "rrr-rps-dsf")
"""those of Table II of kesidis2018, and strict rounds of rps-dsf"""


@dataclass(frozen=True)
class Online:
    """One scheduler under one kind of offers, over all seeds.

    Parameters
    ----------
    total : Estimate of the total execution time.
    use : {resource: Estimate of the time-averaged part of the whole cluster in use}.
    stay : {user: Estimate of a framework's mean time from arrival to end}.
    records : what each replication counted, see `replicate`.
    """

    scheduler: str
    offers: str
    total: Estimate
    use: dict[str, Estimate]
    stay: dict[str, Estimate]
    records: tuple[dict[str, Any], ...]

    def faster_by(self, other: Online) -> Estimate:
        """Part of the other's total execution time that is saved, paired by replication."""
        return estimate(
            [1 - a["total"] / b["total"] for a, b in zip(self.records, other.records, strict=True)]
        )


def simulate_online(
    instance: Instance,
    schedulers: Sequence[str] = SCHEDULERS,
    offers: Sequence[str] = ("characterised",),
    *,
    frameworks: int = 5,
    tasks_per_job: int = 20,
    means: Mapping[str, float] | None = None,
    times: str = "exponential",
    gap: float = 0.0,
    replications: int = 20,
    seed: int = 0,
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Online, ...]:
    """Run the same frameworks under several schedulers; 95% intervals over replications.

    Parameters
    ----------
    instance : the cluster; limits are on the tasks that run at a time.
    schedulers : names of `fairopt.filling.SCHEDULERS`, or policies such as "kueue:half=24" (of
        `remembered.KNOWN`; hours are the unit of time).
    offers : of OFFERS.
    frameworks : of each user.
    tasks_per_job : tasks of a framework.
    means : {user: mean time of its tasks}, 1 by default.
    times : of TIMES.
    gap : mean of the exponential times between arrivals of a user's frameworks; 0 has them all
        there from the start.
    replications : independent runs; each is the same for all schedulers but for the machines that
        a random selection draws.
    seed, executor, resume, progress : as of `simulate_tasks`.

    Returns
    -------
    tuple of Online : in the order of the offers, then of the schedulers.

    Raises
    ------
    BadInput, UsageError : a task that fits on no machine, unknown names, bad numbers.
    """
    settings = {
        "frameworks": frameworks,
        "tasks_per_job": tasks_per_job,
        "times": times,
        "gap": gap,
        "seed": seed,
    }
    mean = _sensible(instance, schedulers, offers, means, settings, replications)
    tasks, runs = float(frameworks) * tasks_per_job * len(mean), len(offers) * len(schedulers)
    needed.check(
        2 * tasks * runs * replications,
        float(runs) * replications,
        56.0 * tasks,
        "the numbers of frameworks and their tasks",
    )
    needed.clock("gap", gap, gap * frameworks / min(mean))
    plain = {"resources": list(instance.resources), **tables_of(instance)}
    asked = [(kind, name) for kind in offers for name in schedulers]
    pieces = [
        {
            "instance": plain,
            "scheduler": name,
            "offers": kind,
            "means": mean,
            "number": number,
            **settings,
        }
        for kind, name in asked
        for number in range(replications)
    ]
    records = run(replicate, pieces, executor, resume, progress, conserved)
    found = []
    for k, (kind, name) in enumerate(asked):
        own = records[k * replications : (k + 1) * replications]
        use, stay = (
            {key: estimate([r[what][key] for r in own]) for key in keys}
            for what, keys in (("use", instance.resources), ("stay", instance.users))
        )
        total = estimate([r["total"] for r in own])
        found.append(Online(name, kind, total, use, stay, tuple(own)))
    return tuple(found)


def _sensible(
    instance: Instance,
    schedulers: Sequence[str],
    offers: Sequence[str],
    means: Mapping[str, float] | None,
    settings: Mapping[str, Any],
    replications: int,
) -> list[float]:
    """The means by user; refuses what makes no sense."""
    for name in schedulers:
        if is_ledger(name):
            Remembered(instance, name)
        else:
            find(name, None)
    for what, asked, known in (("offers", offers, OFFERS), ("times", [settings["times"]], TIMES)):
        for name in asked:
            if name not in known:
                raise UsageError(f"{what}: found {name!r}; wanted one of {', '.join(known)}")
    whole_numbers(
        {**settings, "replications": replications},
        {"frameworks": 1, "tasks_per_job": 1, "replications": 1, "seed": 0},
    )
    given = dict(means or {})
    faults = [
        Fault(f"means.{name}", "an unknown user", "a user")
        for name in given
        if name not in instance.users
    ]
    faults += [
        Fault(f"means.{name}", f"{value}", "a finite number > 0")
        for name, value in given.items()
        if not 0 < value < np.inf
    ]
    if not 0 <= settings["gap"] < np.inf:
        faults.append(Fault("gap", f"{settings['gap']}", "a finite number >= 0"))
    cluster = Filler(instance).cluster
    fits = [set(cluster.fitting(p).tolist()) for p in range(len(cluster.shape))]
    kinds = set[int]().union(*fits)
    faults += [
        Fault(f"users.{name}", "a task that fits on no machine", "one that fits")
        for n, name in enumerate(instance.users)
        if int(cluster.kind[n]) not in kinds or cluster.most[n] < 1
    ]
    if faults:
        raise BadInput(faults)
    return [float(given.get(name, 1.0)) for name in instance.users]


def replicate(piece: Mapping[str, Any]) -> dict[str, Any]:
    """One replication of `online`, from and to JSON data.

    Returns
    -------
    dict : "total" execution time; by resource "use" (time-averaged part of the cluster); by user
        "stay" (mean time of a framework from arrival to end); "tasks" {started, ended, running,
        asked}; "least" (least part of a machine left at any time); "little" (relative difference
        between the integral of running tasks and the sum of their times).
    """
    return _Run(piece).to_the_end()


def conserved(record: Any) -> bool:
    """Whether a record agrees with itself: every task started and ended, nothing above capacity."""
    try:
        tasks = record["tasks"]
        return bool(
            tasks["started"] == tasks["ended"] + tasks["running"] == tasks["asked"]
            and tasks["running"] == 0
            and record["least"] >= -CLOSE
            and all(0 < part <= 1 + CLOSE for part in record["use"].values() if part != 0)
            and 0 <= record["little"] <= CLOSE
            and record["total"] > 0
            and all(t > 0 for t in record["stay"].values())
        )
    except (KeyError, TypeError, AttributeError):
        return False


class _Run:
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
