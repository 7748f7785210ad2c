"""Bottleneck max fairness of one pool by R water levels (Bonald and Roberts 2015; bonald2015).

At a solution user i has phi_i = min(limit_i, w_i min_j theta_j / a_ij) tasks, for R levels theta
that are infinite for resources that are not full: R unknowns for any number of users. Gauss-Seidel
over the resources, where each level is found exactly by one sort. For R >= 3 convergence is not
proved: the number of sweeps is bounded and the answer is judged by the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats
from fairopt.notions import bottlenecks
from fairopt.notions.bottleneck import one_pool
from fairopt.solving.engines.answer import Answer
from fairopt.solving.engines.water.one_server import level_of

SWEEPS = 10_000
STILL = 1e-14


def water_levels(
    part: Floats, weight: Floats, limit: Floats, sweeps: int = SWEEPS
) -> tuple[Floats, Floats, int]:
    """Tasks (N,), levels theta (R,) and the number of sweeps.

    Parameters
    ----------
    part : (N, R) >= 0, part of the pool's resource that one task uses.
    weight, limit : (N,) > 0.

    Raises
    ------
    SolverFailure : the levels still change after `sweeps` sweeps.
    """
    resources = part.shape[1]
    theta = np.full(resources, np.inf)
    with np.errstate(divide="ignore"):
        reach = np.where(part > 0, weight[:, None] / part, np.inf)  # tasks per unit of level
    users = [np.flatnonzero(part[:, j] > 0) for j in range(resources)]
    for done in range(1, sweeps + 1):
        before = theta.copy()
        for j in range(resources):
            if not len(users[j]):
                continue
            n = users[j]
            cap = _most(reach[n], theta, limit[n], skip=j) / reach[n, j]
            theta[j] = level_of(weight[n], np.zeros(len(n)), cap, 1.0)
        finite = np.isfinite(theta)
        if (finite == np.isfinite(before)).all() and (
            np.abs(theta[finite] - before[finite]) <= STILL * theta[finite]
        ).all():
            return _most(reach, theta, limit), theta, done
    raise SolverFailure(f"bmf: the water levels did not settle in {sweeps} sweeps")


def _most(reach: Floats, theta: Floats, limit: Floats, skip: int | None = None) -> Floats:
    """(N,) min(limit, min_j reach[n,j] theta_j), without resource `skip`."""
    most = limit.copy()
    for j in range(len(theta)):
        if j != skip and np.isfinite(theta[j]):
            np.minimum(most, reach[:, j] * theta[j], out=most)
    return most


def solve(instance: Any, notion: Any) -> Answer:
    """Engine of `bmf`, by its method: levels or enumeration."""
    from fairopt.solving.engines.water import bottleneck_maps as maps

    part = one_pool(instance)
    if notion.method_for(instance) == "levels":
        tasks, theta, sweeps = water_levels(part, instance.weight, instance.limit)
        levels = {r: float(t) for r, t in zip(instance.resources, theta, strict=True) if t < np.inf}
        remark = "unique" if instance.shape[2] <= 2 else "others may exist; an objective chooses"
        step = {"engine": "water-levels", "sweeps": sweeps, "levels": levels, "remark": remark}
        return Answer(tasks[:, None], steps=(step,))
    gain = bottlenecks.gain(instance, notion.objective or "most-tasks")
    points = maps.enumerate_all(part, instance.weight, instance.limit)
    tasks, map_ = max(points, key=lambda point: float(gain @ point[0]))
    named = {
        user: instance.resources[j] if j < len(instance.resources) else "its limit"
        for user, j in zip(instance.users, map_, strict=True)
    }
    step = {"engine": "enumeration", "found": len(points), "bottleneck": named}
    return Answer(tasks[:, None], steps=(step,))
