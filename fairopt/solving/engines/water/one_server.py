"""Water filling of one server: all levels rise together until resources run out. By sorting."""

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
    float : inf if all users at their caps use at most the room.
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
    # the cumulative sums above only find the interval, since adding and removing rates cancels
    # digits; inside the interval the sums are computed again
    for low in points[k::-1]:
        inside = (start <= low) & (cap > low)
        used = rate @ (np.clip(low, start, cap) - start)
        if used <= room and inside.any():
            used = _used(rate, np.clip(low, start, cap) - start)
            return float(low + (room - used) / rate[inside].sum())
    return float(points[0])


def fill(rate: Floats, start: Floats, cap: Floats) -> Floats:
    """Levels (K,) after water filling one server whose every capacity is 1.

    All users rise together. When a resource is exhausted, the users that demand it stop and the
    others go on; a user also stops at its cap.

    Parameters
    ----------
    rate : (K, R) >= 0, fraction of each resource used per unit of level; each row has one > 0.
    start : (K,), level at which the user holds nothing here.
    cap : (K,) >= start, the level at which the user has reached its limit; may be inf.
    """
    return fill_in_turn(rate, start, cap)[0]


def fill_in_turn(rate: Floats, start: Floats, cap: Floats) -> tuple[Floats, list[tuple[int, Ints]]]:
    """As `fill`, with the resources in the order in which they were exhausted, each with the
    positions of the users that stopped with it, or since the one before at their caps."""
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
        if reach[full] == np.inf:  # all users left reach their caps
            level[active] = cap[active]
            break
        water = max(water, float(reach[full]))
        stop = active & needs[:, full]
        level[stop] = np.clip(water, start[stop], cap[stop])
        turns.append((full, np.flatnonzero(stop)))
        active &= ~stop
    return level, turns


def _used(rate: Floats, height: Floats) -> float:
    """The use of the resource, rounded once: a plain sum would lose the use of a light user."""
    return math.fsum((rate * height).tolist())
