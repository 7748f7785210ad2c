"""Bottleneck max fairness of one pool by R water levels (Bonald and Roberts 2015; bonald2015).

At a solution user i has phi_i = min(limit_i, w_i min_j theta_j / a_ij) tasks, for R levels theta
that are infinite for resources that are not full: R unknowns for any number of users. Gauss-Seidel
over the resources, where each level is found exactly by one sort. For R >= 3 convergence is not
proved: the number of sweeps is bounded and the answer is judged by the definition.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Floats
from fairopt.notions import bottlenecks
from fairopt.notions.bottleneck import one_pool
from fairopt.solving.engines.point import Answer
from fairopt.solving.engines.water.one_server import level_of

MAPS = 50_000
"""largest number of maps that are tried"""
Point = tuple[Floats, tuple[int, ...]]


def at_map(
    part: Floats, weight: Floats, limit: Floats, map_: tuple[int, ...], gain: Floats
) -> Floats | None:
    """Tasks (N,) of largest gain that are fair with the bottlenecks `map_`; None if there are none.

    With the map fixed, the levels theta of the mapped resources solve a linear program of at most R
    variables: phi_i = w_i theta_map(i) / a_i,map(i), mapped resources are full, and no share is
    above theta.
    """
    from scipy.optimize import linprog

    users, resources = part.shape
    j = np.array(map_)
    capped = j == resources
    mapped = np.unique(j[~capped])
    column = {int(r): k for k, r in enumerate(mapped)}
    tasks = np.zeros((users, len(mapped) + 1))  # tasks = tasks[:, :-1] @ theta + tasks[:, -1]
    tasks[capped, -1] = limit[capped]
    for n in np.flatnonzero(~capped):
        tasks[n, column[int(j[n])]] = weight[n] / part[n, j[n]]
    use = part.T @ tasks
    share = (part / weight[:, None])[:, :, None] * tasks[:, None, :]
    if not len(mapped):
        return limit.copy() if (use[:, -1] <= 1 + 1e-12).all() else None
    most = [(share[:, r], column[int(r)]) for r in mapped]
    rows = [use[:, :-1]]
    right = [1.0 - use[:, -1]]
    for rise, k in most:
        rows.append(rise[:, :-1] - np.eye(len(mapped))[k])
        right.append(-rise[:, -1])
    bounded = np.isfinite(limit)
    rows.append(tasks[bounded, :-1] / limit[bounded, None])
    right.append(1.0 - tasks[bounded, -1] / limit[bounded])
    # mapped users meet their inequalities with equality, so these get a slack of 1e-10; the answer
    # is judged afterwards
    result = linprog(
        -(gain @ tasks[:, :-1]),
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(right) + 1e-10,
        A_eq=use[mapped, :-1],
        b_eq=1.0 - use[mapped, -1],
        bounds=(0, None),
        method="highs",
    )
    if result.status != 0 or result.x is None:
        return None
    return np.asarray(tasks[:, :-1] @ result.x + tasks[:, -1])


def choices(part: Floats, limit: Floats) -> list[list[int]]:
    """For each user the bottlenecks it can have: resources that it demands, and R for its limit."""
    resources = part.shape[1]
    return [
        [*np.flatnonzero(part[n] > 0).tolist(), *([resources] if np.isfinite(limit[n]) else [])]
        for n in range(len(part))
    ]


def enumerate_all(part: Floats, weight: Floats, limit: Floats) -> list[Point]:
    """The answers of all maps: distinct tasks, each with one map that gives them.

    If a map has a whole segment of answers, both ends (least and most tasks) are returned.

    Raises
    ------
    UsageError : more maps than `MAPS`.
    """
    sets = choices(part, limit)
    number = int(np.prod([len(s) for s in sets], dtype=object))
    if number > MAPS:
        raise UsageError(f"bmf: found {number} maps of users to bottlenecks; wanted at most {MAPS}")
    found: list[Point] = []
    ones = np.ones(len(part))
    for map_ in product(*sets):
        clock.tick()
        for sign in (1.0, -1.0):
            tasks = at_map(part, weight, limit, map_, sign * ones)
            if tasks is None:
                break
            if all(np.abs(tasks - t).max() > 1e-8 * np.abs(t).max() for t, _ in found):
                found.append((tasks, map_))
    return found


SWEEPS = 10_000
STILL, AROUND = 1e-14, 1e-12
"""changes of a level that are rounding, and those that are if levels come back after two sweeps"""


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
    earlier = theta
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
        still = AROUND if np.array_equal(theta, earlier) else STILL
        earlier = before
        if (finite == np.isfinite(before)).all() and (
            np.abs(theta[finite] - before[finite]) <= still * theta[finite]
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
    part = one_pool(instance)
    if notion.method_for(instance) == "levels":
        tasks, theta, sweeps = water_levels(part, instance.weight, instance.limit)
        levels = {r: float(t) for r, t in zip(instance.resources, theta, strict=True) if t < np.inf}
        remark = "unique" if instance.shape[2] <= 2 else "others may exist; an objective chooses"
        step = {"engine": "water-levels", "sweeps": sweeps, "levels": levels, "remark": remark}
        return Answer(tasks[:, None], steps=(step,))
    gain = bottlenecks.gain(instance, notion.objective or "most-tasks")
    points = enumerate_all(part, instance.weight, instance.limit)
    tasks, map_ = max(points, key=lambda point: float(gain @ point[0]))
    named = {
        user: instance.resources[j] if j < len(instance.resources) else "its limit"
        for user, j in zip(instance.users, map_, strict=True)
    }
    step = {"engine": "enumeration", "found": len(points), "bottleneck": named}
    return Answer(tasks[:, None], steps=(step,))
