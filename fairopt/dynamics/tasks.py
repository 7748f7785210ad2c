"""Task-based sharing: jobs of many tasks come to one pool and leave (bonald2015 section 4.4).

A pool holds `units` times its capacity. A job of class k is `tasks_per_job` tasks, each of which
holds d_k for an exponential time of mean 1; jobs of class k come as Poisson of rate rho_k / work,
work = tasks_per_job / units. After every event the most deprived job with waiting tasks is served,
until its task does not fit: then nobody else is (the pool is frozen for it, section 3.1). What a
class gets is gamma_k = work / E[T_k], T the time from a job's arrival to the end of its last task.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from fairopt.dynamics.loads import mix_of, pool_parts, rho_of
from fairopt.dynamics.replications import (
    Estimate,
    Progress,
    estimate,
    replications_asked,
    run,
)
from fairopt.dynamics.task_run import conserved, replicate, rule_code
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Instance

BOTTLENECKS = {
    "<=": "what is left of the resource is at most the largest requirement of a job present",
    "<": "what is left of the resource is less than the largest requirement, as printed",
}

@dataclass(frozen=True)
class TaskRow:
    """One rule at one load.

    Parameters
    ----------
    load, rule : as asked.
    rho : {class: load it brings}.
    gamma : {class: Estimate of work / E[T]}.
    use : {resource: Estimate of the time-averaged part of the pool in use}.
    jobs : measured jobs in all replications.
    records : what each replication counted, see `replicate`.
    """

    load: float
    rule: str
    rho: dict[str, float]
    gamma: dict[str, Estimate]
    use: dict[str, Estimate]
    jobs: int
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class TaskRuns:
    """All rules at all loads; rows in the order of the loads, then of the rules."""

    rows: tuple[TaskRow, ...]
    work: float
    settings: dict[str, Any]

    def row(self, load: float, rule: str) -> TaskRow:
        """The row of a load and a rule."""
        return next(r for r in self.rows if r.load == load and r.rule == rule)

    def difference(self, load: float, first: str, second: str, user: str) -> Estimate:
        """gamma of a class under `first` less that under `second`: paired by replication.

        Both rules were given the same jobs, so the interval is that of the differences.
        """
        one, two = (self.row(load, rule) for rule in (first, second))
        pairs = [
            [record["time"][user] for record in pair]
            for pair in zip(one.records, two.records, strict=True)
        ]
        return estimate(
            [self.work / a - self.work / b if a and b else math.nan for a, b in pairs]
        )


def tasks(
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str] = ("drf", "pf", "bmf"),
    *,
    mix: Mapping[str, float] | None = None,
    units: int = 100,
    tasks_per_job: int = 500,
    jobs: int = 2000,
    warmup: int = 200,
    replications: int = 10,
    seed: int = 0,
    freeze: bool = True,
    bottleneck: str = "<=",
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> TaskRuns:
    """Simulate jobs of many tasks on one pool; mean service rates with 95% intervals.

    Intervals are Student's over independent replications. Every rule is given the same jobs, at the
    same times up to the scale of the load, with the same task times.

    Parameters
    ----------
    instance : one pool; a user is a class of jobs.
    loads : values of max_j sum_k rho_k a_kj, each > 0 and < 1.
    rules : drf (smallest dominant share), pf (smallest tasks over ideal rate of all jobs present),
        bmf (best rank over bottleneck resources furthest from 1), or schedulers of
        `fairopt.filling`, which on one pool are drf or its residual form.
    mix : {class: proportion of rho}; all alike by default.
    units : how many times the pool's capacity is there to hold tasks.
    tasks_per_job : tasks of a job.
    jobs, warmup : measured jobs of a replication, and jobs before them. Arrivals go on until the
        last measured job has left.
    replications : independent runs.
    seed : of everything random.
    freeze : whether nobody is served while the most deprived job's task does not fit.
    bottleneck : "<=" or "<", see BOTTLENECKS; for bmf.
    executor, resume, progress : as of `replications.run`.

    Raises
    ------
    Infeasible : a load of 1 or more.
    BadInput, UsageError : no pool, an unknown rule, bad numbers.

    Examples
    --------
    >>> inst = Instance([[0.1, 1], [1, 0.1]], [[1, 1]], users=["A", "B"])
    >>> found = tasks(inst, [0.5], ["drf"], jobs=20, warmup=5, replications=2, tasks_per_job=50)
    >>> sorted(found.rows[0].gamma)
    ['A', 'B']
    """
    parts, shares = pool_parts(instance), mix_of(instance, mix)
    settings = {"units": units, "tasks_per_job": tasks_per_job, "jobs": jobs, "warmup": warmup,
                "freeze": freeze, "bottleneck": bottleneck, "seed": seed}  # fmt: skip
    _sensible(instance, rules, settings)
    replications_asked(replications, seed)
    rho = {load: rho_of(parts, shares, load, instance.resources) for load in loads}
    asked = [(load, rule) for load in loads for rule in rules]
    pieces = [
        {"users": list(instance.users), "demand": instance.demand_by_server[:, 0].tolist(),
         "capacity": instance.capacity[0].tolist(), "rho": rho[load].tolist(), "rule": rule,
         "number": number, **settings}
        for load, rule in asked for number in range(replications)
    ]  # fmt: skip
    records = run(replicate, pieces, executor, resume, progress, conserved)
    work = tasks_per_job / units
    rows = []
    for k, (load, rule) in enumerate(asked):
        own = records[k * replications : (k + 1) * replications]
        given = dict(zip(instance.users, rho[load].tolist(), strict=True))
        gamma = {
            user: estimate([r["time"][user] for r in own]).over(work)
            for user in given if given[user] > 0
        }  # fmt: skip
        use = {name: estimate([r["use"][j] for r in own])
               for j, name in enumerate(instance.resources)}  # fmt: skip
        seen = sum(sum(r["measured"].values()) for r in own)
        rows.append(TaskRow(load, rule, given, gamma, use, seen, tuple(own)))
    return TaskRuns(tuple(rows), work, settings)


def _sensible(instance: Instance, rules: Sequence[str], settings: Mapping[str, Any]) -> None:
    for rule in rules:
        rule_code(rule)
    if settings["bottleneck"] not in BOTTLENECKS:
        found = settings["bottleneck"]
        raise UsageError(f"bottleneck: found {found!r}; wanted one of {', '.join(BOTTLENECKS)}")
    faults = [
        Fault(key, f"{settings[key]}", f"a whole number >= {least}")
        for key, least in (("units", 1), ("tasks_per_job", 1), ("jobs", 1), ("warmup", 0))
        if settings[key] != int(settings[key]) or settings[key] < least
    ]
    short = (instance.demand_by_server[:, 0] > instance.capacity[0] * settings["units"]).any(axis=1)
    faults += [Fault(f"users.{name}", "a task larger than the pool", "one that fits")
               for name, bad in zip(instance.users, short, strict=True) if bad]  # fmt: skip
    if faults:
        raise BadInput(faults)
