"""Finish-time fairness of the jobs of a replay, of all and of each user's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Instance
from fairopt.overtime.finish import rho_of, summary
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


__all__ = ["measured"]
