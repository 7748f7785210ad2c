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

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.dynamics import needed
from fairopt.dynamics.online_run import OnlineRun
from fairopt.dynamics.remembered import Remembered, is_ledger
from fairopt.dynamics.replications import Estimate, Progress, estimate, run
from fairopt.dynamics.runs import CLOSE, whole_numbers
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files.tables import tables_of
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

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> asked = {"frameworks": 2, "tasks_per_job": 2}
    >>> (found,) = dynamics.simulate_online(fo.Instance([[1], [2]], [[4]]), ['drf'], **asked)
    >>> sorted(found.use)
    ['r1']
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

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> asked = {"frameworks": 2, "tasks_per_job": 2}
    >>> (found,) = dynamics.simulate_online(fo.Instance([[1], [2]], [[4]]), ['drf'], **asked)
    >>> found.scheduler, found.offers
    ('drf', 'characterised')
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
    return OnlineRun(piece).to_the_end()


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
