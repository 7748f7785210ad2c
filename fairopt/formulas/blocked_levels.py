"""What stops a user of a max-min answer: what is full and has a price at the user's own level.

The prices of a level cost nobody anything who is above it. So a user's own level is the first at
whose prices its share costs something; resources that are full without a price there do not stop
it. A user whose share no level prices is stopped by every full resource that it demands.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairopt.formulas.blocked import Stops
from fairopt.instance import Bools, Floats, Instance

FULL = 1e-6
"""a resource of which a smaller part is free counts as full"""
NEAR = 1e-6
"""servers whose prices of a unit of share differ by a smaller part are equally cheap"""
LEAST = 1e-9
"""a share that costs a smaller part of all money of a level costs nothing there"""


def each_stopped(
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
        paying = np.flatnonzero(cheapest * share > LEAST * money)
        if not len(paying):
            return needs
        k = paying[0]
        near = cost[k] <= cheapest[k] * (1 + NEAR)
        part = prices[k] * demand / np.where(eligible, score[n], 1.0)[:, None]
        priced: Bools = needs & near[:, None] & (part > LEAST * cheapest[k])
    return priced if priced.any() else needs
