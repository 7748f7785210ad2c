r"""Finish-time fairness of jobs: how much longer a job took than with its part of the machines.

.. math:: \rho = \frac{end - arrival}{alone \cdot \max(1, \text{mean of } N / M)}

over the job's life, N jobs present and M machines, `alone` its time with all it asks for. It is a
measure, no objective: a schedule may be fair by it and leave machines idle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairopt.instance import Floats

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


__all__ = ["finish_time_fairness", "rho_of", "summary"]
