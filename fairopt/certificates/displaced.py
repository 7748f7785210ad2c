"""Capacity held by users who would pay less elsewhere: as good as idle for those who pay for it.

What a user pays too much is little beside its own money where that is large, or nearly all of it
for its limit; beside the money of those who share the resource it need not be. The same with a
price asked for what is not full and nobody holds: nobody pays it, but it keeps users away. So each
task is held against the cheapest server at all prices, and, for as many tasks as would fit there,
at the prices of what is full.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.money import LEAST, ROUNDING, TOLERANCE, left_over
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats


def displaced(alloc: Allocation, force: Floats | None = None) -> Floats:
    """(I, R) part of each row's resource held by tasks that would cost less elsewhere.

    A task counts by the part of its price that it would save.

    Parameters
    ----------
    alloc : the answer, with prices.
    force : (N, I) what a task costs on a server beside its resources, in the unit of prices.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    left, held = left_over(inst, alloc.used), alloc.held
    wasted = np.zeros(inst.pool.shape)
    for users in inst.blocks():
        if not held[users].any():
            continue
        rent = task_cost(inst, alloc.prices, users, None)
        rent[rent < LEAST] = 0.0
        backed, room = _backed(alloc, users, left)
        beside = np.zeros((rent.shape[0], 1))
        if alloc.limit_prices is not None:
            beside = alloc.limit_prices[users, None]
        if force is not None:
            beside = beside + force[users]
        score, eligible = alloc.score[users], inst.eligible[users]
        saved = _saving(rent, rent, beside, score, eligible)[0]
        more, best = _saving(rent, backed, beside, score, eligible)
        place = np.arange(len(best)), best
        fits = (room[place] * score[place])[:, None]
        x = held[users]
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.minimum(x, np.where(eligible, fits / score, 0.0))
            amount = x * saved + moved * np.maximum(more - saved, 0.0)
            part = np.where(rent > 0, np.minimum(amount / rent, x), 0.0)
        if inst.demand.ndim == 3:
            wasted += np.einsum("ni,nir->ir", part, inst.demand[users])
        else:
            wasted += part.T @ inst.demand[users]
    return np.divide(wasted, inst.pool, out=np.zeros_like(wasted), where=inst.pool > 0)


def _backed(alloc: Allocation, users: slice, left: Floats) -> tuple[Floats, Floats]:
    """(users, I) price of a task's resources that are full for the user, and how many more fit."""
    inst = alloc.instance
    assert alloc.prices is not None
    demand, size = inst.demand_by_server[users], inst.alone[users]
    cost, room = np.zeros(size.shape), np.full(size.shape, np.inf)
    for r in range(inst.shape[2]):
        need = demand[:, :, r]
        full = left[:, r] <= TOLERANCE * need * size
        cost += np.where(full, need * alloc.prices[:, r], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.fmin(room, np.where(need > 0, left[:, r] / need, np.inf))
    return cost, room


def _saving(
    rent: Floats, there: Floats, beside: Floats, score: Floats, eligible: Bools
) -> tuple[Floats, np.ndarray]:
    """What each task would save where a unit of share is cheapest at prices `there`; that server.

    `beside` may be a million times the rent: it is not added where it cancels.
    """
    beside = np.broadcast_to(beside, rent.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        price = np.where(eligible, (there + beside) / score, np.inf)
        least = rows.least(price)[:, None]
        near = price <= least + 2 * ROUNDING * np.abs(least)
        best = np.argmin(np.where(near, there, np.inf), axis=1)
        place = np.arange(len(best)), best
        other, with_it, u = there[place][:, None], beside[place][:, None], score[place][:, None]
        ratio = score / u
        alike = (score == u) & (beside == with_it)
        apart = rent + beside - ratio * (other + with_it)
        noise = ROUNDING * (rent + np.abs(beside) + ratio * (other + np.abs(with_it)))
        saving = np.where(alike, rent - other, np.where(apart > noise, apart, 0.0))
    return np.where(eligible, np.maximum(saving, 0.0), 0.0), best
