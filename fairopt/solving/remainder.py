"""Solve again for users whose money is too small beside that of others, in what these leave.

At alpha = 50 a user with ten times the share of another has 1e-49 of its money (share times
marginal value), too little to count in any method that solves for all users. So the tasks of the
users of much money are fixed, the rest of the capacity is solved for the others alone, and both
answers are joined, each with its own prices. The judge decides whether the result is right.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.prices import Duality, own_scale, share_price
from fairopt.errors import BadInput
from fairopt.instance import Floats, Instance, Ints

APART = 3.0
"""decades of money by which two groups of users must differ to be separated"""
FULL = 1e-6
"""a resource is full if at most this part of it is left"""


def log_money(alloc: Allocation) -> Floats:
    """(N,) log of each user's money: its share times the marginal value of share."""
    dual = Duality.of(alloc)
    with np.errstate(divide="ignore"):
        return np.asarray(
            dual.log_w + (1 - dual.alpha) * np.log(np.maximum(dual.share, dual.floor))
        )


def lighter(alloc: Allocation, bad: Ints) -> Ints:
    """Users of at most about the money of the richest of `bad`; none if that is all users."""
    money = log_money(alloc)
    order = np.argsort(-money)
    apart = np.diff(money[order]) < -APART * np.log(10)
    first = int(np.min(np.flatnonzero(np.isin(order, bad))))
    cuts = np.flatnonzero(apart[:first])
    return np.sort(order[cuts[-1] + 1 :]) if len(cuts) else order[:0]


def beside(
    alloc: Allocation, heavy: Ints, found: Allocation, users: Ints
) -> tuple[Allocation, Ints]:
    """The heavy users' own answer with the tasks of light users added, and the users not added.

    A light user buys what it wants on its cheapest server, too little to change prices. Not added
    are users with a server where everything that they need has price 0.

    Parameters
    ----------
    alloc : an answer of all. found : that of the `heavy` alone. users : the light ones.
    """
    inst = alloc.instance
    scale = own_scale(Duality.of(found))
    tasks, mu = np.zeros_like(alloc.tasks), np.zeros(len(inst.users))
    assert found.limit_prices is not None
    tasks[heavy] = found.tasks
    # at the prices of resources alone: nobody's limit has a price yet
    dual = Duality.of(alloc.with_(tasks=tasks, prices=found.prices, limit_prices=mu))
    shift = _log_ratio(dual.alloc.prices, found.prices)
    mu = mu.copy()
    mu[heavy] = found.limit_prices
    left = []
    for n in users.tolist():
        price = share_price(dual.alloc, slice(n, n + 1))[0]
        i = int(np.argmin(price))
        if not 0 < price[i] < np.inf:
            left.append(n)
            continue
        log_price = np.log(price[i]) - shift + scale
        wanted = (dual.log_w[n] - log_price) / dual.alpha - np.log(alloc.score[n, i])
        most = min(inst.limit[n], inst.alone[n, i])
        tasks[n, i] = np.exp(min(wanted, np.log(most)))
    return alloc.with_(tasks=tasks, prices=found.prices, limit_prices=mu), np.array(left, int)


def _log_ratio(p: Floats | None, q: Floats | None) -> float:
    """log of the factor between two scales of the same prices."""
    assert p is not None and q is not None
    some = (p > 0) & (q > 0)
    return float(np.log(p[some][0] / q[some][0])) if some.any() else 0.0


def left_for(alloc: Allocation, users: Ints) -> Instance | None:
    """The instance of these users with what the others leave; None if a user would have nothing."""
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
    """Tasks, prices and limit prices of both answers joined.

    A resource that users of much money fill keeps the price of their answer.
    """
    inst = alloc.instance
    assert alloc.prices is not None and alloc.limit_prices is not None
    assert found.prices is not None and found.limit_prices is not None
    tasks = alloc.tasks.copy()
    tasks[users] = found.tasks
    heavy = np.ones(len(inst.users), bool)
    heavy[users] = False
    # bring both prices to the unit of the objective, then scale the dearest to 1
    scales = own_scale(Duality.of(alloc)), own_scale(Duality.of(found))
    first, second = np.exp(np.array(scales) - max(scales))
    with np.errstate(over="ignore"):
        least = float(np.exp((log_money(alloc)[heavy] - max(scales)).min()))
    p, mu = alloc.prices * first, np.where(heavy, alloc.limit_prices * first, 0.0)
    full = inst.used(tasks) >= inst.pool * (1 - FULL)
    p = np.where(full & (p * inst.pool > 10.0**-APART * least), p, 0.0)
    p = p + found.prices * second
    mu[users] = found.limit_prices * second
    return tasks, p, mu
