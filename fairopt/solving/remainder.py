"""Users whose money is lost beside that of others: asked once more, about what the others leave.

At alpha = 50 a user of ten times the share has 1e-49 of the money: no program and no path on all
users sees it. What the heavier users hold is taken off, the rest is asked alone, and both are put
together, each with its own prices. Only the judge says whether that was right.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.prices import Duality, own_scale
from fairopt.errors import BadInput
from fairopt.instance import Floats, Instance, Ints

APART = 3.0
"""decades of money between users that are told apart by it"""
FULL = 1e-6
"""part of a resource that may be left of one that is full"""


def log_money(alloc: Allocation) -> Floats:
    """(N,) log of the marginal worth of each user's share, times the share."""
    dual = Duality.of(alloc)
    with np.errstate(divide="ignore"):
        return np.asarray(
            dual.log_w + (1 - dual.alpha) * np.log(np.maximum(dual.share, dual.floor))
        )


def lighter(alloc: Allocation, bad: Ints) -> Ints:
    """Users of no more money than the richest of the `bad`, and all that are near it; none where
    that is everybody."""
    money = log_money(alloc)
    order = np.argsort(-money)
    apart = np.diff(money[order]) < -APART * np.log(10)
    first = int(np.min(np.flatnonzero(np.isin(order, bad))))
    cuts = np.flatnonzero(apart[:first])
    return np.sort(order[cuts[-1] + 1 :]) if len(cuts) else order[:0]


def left_for(alloc: Allocation, users: Ints) -> Instance | None:
    """What the others leave, for these users alone; None where somebody is left nothing."""
    inst = alloc.instance
    others = np.ones(len(inst.users), bool)
    others[users] = False
    left = inst.pool - inst.used(np.where(others[:, None], alloc.held, 0.0))
    left[left <= FULL * inst.pool] = 0.0
    try:
        return inst.select(users, np.arange(len(inst.servers))).replace(
            capacity=left, count=np.ones(len(inst.servers), dtype=np.int64)
        )
    except BadInput:
        return None


def joined(alloc: Allocation, users: Ints, found: Allocation) -> tuple[Floats, Floats, Floats]:
    """Tasks, prices and limit prices of both: heavy prices where heavy users fill a resource."""
    inst = alloc.instance
    assert alloc.prices is not None and alloc.limit_prices is not None
    assert found.prices is not None and found.limit_prices is not None
    tasks = alloc.tasks.copy()
    tasks[users] = found.tasks
    heavy = np.ones(len(inst.users), bool)
    heavy[users] = False
    # both in the unit of the objective; then the dearest is 1
    scales = own_scale(Duality.of(alloc)), own_scale(Duality.of(found))
    first, second = np.exp(np.array(scales) - max(scales))
    least = float(np.exp((log_money(alloc)[heavy] - max(scales)).min()))
    p, mu = alloc.prices * first, np.where(heavy, alloc.limit_prices * first, 0.0)
    full = inst.used(tasks) >= inst.pool * (1 - FULL)
    p = np.where(full & (p * inst.pool > 10.0**-APART * least), p, 0.0)
    p = p + found.prices * second
    mu[users] = found.limit_prices * second
    return tasks, p, mu
