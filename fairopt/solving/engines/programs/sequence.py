"""A program a level, by a general solver: the lowest heights as high as can be, then frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance
from fairopt.program import Heights, Program
from fairopt.solving.engines import units
from fairopt.solving.engines.point import Point, Question
from fairopt.solving.engines.programs import conic

KEPT = 1e-9
"""part of their levels that frozen heights give where a program fails without; settled after"""
SURE = 1e-7
"""a multiplier above this part of the largest freezes its height"""


@dataclass(frozen=True)
class Sequence:
    """Tasks (N, I), levels (K,) of the heights, prices of each (L, I, R), and what happened."""

    tasks: Floats
    level: Floats
    level_prices: Floats
    steps: tuple[dict[str, Any], ...]


def programs(
    instance: Instance,
    heights: Callable[[Instance, Floats, Floats], Heights],
    score: Floats,
    settings: conic.Settings = conic.EXACT,
    progress: Callable[[int, int], None] | None = None,
) -> Sequence:
    """All levels: a program each, frozen heights kept exactly where they were, with no slack.

    A slack would be amplified by the ratio of the money of the frozen to that of the new level.

    Parameters
    ----------
    heights : (instance, score, unit (N,)) -> the K heights that rise: users, or pairs.
    progress : called with (frozen, K) after each level.

    Raises
    ------
    SolverFailure : a program gave no answer, or nothing could be frozen.
    UsageError : the solver cannot state the program.
    """
    alone = units.alone(Question.of(instance, score, 1.0, False))
    size = len(heights(instance, score, alone).weight)
    # users rise, or all of their pairs
    owner = np.arange(len(alone)) if size == len(alone) else instance.pairs[0]
    free, level = np.ones(size, bool), np.zeros(size)
    all_prices: list[Floats] = []
    steps: list[dict[str, Any]] = []
    point = None
    while free.any():
        rising = heights(instance, score, _unit(instance, alone, free, level))
        program, point, status = _solved(instance, rising, free, level, settings)
        multiplier = np.abs(np.asarray(program.definition[0].dual_value, dtype=np.float64).ravel())
        part = np.where(free, multiplier * rising.weight, 0.0)
        if not part.max() > 0:
            raise SolverFailure(f"level {len(steps)}: {status}, and nobody stopped it")
        prices, limits = point.prices(instance)
        stopped = free & (part > SURE * part.max())
        # not with lower bounds: who cannot rise may stand above the level; nor by interior methods,
        # which price what is frozen as well, and whose multipliers tell everybody who is stopped
        if settings.solver == "HIGHS" and not rising.definition:
            stopped |= free & _blocked(instance, prices, size)
        t = float((np.asarray(rising.of.value) / rising.weight)[stopped].min())
        level = np.where(stopped, t, level)
        money = float((prices * instance.pool).sum())
        all_prices.append(prices / money if money > 0 else prices)
        free &= ~stopped
        rows = np.argwhere((prices > 0) & (instance.pool > 0))
        who = np.unique(owner[stopped])
        steps.append({
            "step": "level", "status": status, "solver": settings.label, "level": t,
            "users": [instance.users[k] for k in who],
            "full": [[instance.servers[a], instance.resources[b]] for a, b in rows],
            "at limit": [instance.users[k] for k in who if limits[k] > 0],
        })  # fmt: skip
        if progress is not None:
            progress(size - int(free.sum()), size)
    assert point is not None
    last = Point(point.x, np.zeros(instance.pool.shape), np.zeros(len(alone))).tasks(instance)
    return Sequence(last, level, np.array(all_prices), tuple(steps))


def _solved(
    instance: Instance, rising: Heights, free: Bools, level: Floats, settings: conic.Settings
) -> tuple[Program, Point, str]:
    program = rising.next_level(free, level)
    try:
        return program, *conic.run(program, instance, settings)
    except SolverFailure:
        if not level.any():
            raise
        # kept exactly, frozen heights may leave no room for the solver's own rounding
        program = rising.next_level(free, level * (1 - KEPT))
        return program, *conic.run(program, instance, settings)


def _unit(instance: Instance, alone: Floats, free: Bools, level: Floats) -> Floats:
    """(N,) free users in units of about what their weight will give them, so that slopes are near
    1, frozen ones in what they have; ones where it is not users that rise."""
    if len(free) != len(alone):
        return np.ones(len(alone))
    ratio = np.where(free, instance.weight / alone, 0.0)
    wide = alone * np.maximum(ratio / ratio.max(), 1e-6)
    return np.where(free, wide, np.maximum(instance.weight * level, 1e-12 * alone))


def _blocked(instance: Instance, prices: Floats, size: int) -> Bools:
    """(K,) who can run nothing that is free, however little of all money is its own."""
    n, i = instance.pairs
    money = prices * instance.pool
    dear = money > SURE * float(money.max())
    pays = np.asarray(((instance.pair_demand > 0) & dear[i]).any(axis=1))
    if size != len(instance.users):
        return pays
    free: Bools = np.bincount(n[~pays], minlength=size) == 0
    return free
