"""Allocations that divide each resource of each server by itself, in any mix."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance, Ints


def each_resource(
    instance: Instance, most: Floats, capacity: Floats | None = None
) -> tuple[Instance, tuple[Ints, Ints, Ints]]:
    """A pool whose users are the triples (n, i, r) with most > 0, and those triples.

    Its one server has a resource for every (i, r), of which a task of the triple takes 1.

    Parameters
    ----------
    most : (N, I, R) limit of each triple. capacity : (I, R), default 1 each.
    """
    n, i, r = np.nonzero(most * (instance.pool > 0))
    resources = instance.shape[2]
    row = i * resources + r
    demand = np.zeros((len(n), instance.pool.size))
    demand[np.arange(len(n)), row] = 1.0
    room = np.ones(instance.pool.size) if capacity is None else capacity.ravel()
    pool = Instance(demand, room[None, :], weight=instance.weight[n], limit=most[n, i, r])
    return pool, (n, i, r)


def named(instance: Instance, part: Floats) -> dict[str, Any]:
    """Parts (N, I, R) of the rows as {user: {server: {resource: amount}}}, zeros left out."""
    amount = part * instance.pool[None]
    return {
        user: {
            server: {
                name: float(amount[n, i, r])
                for r, name in enumerate(instance.resources)
                if amount[n, i, r] > 0
            }
            for i, server in enumerate(instance.servers)
            if instance.eligible[n, i]
        }
        for n, user in enumerate(instance.users)
    }
