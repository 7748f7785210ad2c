"""What a replay is measured by: finish-time fairness of jobs, and what of hindsight is reached."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.overtime.horizon import Horizon
from fairopt.overtime.waiting import Ran, WaitingJobs


def measured(
    jobs: WaitingJobs | None,
    ran: Ran | None,
    instance: Instance,
    machines: float | None,
    static: bool,
    said: list[str],
) -> tuple[Mapping[str, float] | None, Mapping[str, Mapping[str, float]]]:
    """Finish-time fairness of the jobs that ended, and of each user's."""
    if jobs is None:
        return None, {}
    end = jobs.end if ran is None else ran.end
    assert end is not None
    there = np.flatnonzero(np.isfinite(end))
    if len(there) < len(end):
        said.append(f"{len(end) - len(there):,} of {len(end):,} jobs never ended")
    if not len(there):
        return None, {}
    times = np.stack([jobs.arrival[there], end[there], jobs.alone[there]], axis=1)
    rho, who = rho_of(times, _machines(machines, instance), static), jobs.user[there]
    of = {instance.users[n]: summary(rho[who == n]) for n in np.unique(who).tolist() if n >= 0}
    return summary(rho), of


def _machines(given: float | None, instance: Instance) -> float:
    found = float(instance.count.sum()) if given is None else float(given)
    if not 0 < found < math.inf:
        raise UsageError(f"machines: found {found:g}; wanted a number > 0")
    return found


# Finish-time fairness of jobs: how much longer a job took than with its part of the machines.
#
# .. math:: \rho = \frac{end - arrival}{alone \cdot \max(1, \text{mean of } N / M)}
#
# over the job's life, N jobs present and M machines, `alone` its time with all it asks for. It is a
# measure, no objective: a schedule may be fair by it and leave machines idle.


ABOVE = 1.05
"""a job that took longer than this times its part is told"""


def finish_time_fairness(
    arrival: ArrayLike,
    end: ArrayLike,
    alone: ArrayLike,
    machines: float,
    contention: float | None = None,
) -> Floats:
    """(J,) rho of each job.

    Parameters
    ----------
    arrival, end : (J,) times. alone : (J,) > 0, time with all that the job asks for.
    machines : M. contention : N/M of the whole trace instead of the mean over each life.

    Examples
    --------
    >>> finish_time_fairness([0, 0], [2, 4], [1, 2], 1).tolist()
    [1.0, 1.3333333333333333]
    """
    first, last, own = (np.asarray(x, dtype=np.float64) for x in (arrival, end, alone))
    if contention is not None:
        return np.asarray((last - first) / (own * max(1.0, contention)))
    # present jobs as a step function of time, and its integral
    times = np.unique(np.concatenate([first, last]))
    there = np.zeros(len(times))
    np.add.at(there, np.searchsorted(times, first), 1.0)
    np.subtract.at(there, np.searchsorted(times, last), 1.0)
    count = np.cumsum(there)
    area = np.concatenate([[0.0], np.cumsum(count[:-1] * np.diff(times))])
    life = last - first
    whole = area[np.searchsorted(times, last)] - area[np.searchsorted(times, first)]
    mean = np.divide(whole, life, out=np.ones_like(life), where=life > 0) / machines
    return np.asarray(life / (own * np.maximum(1.0, mean)))


def rho_of(times: Floats, machines: float, static: bool = False) -> Floats:
    """(J,) rho of jobs that ended.

    Parameters
    ----------
    times : (J, 3) arrival, end, time alone. machines : M. static : N/M of the whole trace, in which
        N is the mean number of jobs present, instead of over each life.
    """
    first, last, own = np.asarray(times, dtype=np.float64).T
    contention = None
    if static:
        span = float(last.max() - first.min())
        contention = float((last - first).sum()) / (span * machines) if span > 0 else 1.0
    return finish_time_fairness(first, last, own, machines, contention)


def summary(rho: ArrayLike) -> dict[str, float]:
    """How many, worst, percentiles and the part above 1.05."""
    given = np.asarray(rho, dtype=np.float64)
    marks = {f"p{p}": float(np.percentile(given, p)) for p in (50, 90, 99)}
    above = float((given > ABOVE).mean())
    return {"jobs": float(len(given)), "worst": float(given.max()), **marks, "above": above}


# How much of hindsight a plan reaches, if it keeps to what there is.


OVER = 1e-6
"""part by which a plan may use more than there is"""


def ratio_of(whole: Horizon, plan: Floats, answer: Allocation) -> tuple[float | None, float]:
    """The ratio (see `Horizon.ratio`), None of a plan that uses too much; and the largest use of
    what there is.

    Parameters
    ----------
    plan : (T, K, I) tasks at once of each way of `whole.base.ways`; where one may not run they
        count as use, and for nothing. answer : of the horizon, judged.
    """
    base, ways = whole.base, whole.base.ways
    use = ways.used(plan)
    over = float((use / np.where(base.pool > 0, base.pool, np.inf)).max(initial=0.0))
    if over > 1 + OVER:
        return None, over
    return whole.ratio(np.where(ways.eligible, plan, 0.0), answer), over


__all__ = ["measured"]
