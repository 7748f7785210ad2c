"""Which full resource of which server stops a user from getting more; what a task costs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Instance, Ints


class Blocked(NamedTuple):
    """User `user` can get no more on `server` because `resource` is full there.

    `price` is that of one more unit, of the resource or of the limit; None when no prices are
    known. A user at its own limit has server and resource None. In the place of a server may stand
    a rule of a group, "org's ceiling" or "org's quota"; or one's own, "rule carbon", of which the
    resource is "".
    """

    user: str
    server: str | None
    resource: str | None
    price: float | None


def task_cost(
    inst: Instance, prices: Floats, users: slice, limit_prices: Floats | None = None
) -> Floats:
    """(users, I) price of one task: sum_r p[i,r] d[n,r] + mu_n, for ineligible pairs as well.

    The sum goes resource by resource. A matrix product could round the price of one user
    differently depending on which other users are in the block.
    """
    demand = inst.demand[users]
    columns = demand if demand.ndim == 3 else demand[:, None, :]
    cost: Floats = columns[:, :, 0] * prices[:, 0]
    part = np.empty_like(cost)
    for r in range(1, prices.shape[1]):
        cost += np.multiply(columns[:, :, r], prices[:, r], out=part)
    if limit_prices is not None:
        cost += limit_prices[users, None]
    return cost


class Stops(NamedTuple):
    """What stops one user from getting more: its own limit, or full resources of servers.

    `places` (K,) are positions i R + r of the resources, increasing.
    """

    user: int
    at_limit: bool
    places: Ints


def each_stopped(
    inst: Instance,
    totals: Floats,
    utilisation: Floats,
    score: Floats,
    prices: Floats | None = None,
    limit_prices: Floats | None = None,
) -> Iterator[Stops]:
    """What stops each user, in order, computed one at a time; users that nothing stops are skipped.

    Parameters
    ----------
    totals : (N,) tasks. utilisation : (I, R) used part of each resource. score : (N, I).
    prices : (I, R). If given, a user is stopped only by resources with a price on the servers
        where its share is cheapest.
    limit_prices : (N,) price of one more task allowed by the limit.
    """
    full = utilisation >= 1 - 1e-6
    at_limit = totals >= inst.limit * (1 - 1e-6)
    nothing = np.empty(0, dtype=np.int64)
    for users in inst.blocks():
        stops = _stops(inst, score, prices, limit_prices, users, full)
        for k, limited in enumerate(at_limit[users].tolist()):
            own = nothing if limited else np.flatnonzero(stops[k])
            if limited or len(own):
                yield Stops(users.start + k, limited, own)


def each_blocked(
    inst: Instance,
    stopped: Iterable[Stops],
    prices: Floats | None = None,
    limit_prices: Floats | None = None,
) -> Iterator[Blocked]:
    """What stops each user, with names in place of positions and the price of one more unit."""
    for user, at_limit, places in stopped:
        name = inst.users[user]
        if at_limit:
            mu = None if limit_prices is None else float(limit_prices[user])
            yield Blocked(name, None, None, mu)
        for place in places.tolist():
            i, r = divmod(place, len(inst.resources))
            price = None if prices is None else float(prices[i, r])
            yield Blocked(name, inst.servers[i], inst.resources[r], price)


def _stops(
    inst: Instance,
    score: Floats,
    prices: Floats | None,
    limit_prices: Floats | None,
    users: slice,
    full: Bools,
) -> Bools:
    """(users, I, R) whether the user is stopped on this server by this full resource."""
    demand = inst.demand_by_server[users]
    eligible = inst.eligible[users]
    near = eligible
    if prices is not None:
        # prices may come from anywhere and overflow; an infinite price stops nobody
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            u = np.where(eligible, score[users], 1.0)
            price = task_cost(inst, prices, users, limit_prices) / u
            cheapest = rows.least(np.where(eligible, price, np.inf))[:, None]
            near = eligible & (price <= cheapest * (1 + 1e-6))
    stops = np.zeros(demand.shape, dtype=bool)
    for r in np.flatnonzero(full.any(axis=0)):
        here = near & full[:, r] & (demand[:, :, r] > 0)
        if prices is not None:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                here &= prices[:, r] * demand[:, :, r] / u > 1e-9 * cheapest
        stops[:, :, r] = here
    return stops


FULL = 1e-6
"""a resource of which a smaller part is free counts as full"""
EQUALLY_CHEAP = 1e-6
"""servers whose prices of a unit of share differ by a smaller part are equally cheap"""
LEAST_COST = 1e-9
"""a share that costs a smaller part of all money of a level costs nothing there"""


def each_by_level(
    inst: Instance, totals: Floats, utilisation: Floats, score: Floats, level_prices: Floats
) -> Iterator[Stops]:
    """What stops each user, in order, computed one at a time; users that nothing stops are skipped.

    Parameters
    ----------
    totals : (N,) tasks. utilisation : (I, R) used part of each resource. score : (N, I).
    level_prices : (levels, I, R), the prices of each level, the lowest first.
    """
    full = utilisation >= 1 - FULL
    at_limit = totals >= inst.limit * (1 - FULL)
    money = np.einsum("kir,ir->k", level_prices, inst.pool)
    nothing = np.empty(0, dtype=np.int64)
    for n in range(len(inst.users)):
        if at_limit[n]:
            yield Stops(n, True, nothing)
            continue
        found = np.flatnonzero(_full_and_priced(inst, n, totals, score, level_prices, money, full))
        if len(found):
            yield Stops(n, False, found)


def _full_and_priced(
    inst: Instance,
    n: int,
    totals: Floats,
    score: Floats,
    prices: Floats,
    money: Floats,
    full: Bools,
) -> Bools:
    """(I, R) the full resources that stop user n."""
    demand = inst.demand_by_server[n]
    eligible = inst.eligible[n]
    needs: Bools = eligible[:, None] & (demand > 0) & full
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        cost = (prices * demand).sum(axis=2) / np.where(eligible, score[n], 1.0)
        cost = np.where(eligible, cost, np.inf)
        cheapest = cost.min(axis=1)
        # tasks at their dearest count: of a user without tasks the price alone would say nothing
        share = max(float(totals[n]), 1e-300) * float(score[n][eligible].max())
        paying = np.flatnonzero(cheapest * share > LEAST_COST * money)
        if not len(paying):
            return needs
        k = paying[0]
        near = cost[k] <= cheapest[k] * (1 + EQUALLY_CHEAP)
        part = prices[k] * demand / np.where(eligible, score[n], 1.0)[:, None]
        priced: Bools = needs & near[:, None] & (part > LEAST_COST * cheapest[k])
    return priced if priced.any() else needs
