"""Prices as a judge may use them: in the middle of floating point, and backed by what is full.

Prices come from anywhere. Only their ratios say anything, so they are brought to one scale first;
a product that falls out of the range in which it is rounded to sixteen digits counts as nothing.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.formulas import rows
from fairopt.instance import Floats, Instance

USUAL = 2.0**-300, 2.0**300
"""money of the dearest resource or limit between which prices are taken as they are"""
LEAST = float(np.finfo(np.float64).tiny)
"""a price of a task below this has lost digits: it counts as 0"""
TOLERANCE = 1e-6
"""part of what a user could run alone that may be left before a resource is not full for it"""
ROUNDING = 8 * 2.0**-52
"""part of a resource within which its holders' tasks, products and sums are rounded"""

DEAR = 1e-5
"""part by which a server is so dear that nothing may be held there, whatever it costs in all"""


def steady(alloc: Allocation) -> Allocation:
    """The answer with prices whose dearest money lies in the middle of the range of floats.

    Multiplied by a power of two, which changes no digit. Prices of limits that are not there are
    left alone: they cost without end, and so prove nothing.
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
    # a price that no shift can hold stands on something worth nothing beside the rest
    return alloc.with_(prices=_finite(p), limit_prices=None if mu is None else _finite(mu))


def _exponents(price: Floats, amount: Floats) -> Floats:
    """Exponents of two of price times amount, without forming the product."""
    some = amount > 0
    return np.asarray(np.frexp(price[some])[1] + np.frexp(amount[some])[1], dtype=np.float64)


def _finite(price: Floats) -> Floats:
    return np.where(np.isfinite(price), price, 0.0)


def task_price(alloc: Allocation, users: slice) -> Floats:
    """(users, I) price of one task; 0 where floating point cannot hold its digits."""
    assert alloc.prices is not None
    cost = task_cost(alloc.instance, alloc.prices, users, alloc.limit_prices)
    cost[cost < LEAST] = 0.0
    return cost


def left_over(inst: Instance, used: Floats) -> Floats:
    """(I, R) what is left of each resource; 0 within rounding."""
    left = np.maximum(inst.pool - used, 0.0)
    return np.where(left <= ROUNDING * inst.pool, 0.0, left)


def backed_cheapest(alloc: Allocation) -> Floats:
    """(N,) cheapest price of a unit of share, where only what is full for the user has a price.

    A resource is full for a user on a server when what is left would run at most `TOLERANCE` of
    what the user could run there alone, its limit included; so is its own limit. The result is 0
    for a user that could simply be given more somewhere.
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
            full = left[:, r] <= TOLERANCE * need * size
            cost += np.where(full, need * alloc.prices[:, r], 0.0)
        if alloc.limit_prices is not None:
            spare = np.maximum(limit - alloc.totals[users, None], 0.0)
            cost += np.where(spare <= TOLERANCE * size, alloc.limit_prices[users, None], 0.0)
        cost[cost < LEAST] = 0.0
        price = np.full(cost.shape, np.inf)
        np.divide(cost, alloc.score[users], out=price, where=inst.eligible[users])
        cheapest[users] = rows.least(price)
    return cheapest


def misplaced(alloc: Allocation, held: Floats, most: Floats) -> Floats:
    """(N,) the part of each user's share that it holds where a unit costs clearly more than `most`.

    Parameters
    ----------
    held : (N, I) the tasks that are asked about. most : (N,) what a unit of share may cost.
    """
    part = np.empty(len(most))
    for users in alloc.instance.blocks():
        score = alloc.score[users]
        dear = task_price(alloc, users) > score * (most[users] * (1 + DEAR))[:, None]
        part[users] = rows.total(np.where(dear, score * held[users], 0.0))
    return np.divide(part, alloc.shares, out=np.zeros_like(part), where=part > 0)
