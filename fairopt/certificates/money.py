"""Prices as judges use them: in the middle of the floating-point range, with all their digits.

Prices may come from anywhere. Only their ratios matter, so they are brought to one scale first. A
product so small that it no longer has all its digits counts as 0.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.tolerance import ROUNDING
from fairopt.formulas import rows
from fairopt.instance import Floats, Instance

USUAL = 2.0**-300, 2.0**300
"""prices are not scaled if the money of the dearest resource or limit is between these"""
LEAST_TASK_PRICE = float(np.finfo(np.float64).tiny)
"""a smaller price of a task has lost digits and counts as 0"""
FULL = 1e-6
"""a resource is full for a user if what is left runs at most this part of what it has alone"""

DEAR = 1e-5
"""a server is clearly dearer than the cheapest if its price is above it by more than this part"""


def steady(alloc: Allocation) -> Allocation:
    """The answer with prices scaled so that the dearest money is in the middle of the float range.

    They are multiplied by a power of two, which changes no digit. The price of an infinite limit is
    left alone: it makes the budget infinite and so proves nothing.
    """
    assert alloc.prices is not None
    pool, mu = alloc.instance.pool, alloc.limit_prices
    priced = alloc.prices > 0
    money = _exponents(alloc.prices[priced], pool[priced])
    if mu is not None:
        on = (mu > 0) & np.isfinite(alloc.instance.limit)
        money = np.concatenate([money, _exponents(mu[on], alloc.instance.limit[on])])
    if not len(money) or abs(int(money.max())) < np.log2(USUAL[1]):
        return alloc
    shift = -int(money.max())
    with np.errstate(under="ignore", over="ignore"):
        p = np.ldexp(alloc.prices, shift)
        mu = None if mu is None else np.ldexp(mu, shift)
    # a price that is not finite after scaling belongs to an amount that is negligible
    return alloc.with_(prices=_finite(p), limit_prices=None if mu is None else _finite(mu))


def _exponents(price: Floats, amount: Floats) -> Floats:
    """The exponent (base 2) of each price times amount, without forming the product."""
    some = amount > 0
    return np.asarray(np.frexp(price[some])[1] + np.frexp(amount[some])[1], dtype=np.float64)


def _finite(price: Floats) -> Floats:
    return np.where(np.isfinite(price), price, 0.0)


def task_price(alloc: Allocation, users: slice) -> Floats:
    """(users, I) price of one task; 0 if it is too small to have all its digits."""
    assert alloc.prices is not None
    cost = task_cost(alloc.instance, alloc.prices, users, alloc.limit_prices)
    cost[cost < LEAST_TASK_PRICE] = 0.0
    return cost


def left_over(inst: Instance, used: Floats) -> Floats:
    """(I, R) what is left of each resource; 0 within rounding."""
    left = np.maximum(inst.pool - used, 0.0)
    return np.where(left <= ROUNDING * inst.pool, 0.0, left)


def backed_cheapest(alloc: Allocation) -> Floats:
    """(N,) cheapest price of a unit of share, counting only resources that are full for the user.

    A resource is full for a user on a server if what is left would run at most `FULL` of what
    the user could run there alone, its limit included. The user's own limit is treated alike. The
    result is 0 for a user that could be given more on some server.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    left = left_over(inst, alloc.used)
    cheapest = np.empty(len(inst.users))
    for users in inst.blocks():
        demand, limit = inst.demand_by_server[users], inst.limit[users, None]
        size = np.minimum(inst.alone[users], limit)
        cost = np.zeros(size.shape)
        for r in range(inst.shape[2]):
            need = demand[:, :, r]
            full = left[:, r] <= FULL * need * size
            cost += np.where(full, need * alloc.prices[:, r], 0.0)
        if alloc.limit_prices is not None:
            spare = np.maximum(limit - alloc.totals[users, None], 0.0)
            cost += np.where(spare <= FULL * size, alloc.limit_prices[users, None], 0.0)
        cost[cost < LEAST_TASK_PRICE] = 0.0
        price = np.full(cost.shape, np.inf)
        np.divide(cost, alloc.score[users], out=price, where=inst.eligible[users])
        cheapest[users] = rows.least(price)
    return cheapest


def misplaced(alloc: Allocation, held: Floats, most: Floats) -> Floats:
    """(N,) the part of each user's share held where a unit of it costs clearly more than `most`.

    Parameters
    ----------
    held : (N, I) the tasks looked at. most : (N,) what a unit of share may cost.
    """
    part = np.empty(len(most))
    for users in alloc.instance.blocks():
        score = alloc.score[users]
        dear = task_price(alloc, users) > score * (most[users] * (1 + DEAR))[:, None]
        part[users] = rows.total(np.where(dear, score * held[users], 0.0))
    return np.divide(part, alloc.shares, out=np.zeros_like(part), where=part > 0)
