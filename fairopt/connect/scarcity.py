"""What a resource of a shape is worth in an answer: the price that the plan shows."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.connect.status import Block
from fairopt.instance import Floats, Instance


def prices(answer: Allocation) -> Floats:
    """(I, R) price of one more unit; of max-min the highest of its levels or rounds."""
    if answer.prices is not None:
        return answer.prices
    if answer.level_prices is not None and len(answer.level_prices):
        highest: Floats = answer.level_prices.max(axis=0)
        return highest
    found = np.zeros(answer.instance.capacity.shape)
    for one in answer.rounds or ():
        found = np.maximum(found, one["prices"].get("prices", 0.0))
    return found


def use(answer: Allocation, plain: Instance) -> Floats:
    """(I, R) part of the capacity in use; 0 where there is none. `plain` has no groups or modes."""
    used: Floats = answer.tasks.T @ plain.demand
    return np.divide(used, plain.pool, out=np.zeros_like(used), where=plain.pool > 0)


def blocks(answer: Allocation, plain: Instance) -> dict[str, list[Block]]:
    """What stops each user that is not at its limit: full resources where it may run."""
    full, price = use(answer, plain) >= 1 - 1e-6, prices(answer)
    totals = answer.totals
    found: dict[str, list[Block]] = {}
    for n in np.flatnonzero(totals < plain.limit * (1 - 1e-6)):
        asks = plain.demand[n] > 0
        stops = full & asks & plain.eligible[n][:, None]
        found[plain.users[n]] = [
            Block(plain.servers[i], plain.resources[r], float(price[i, r]))
            for i, r in np.argwhere(stops)
        ]
    return found
