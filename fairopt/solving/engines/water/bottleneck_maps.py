"""Bottleneck max fairness by enumerating all maps of users to bottlenecks.

Bonald and Roberts 2015 (bonald2015), section 3.3: for every map, find the tasks phi that make each
mapped resource full and the shares of its mapped users equal and maximal there; keep the feasible
ones. A user may also be mapped to its limit.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from fairopt import clock
from fairopt.errors import UsageError
from fairopt.instance import Floats

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
