"""The driver of notions that are a sequence of programs: one level after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.engines import conic, units
from fairopt.engines.point import Point, Question
from fairopt.engines.polish import least_norm
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.program import usage_matrix

_HIGHS = conic.Settings(
    "highs", "HIGHS",
    (("threads", 1), ("primal_feasibility_tolerance", 1e-10),
 ("dual_feasibility_tolerance", 1e-10), ("small_matrix_value", 1e-12)),
)  # fmt: skip
SURE = 1e-7
"""a multiplier above this part of the largest freezes its user"""


@dataclass(frozen=True)
class Levels:
    """A lexicographic answer: tasks (N, I), prices of each level (K, I, R), and what happened."""

    tasks: Floats
    level_prices: Floats
    steps: tuple[dict[str, Any], ...]


def max_min(
    instance: Instance,
    notion: Any,
    score: Floats,
    progress: Callable[[int, int], None] | None = None,
) -> Levels:
    """All levels: a program each, frozen users kept exactly where they were, with no slack.

    A slack would be amplified by the ratio of the money of the frozen to that of the new level.
    `progress(frozen, users)` is called after each level.

    Raises
    ------
    SolverFailure : a program gave no answer, or nobody could be frozen.
    """
    users = instance.shape[0]
    question = Question.of(instance, score, 1.0, False)
    alone = units.alone(question)
    free, level = np.ones(users, bool), np.zeros(users)
    all_prices: list[Floats] = []
    steps: list[dict[str, Any]] = []
    point = None
    n, i = instance.pairs
    while free.any():
        # free users in units of about what their weight will give them, so that slopes are near 1
        ratio = np.where(free, instance.weight / alone, 0.0)
        wide = alone * np.maximum(ratio / ratio.max(), 1e-6)
        unit = np.where(free, wide, np.maximum(level, 1e-12 * alone))
        program = notion.step(instance, score, unit, free, level)
        point, status = conic.run(program, instance, _HIGHS)
        worth = np.abs(np.asarray(program.definition[0].dual_value, dtype=np.float64).ravel())
        slope = np.where(free, instance.weight / unit, 0.0)
        part = np.where(free, worth * slope, 0.0)
        if not part.max() > 0:
            raise SolverFailure(f"level {len(steps)}: {status}, and nobody stopped it")
        stopped = free & (part > SURE * part.max())
        share = np.bincount(n, point.x * score[n, i], users)
        t = float((share / instance.weight)[stopped].min())
        level = np.where(stopped, instance.weight * t, level)
        prices, limits = point.prices(instance)
        money = float((prices * instance.pool).sum())
        all_prices.append(prices / money if money > 0 else prices)
        free &= ~stopped
        rows = np.argwhere((prices > 0) & (instance.pool > 0))
        steps.append({
            "step": "level", "status": status, "level": t,
            "users": [instance.users[k] for k in np.flatnonzero(stopped)],
            "full": [[instance.servers[a], instance.resources[b]] for a, b in rows],
            "at limit": [instance.users[k] for k in np.flatnonzero((limits > 0) & stopped)],
        })  # fmt: skip
        if progress is not None:
            progress(users - int(free.sum()), users)
    assert point is not None
    found = _polished(instance, score, point, all_prices, level)
    return Levels(found, np.array(all_prices), tuple(steps))


def _polished(
    instance: Instance, score: Floats, last: Point, prices: list[Floats], level: Floats
) -> Floats:
    """Tasks (N, I) that fill every priced row exactly and give levels that are exactly equal.

    A least-norm correction of the last program's tasks, relative to each, with the value of every
    level free: the programs' own tolerances disappear.
    """
    n, i = instance.pairs
    y = last.x
    value = level / instance.weight
    order = np.argsort(value, kind="stable")
    new = np.concatenate([[True], np.diff(value[order]) > 1e-9 * value[order][1:]])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    usage, rows = usage_matrix(instance)
    priced = np.max(prices, axis=0)[rows] > 0
    best = Point(last.x, np.zeros(instance.pool.shape), np.zeros(instance.shape[0])).tasks(instance)
    for _ in range(3):
        moved = _correct(instance, score, y, group, usage[priced], value)
        if moved is None:
            return best
        y = moved
        value = np.bincount(n, y * score[n, i], instance.shape[0]) / instance.weight
    return Point(y, np.zeros(instance.pool.shape), np.zeros(instance.shape[0])).tasks(instance)


def _correct(
    instance: Instance, score: Floats, y: Floats, group: Any, usage: Any, value: Floats
) -> Floats | None:
    from scipy.sparse import coo_array, csc_array, hstack, vstack

    n, i = instance.pairs
    users, groups = instance.shape[0], int(group.max()) + 1
    held = np.flatnonzero(y > 0)
    share = score[n[held], i[held]] * y[held] / (value * instance.weight)[n[held]]
    # relative: log level of the user's share moves as its group's does
    mine = coo_array((share, (n[held], np.arange(len(held)))), shape=(users, len(held)))
    theirs = coo_array((-np.ones(users), (np.arange(users), group)), shape=(users, groups))
    full = usage[:, held].multiply(y[held][None, :])
    mean = np.array([value[group == k].mean() for k in range(groups)])
    right = np.concatenate([
        mean[group] / value - np.bincount(n[held], share, users), 1.0 - full.sum(axis=1),
    ])  # fmt: skip
    zero = coo_array((full.shape[0], groups))
    matrix = vstack([hstack([mine, theirs]), hstack([full, zero])])
    step = least_norm(csc_array(matrix), right)
    if step is None:
        return None
    moved = y.copy()
    moved[held] = np.maximum(y[held] * (1 + step[: len(held)]), 0.0)
    return moved
