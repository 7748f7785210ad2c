"""Water filling of one server: common levels rise until resources run out. Exact, by sorting."""

from __future__ import annotations

import math

import numpy as np

from fairopt.instance import Floats, Ints


def level_of(rate: Floats, start: Floats, cap: Floats, room: float) -> float:
    """The level L with sum_n rate_n (min(max(L, start_n), cap_n) - start_n) = room.

    Parameters
    ----------
    rate : (K,) > 0, use of the resource per unit of level.
    start, cap : (K,), start <= cap; cap may be inf.
    room : what is left of the resource.

    Returns
    -------
    float : inf when all users at their caps use no more than the room.
    """
    if room <= 0:
        return -np.inf
    finite = np.isfinite(cap)
    if finite.all() and rate @ (cap - start) <= room:
        return np.inf
    points = np.concatenate([start, cap[finite]])
    order = np.argsort(points, kind="stable")
    points = points[order]
    slope = np.cumsum(np.concatenate([rate, -rate[finite]])[order])
    use = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(points))])
    k = max(int(np.searchsorted(use, room, side="right")) - 1, 0)
    # the sums above only find the interval; inside it everything is summed afresh, without
    # the cancellation of added and removed rates
    for low in points[k::-1]:
        inside = (start <= low) & (cap > low)
        used = rate @ (np.clip(low, start, cap) - start)
        if used <= room and inside.any():
            used = _used(rate, np.clip(low, start, cap) - start)
            return float(low + (room - used) / rate[inside].sum())
    return float(points[0])


def fill(rate: Floats, start: Floats, cap: Floats) -> Floats:
    """Levels (K,) after water filling one server whose every capacity is 1.

    All users below the water rise with it; when a resource is exhausted the users that demand it
    freeze, the others go on; a user also stops at its cap.

    Parameters
    ----------
    rate : (K, R) >= 0, fraction of each resource used per unit of level; each row has one > 0.
    start : (K,), level at which the user holds nothing here.
    cap : (K,) >= start, the level at which the user has reached its limit; may be inf.
    """
    return fill_in_turn(rate, start, cap)[0]


def fill_in_turn(
    rate: Floats, start: Floats, cap: Floats
) -> tuple[Floats, list[tuple[int, Ints]]]:
    """As `fill`; and the resources in the order in which they were exhausted, each with the users
    (positions) that stopped there or, at their caps, before."""
    level = start.copy()
    active = np.ones(len(start), dtype=bool)
    needs = rate > 0
    turns: list[tuple[int, Ints]] = []
    water = -np.inf
    while active.any():
        reach = np.full(rate.shape[1], np.inf)
        for r in np.flatnonzero((needs & active[:, None]).any(axis=0)):
            rising = active & needs[:, r]
            room = 1.0 - _used(rate[~active, r], level[~active] - start[~active])
            reach[r] = level_of(rate[rising, r], start[rising], cap[rising], room)
        full = int(np.argmin(reach))
        if reach[full] == np.inf:  # everyone left reaches its cap
            level[active] = cap[active]
            break
        water = max(water, float(reach[full]))
        stop = active & needs[:, full]
        level[stop] = np.clip(water, start[stop], cap[stop])
        turns.append((full, np.flatnonzero(stop)))
        active &= ~stop
    return level, turns


def _used(rate: Floats, height: Floats) -> float:
    """What is used, rounded once: a light user's share of it is lost in the sum of the others."""
    return math.fsum((rate * height).tolist())
