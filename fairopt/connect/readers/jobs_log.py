"""Logs of jobs as levels over time: Slurm's `sacct -P`, Kueue's workloads.

A job counts as many tasks of its user as its largest resource makes: amounts over what one task of
the user takes. It is held while it runs, and wanted from its submission to its end. A job that has
not ended counts to the last time in the file. Where a user has modes, a job runs in the mode, and
on the server, that its partition, flavor or kind of card names, else in the only one that it can.
Jobs of users that the model does not name, of those that never asked for anything the model counts,
and of no one mode or server, are counted and told.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from fairopt import storage
from fairopt.connect.readers.job import Job
from fairopt.connect.readers.job_kueue import kueue
from fairopt.connect.readers.job_sacct import sacct
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.reading import Faults
from fairopt.overtime.logs import LARGEST_LOG, Log
from fairopt.overtime.waiting import WaitingJobs

READERS = {"sacct": sacct, "kueue": kueue}


@dataclass(frozen=True, eq=False)
class Logs:
    """What jobs held and wanted, how many there were, how many count for nobody, how many ran where
    the model has no one mode or server for them, and those that ran and ended; alone is how long
    each ran, speed (J,) that of its mode."""

    held: Log
    wants: Log
    jobs: int
    left_out: int
    nowhere: int
    ended: WaitingJobs
    speed: Floats

    @property
    def anew(self) -> WaitingJobs:
        """Those that ran and ended, to run once more: alone is how long each takes at speed 1."""
        return replace(self.ended, alone=self.ended.alone * self.speed, end=None)

    @property
    def told(self) -> str:
        """What is not counted, in words; empty if nothing is."""
        said = []
        if self.left_out:
            said.append(f"{self.left_out} of {self.jobs} jobs are of nobody in the model")
        if self.nowhere:
            said.append(
                f"{self.nowhere} of {self.jobs} jobs ran where the model has no one mode or server"
                " for them, and do not count"
            )
        return "; ".join(said)


def read_jobs(path: str | os.PathLike[str], instance: Instance, form: str) -> Logs:
    """Read a log of jobs.

    Parameters
    ----------
    path : of `sacct -P`, or of `kubectl get workloads,events -A -o json`; "-" for standard input.
    form : "sacct" or "kueue".

    Raises
    ------
    BadInput : with every fault of the file, each with its place.
    """
    content = storage.read_text(path, LARGEST_LOG, f"jobs of {form}")
    faults = Faults(storage.source_name(path))
    jobs = READERS[form](content, instance, faults)
    faults.stop()
    return levels(jobs, instance, faults)


def levels(jobs: list[Job], instance: Instance, faults: Faults) -> Logs:
    """The levels of jobs over time."""
    users = {name: n for n, name in enumerate(instance.users)}
    held, wants, ran, left, nowhere = [], [], [], 0, 0
    times = [
        t
        for job in jobs
        for t in (job.submit, job.end, *(t for run in job.runs for t in run))
        if t is not None
    ]
    if not times:
        faults.add("file", "no job", "at least one")
        faults.stop()
    origin, last = min(times), max(times)
    places = _Places(instance)
    for job in jobs:
        n = users.get(job.user)
        ways = np.zeros(0, dtype=np.int64) if n is None else places.ways(n, job)
        if n is None or not len(ways):
            left += 1
            continue
        begin = min(job.submit, *(start for start, _ in job.runs), job.submit)
        came, gone = _hour(begin, origin), _hour(job.end or last, origin)
        at = places.of(ways, job)
        if at is None and job.runs:
            nowhere += 1
            continue
        k, i = at or (int(ways[0]), 0)
        tasks = places.tasks(k, job)
        wants += [(came, n, 0, tasks), (gone, n, 0, -tasks)]
        hours = 0.0
        for start, end in job.runs:
            since, until = _hour(start, origin), _hour(end or last, origin)
            held += [(since, k, i, tasks), (until, k, i, -tasks)]
            hours += until - since
        if job.end is not None and hours > 0:
            ran.append((n, tasks, came, hours, gone, places.of_ways.speed[k]))
    if not wants:
        known = ", ".join(instance.users[:4])
        faults.add(
            "file",
            f"no job of a user of the model ({len(jobs)} of others)",
            f"jobs of {known}, which take what the model counts",
        )
        faults.stop()
    who, size, came_, own, gone_, speed = np.array(ran, dtype=np.float64).reshape(-1, 6).T
    ended = WaitingJobs(who.astype(np.int64), size, came_, own, gone_, origin.isoformat())
    return Logs(_log(held, origin), _log(wants, origin), len(jobs), left, nowhere, ended, speed)


class _Places:
    """Where jobs may have run: the ways of users, by the names of modes and servers."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.of_ways = instance, instance.ways
        self.servers = np.array([name.casefold() for name in instance.servers])
        demand = self.of_ways.demand
        self.demand: Floats = demand if demand.ndim == 2 else demand.max(axis=1)

    def tasks(self, k: int, job: Job) -> float:
        """How many tasks of a way have these amounts: by the resource that makes most."""
        each = [
            job.amounts.get(name, 0.0) / d
            for name, d in zip(self.instance.resources, self.demand[k].tolist(), strict=True)
            if d > 0
        ]
        return max(each, default=0.0)

    def ways(self, n: int, job: Job) -> Ints:
        """The ways of a user in which the job may have run: those that its places name; else all
        that take something of what it took, and of as many kinds as any."""
        of = self.of_ways.of(n)
        own = [k for k in range(of.start, of.stop) if self.tasks(k, job) > 0]
        names = {name.casefold() for name in job.places}
        named = [k for k in own if self.of_ways.name[k].casefold() in names]
        if not named:
            on = np.isin(self.servers, list(names))
            named = [k for k in own if (self.of_ways.eligible[k] & on).any()]
        if named or len(own) < 2:
            return np.array(named or own, dtype=np.int64)
        took = np.array([job.amounts.get(name, 0.0) > 0 for name in self.instance.resources])
        both = [int(((self.demand[k] > 0) & took).sum()) for k in own]
        return np.array([k for k, many in zip(own, both, strict=True) if many == max(both)])

    def of(self, ways: Ints, job: Job) -> tuple[int, int] | None:
        """The way and the server of a job; None where there are several, or none."""
        names = [name.casefold() for name in job.places]
        if len(ways) != 1:
            return None
        k = int(ways[0])
        there = np.flatnonzero(self.of_ways.eligible[k])
        on = there[np.isin(self.servers[there], names)]
        if len(on) == 1 or len(there) == 1:
            return k, int((on if len(on) == 1 else there)[0])
        return (k, 0) if len(self.servers) == 1 else None


def _log(changes: list[tuple[float, int, int, float]], origin: datetime) -> Log:
    """Levels from changes: of one time together."""
    changes = sorted(changes, key=lambda change: (*change[:3], -change[3]))
    level: dict[tuple[int, int], float] = {}
    rows: list[tuple[float, int, int, float]] = []
    for time, n, i, more in changes:
        now = level.get((n, i), 0.0) + more
        level[n, i] = now if now > 1e-9 * abs(more) else 0.0
        rows.append((time, n, i, level[n, i]))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Log(
        columns[:, 0],
        columns[:, 1].astype(np.int64),
        columns[:, 2].astype(np.int64),
        columns[:, 3],
        origin.isoformat(),
    )


def _hour(time: datetime, origin: datetime) -> float:
    return (time - origin).total_seconds() / 3600


__all__ = ["Job", "Logs", "levels", "read_jobs"]
