"""Lexicographic max-min by general solvers: one program a level, after which levels are frozen.

What rises is called a height: the level of a user, or that of a user on one server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance
from fairopt.program import Heights, Program
from fairopt.solving.engines import units
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.programs import conic

KEPT = 1e-9
"""if a program fails, frozen heights may be lower by this part; corrected after the last program"""
SURE = 1e-7
"""a height is frozen if its multiplier is above this part of the largest"""


@dataclass(frozen=True)
class Sequence:
    """The result of a sequence.

    tasks : (N, I). level : (K,) of the heights. level_prices : (L, I, R), of each level.
    steps : what was done, as plain data.
    """

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
    """All levels, one program for each; frozen heights are kept exactly, without any slack.

    A slack of the frozen heights would be multiplied in the next level by the ratio of what the
    frozen ones use to what is left.

    Parameters
    ----------
    heights : (instance, score, unit (N,)) -> the K heights that rise, one a user or one a pair.
    progress : called with (frozen, K) after each level.

    Raises
    ------
    SolverFailure : a program gave no answer, or nothing could be frozen.
    UsageError : the solver cannot solve the program.
    """
    alone = units.alone(AlphaQuestion.of(instance, score, 1.0, False))
    size = len(heights(instance, score, alone).weight)
    # the user of each height: heights are users, or pairs
    owner = np.arange(len(alone)) if size == len(alone) else instance.pairs[0]
    free, level = np.ones(size, bool), np.zeros(size)
    all_prices: list[Floats] = []
    steps: list[dict[str, Any]] = []
    point = None
    while free.any():
        clock.tick()
        rising = heights(instance, score, _unit(instance, alone, free, level))
        program, point, status = _solved(instance, rising, free, level, settings)
        multiplier = np.abs(np.asarray(program.definition[0].dual_value, dtype=np.float64).ravel())
        part = np.where(free, multiplier * rising.weight, 0.0)
        if not part.max() > 0:
            raise SolverFailure(f"level {len(steps)}: {status}, and nobody stopped it")
        prices, limits = point.prices(instance)
        stopped = free & (part > SURE * part.max())
        # blocked heights are added only for the simplex method, whose multipliers may miss some.
        # Interior methods put prices on frozen heights too, and their multipliers name every
        # height that is stopped. With lower bounds a height that cannot rise may be above the level
        if settings.solver == "HIGHS" and not rising.definition:
            stopped |= free & _blocked(instance, prices, size)
        t = float((np.asarray(rising.of.value) / rising.weight)[stopped].min())
        level = np.where(stopped, t, level)
        money = float((prices * instance.pool).sum())
        all_prices.append(prices / money if money > 0 else prices)
        free &= ~stopped
        rows = np.argwhere((prices > 0) & (instance.pool > 0))
        who = np.unique(owner[stopped])
        steps.append(
            {
                "step": "level",
                "status": status,
                "solver": settings.label,
                "level": t,
                "users": [instance.users[k] for k in who],
                "full": [[instance.servers[a], instance.resources[b]] for a, b in rows],
                "at limit": [instance.users[k] for k in who if limits[k] > 0],
            }
        )
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
        # with frozen heights kept exactly there may be no room for the solver's own rounding
        program = rising.next_level(free, level * (1 - KEPT))
        return program, *conic.run(program, instance, settings)


def _unit(instance: Instance, alone: Floats, free: Bools, level: Floats) -> Floats:
    """(N,) units of the users' shares: for free users an estimate of what they will get, for frozen
    ones what they have, so that coefficients are near 1. All 1 if heights are not users."""
    if len(free) != len(alone):
        return np.ones(len(alone))
    ratio = np.where(free, instance.weight / alone, 0.0)
    wide = alone * np.maximum(ratio / ratio.max(), 1e-6)
    return np.where(free, wide, np.maximum(instance.weight * level, 1e-12 * alone))


def _blocked(instance: Instance, prices: Floats, size: int) -> Bools:
    """(K,) whether every task of the height has a price, however small that is: it cannot rise."""
    n, i = instance.pairs
    money = prices * instance.pool
    dear = money > SURE * float(money.max())
    pays = np.asarray(((instance.pair_demand > 0) & dear[i]).any(axis=1))
    if size != len(instance.users):
        return pays
    free: Bools = np.bincount(n[~pays], minlength=size) == 0
    return free
