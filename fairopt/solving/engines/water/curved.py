"""Weighted DRF of a pool whose demand is not linear: one level, found by halving (Corollary 1)."""

from __future__ import annotations

import numpy as np

from fairopt.errors import Infeasible
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.point import Answer


def solve(instance: Instance) -> Answer:
    """All shares max_r D[n,r](x_n) / c_r = phi_n A rise together until a resource is full.

    Those who demand it freeze, the others go on; a user at its limit is frozen as well.

    Raises
    ------
    Infeasible : a user's set-up alone is more than its fair share, so that it gets no task.
    """
    tasks = np.zeros(len(instance.users))
    rising = np.ones(len(tasks), dtype=bool)
    level, levels = 0.0, []
    while rising.any():
        level, high = _highest(instance, tasks, rising, level)
        tasks = _at(instance, tasks, rising, level)
        levels.append(level)
        full = _over(instance, _at(instance, tasks, rising, high))
        rising &= ~(instance.demand[:, full] > 0).any(axis=1) & (tasks < instance.limit)
        if not full.any():
            break
    nothing = np.flatnonzero(tasks == 0)
    if len(nothing):
        n = int(nothing[0])
        raise Infeasible(
            f"per-server-drf: the set-up (demand_fixed) of {instance.users[n]} alone is more than "
            f"its fair share, a part {instance.weight[n] * level:.6g} of the pool; "
            "whom to leave out is no question of fair shares"
        )
    return Answer(tasks[:, None], steps=({"engine": "one level by halving", "levels": levels},))


def _at(instance: Instance, frozen: Floats, rising: Bools, level: float) -> Floats:
    """(N,) tasks when the rising users are at `level`, as far as their limits let them."""
    room = instance.weight[:, None] * level * instance.pool[0]
    return np.where(rising, np.minimum(instance.within(room), instance.limit), frozen)


def _over(instance: Instance, tasks: Floats) -> Bools:
    """(R,) of which resources these tasks take more than there is."""
    over: Bools = instance.taken(tasks).sum(axis=0) > instance.pool[0]
    return over


def _highest(instance: Instance, frozen: Floats, rising: Bools, low: float) -> tuple[float, float]:
    """The highest level that fits and the next number, or one at which all are at their limits."""
    high = max(2.0 * low, 1.0 / float(instance.weight.sum()))
    while not _over(instance, _at(instance, frozen, rising, high)).any():
        if (_at(instance, frozen, rising, high) >= instance.limit)[rising].all():
            return high, high
        low, high = high, 2.0 * high
    while low < (middle := low + (high - low) / 2) < high:
        if _over(instance, _at(instance, frozen, rising, middle)).any():
            high = middle
        else:
            low = middle
    return low, high
