"""Whether a polish may still decide which pairs of an answer hold tasks."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.blocked import task_cost

UNDECIDED = 1e-4
"""part of a share, and of a price above the cheapest, within which a pair may be used or not"""
DECIDED = 1e-6
"""a part that is so much smaller than the other is 0 in the end, and the pair decided"""


def undecided(alloc: Allocation, error: float) -> bool:
    """Whether a pair is nearly unused and nearly as cheap as the user's cheapest, neither of which
    is far nearer than the other.

    There the error of an interior answer is as large as the square root of its gap, so of a more
    exact answer fewer pairs are near.

    Parameters
    ----------
    alloc : an answer with prices. error : the larger of its gap and residual.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    cost = task_cost(inst, alloc.prices, slice(None), alloc.limit_prices)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = cost / alloc.score
    cheapest = np.where(inst.eligible, cost, np.inf).min(axis=1, keepdims=True)
    share = alloc.tasks * alloc.score
    part = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    width = min(UNDECIDED, 100 * error**0.5)
    n, i = np.nonzero(inst.eligible & (cost < cheapest * (1 + width)) & (part < width))
    part, dearer = part[n, i], cost[n, i] / cheapest[n, 0] - 1
    return bool(((part >= DECIDED * dearer) & (dearer >= DECIDED * part)).any())
