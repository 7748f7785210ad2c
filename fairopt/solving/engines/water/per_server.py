"""DRF on every server by itself, and the hand-out of what it leaves (docs/maths/pools.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions.slices import named
from fairopt.solving.engines.point import Answer
from fairopt.solving.engines.water.one_server import fill, level_of


def per_server_drf(instance: Instance) -> Floats:
    """Tasks (N, I): all servers are filled at one speed, x[n,i] = phi_n gamma[n,i] t at time t.

    When a resource is exhausted, its users stop on that server and the others go on. A user whose
    total reaches its limit stops on all servers. Without limits the servers are independent.
    """
    part = instance.part_of_row()
    size = np.where(instance.eligible, instance.weight[:, None] * instance.alone, 1.0)
    end = np.full(instance.shape[:2], np.inf)  # level at which its limit stops the user
    for _ in range(len(instance.users) + 1):
        level = np.zeros(instance.shape[:2])
        for i in range(len(instance.servers)):
            n = np.flatnonzero(instance.eligible[:, i])
            if len(n):
                rate = part[n, i] * size[n, i, None]
                level[n, i] = fill(rate, np.zeros(len(n)), end[n, i])
        total = (size * level).sum(axis=1)
        over = np.flatnonzero((total > instance.limit * (1 + 1e-14)) & np.isinf(end[:, 0]))
        if not len(over):
            return np.where(instance.eligible, size * level, 0.0)
        # of the users beyond their limits, fix the one that reaches its limit first: what it leaves
        # to others cannot make it reach the limit later
        stop = [
            level_of(size[n], np.zeros(len(size[n])), level[n], float(instance.limit[n]))
            for n in over
        ]
        first = int(np.argmin(stop))
        end[over[first]] = stop[first]
    return np.where(instance.eligible, size * level, 0.0)


def solve(instance: Instance, notion: Any) -> Answer:
    """Engine of `per-server-drf` and `drf-hug`, whose second phase is stored as a step."""
    tasks = per_server_drf(instance)
    steps: tuple[dict[str, Any], ...] = ({"engine": "per-server water filling"},)
    if notion.way(instance).rest is not None:
        resources = named(instance, handed_out(instance, tasks))
        steps = (*steps, {"engine": "hand-out", "resources": resources})
    return Answer(tasks, steps=steps)


def handed_out(instance: Instance, tasks: Floats) -> Floats:
    """Resource shares (N, I, R) of the second phase, in which what is left is handed out (HUG).

    Each idle resource of a server goes to the users eligible there, the lowest share / phi first;
    no user's share of it rises above its dominant share on the server.
    """
    share = instance.part_of_row() * tasks[:, :, None]
    top = share.max(axis=2)
    for i in range(len(instance.servers)):
        n = np.flatnonzero(instance.eligible[:, i])
        for r in range(instance.shape[2]):
            left = 1.0 - float(share[:, i, r].sum())
            if len(n) == 0 or left <= 1e-12 or instance.pool[i, r] == 0:
                continue
            weight = instance.weight[n]
            start, cap = share[n, i, r] / weight, top[n, i] / weight
            level = level_of(weight, start, cap, left)
            share[n, i, r] = weight * np.clip(level, start, cap)
    return share
