"""Task-based sharing: jobs of many tasks come to one pool and leave (bonald2015 section 4.4).

A pool holds `units` times its capacity. A job of class k is `tasks_per_job` tasks, each of which
holds d_k for an exponential (or Erlang) time of mean 1; jobs of class k come as Poisson of rate
rho_k / work, work = tasks_per_job / units. After every event the most deprived job with waiting
tasks is served, until its task does not fit: then nobody else is (the pool is frozen for it,
section 3.1). What a class gets is gamma_k = work / E[T_k], T the time from a job's arrival to the
end of its last task.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import numpy as np

from fairopt.dynamics.replications import Progress
from fairopt.dynamics.runs import Runs, over_loads, whole_numbers
from fairopt.dynamics.task_run import BLOCK, SLOTS, replicate, rule_code
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.filling.units import scaled
from fairopt.instance import Instance

BOTTLENECKS = {
    "<=": "what is left of the resource is at most the largest requirement of a job present",
    "<": "what is left of the resource is less than the largest requirement, as printed",
}


def simulate_tasks(
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
    shape: int = 1,
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Runs:
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
    shape : task times are Erlang with so many stages and mean 1: 1 is exponential, more are less
        variable (section 4.4); their variance is 1 / shape.
    executor, resume, progress : as of `replications.run`.

    Raises
    ------
    Infeasible : a load of 1 or more.
    BadInput, UsageError : no pool, a task larger than it, bmf without a common unit of what
        tasks hold, an unknown rule, bad numbers.

    Examples
    --------
    >>> inst = Instance([[0.1, 1], [1, 0.1]], [[1, 1]], users=["A", "B"])
    >>> found = simulate_tasks(inst, [0.5], ["drf"], jobs=20, replications=2, tasks_per_job=50)
    >>> sorted(found.rows[0].gamma)
    ['A', 'B']
    """
    settings = {
        "units": units,
        "tasks_per_job": tasks_per_job,
        "jobs": jobs,
        "warmup": warmup,
        "freeze": freeze,
        "bottleneck": bottleneck,
        "shape": shape,
        "seed": seed,
    }
    for rule in rules:
        rule_code(rule)
    if bottleneck not in BOTTLENECKS:
        wanted = ", ".join(BOTTLENECKS)
        raise UsageError(f"bottleneck: found {bottleneck!r}; wanted one of {wanted}")
    whole_numbers(
        {**settings, "replications": replications},
        {
            "units": 1,
            "tasks_per_job": 1,
            "jobs": 1,
            "warmup": 0,
            "replications": 1,
            "seed": 0,
            "shape": 1,
        },
    )
    _countable(instance, units, rules)
    # tasks of the jobs drawn and present, and a place for every task that can run
    size = 8.0 * tasks_per_job * (SLOTS + BLOCK) + 16.0 * units * _running(instance)
    return over_loads(
        replicate,
        instance,
        loads,
        rules,
        mix,
        tasks_per_job / units,
        replications,
        settings,
        executor,
        resume,
        progress,
        2 * tasks_per_job,
        size,
    )


def _running(instance: Instance) -> float:
    """Most tasks of all classes, each alone on the pool."""
    demand, capacity = instance.demand_by_server[:, 0], instance.capacity[0]
    with np.errstate(divide="ignore"):
        alone = np.where(demand > 0, capacity / demand, np.inf).min(axis=1)
    return float(alone.sum())


def _countable(instance: Instance, units: int, rules: Sequence[str]) -> None:
    """Refuse tasks that never fit, and ties of BMF that would hang on the last bit of a float."""
    large = (instance.demand_by_server[:, 0] > instance.capacity[0] * units).any(axis=1)
    faults = [
        Fault(f"users.{name}", "a task larger than the pool", "one that fits")
        for name, bad in zip(instance.users, large, strict=True)
        if bad
    ]
    exact = scaled(instance.replace(capacity=instance.capacity * units), 1.0)[3]
    if "bmf" in rules and not exact:
        found = "demands and capacities without a common unit"
        faults.append(Fault("demand", found, "decimals such as 0.1: bmf compares what is left"))
    if faults:
        raise BadInput(faults)
