"""Capacity held by tasks that would cost less on another server.

At right prices there is none. If a user of much money pays a little too much on a server, the error
is small relative to its own money, but it may be large for the other users of that server, who pay
for capacity that could be free. A price of a resource that is not full has the same effect: nobody
may pay it, but it keeps users away. So the price of each task is compared with the cheapest server,
once at all prices, and once, for as many tasks as would fit there, at the prices of full resources.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.money import LEAST, ROUNDING, TOLERANCE, left_over
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats


def displaced(alloc: Allocation, force: Floats | None = None) -> Floats:
    """(I, R) part of each row's resource held by tasks that would cost less elsewhere.

    Each task is counted with the part of its price that it would save elsewhere.

    Parameters
    ----------
    alloc : the answer, with prices.
    force : (N, I) what a task on a server costs in addition to its resources, in units of prices.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    left, held = left_over(inst, alloc.used), alloc.held
    wasted = np.zeros(inst.pool.shape)
    for users in inst.blocks():
        if not held[users].any():
            continue
        rent, saved, more, moved = _savings(alloc, users, left, force)
        x = held[users]
        with np.errstate(divide="ignore", invalid="ignore"):
            amount = x * saved + moved * np.maximum(more - saved, 0.0)
            part = np.where(rent > 0, np.minimum(amount / rent, x), 0.0)
        if inst.demand.ndim == 3:
            wasted += np.einsum("ni,nir->ir", part, inst.demand[users])
        else:
            wasted += part.T @ inst.demand[users]
    return np.divide(wasted, inst.pool, out=np.zeros_like(wasted), where=inst.pool > 0)


def misheld(alloc: Allocation, users: slice, clearly: float) -> Floats:
    """(users, I) tasks that would save more than `clearly` of their resources' price elsewhere."""
    left = left_over(alloc.instance, alloc.used)
    rent, saved, more, moved = _savings(alloc, users, left, None)
    return np.where(
        saved > clearly * rent, alloc.held[users], np.where(more > clearly * rent, moved, 0.0)
    )


def _savings(
    alloc: Allocation, users: slice, left: Floats, force: Floats | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """(users, I) each: price of a task's resources; what it would save where a unit of share is
    cheapest; and where it is cheapest at the prices of what is full; how many tasks fit there."""
    inst, x = alloc.instance, alloc.held[users]
    assert alloc.prices is not None
    rent = task_cost(inst, alloc.prices, users, None)
    rent[rent < LEAST] = 0.0
    backed, room = _backed(alloc, users, left)
    beside = np.zeros((rent.shape[0], 1))
    if alloc.limit_prices is not None:
        beside = alloc.limit_prices[users, None]
    if force is not None:
        beside = beside + force[users]
    score, eligible = alloc.score[users], inst.eligible[users]
    saved, best = _saving(rent, rent, beside, score, eligible)
    more = saved
    if not np.array_equal(rent, backed):
        more, best = _saving(rent, backed, beside, score, eligible)
    place = np.arange(len(best)), best
    fits = (room[place] * score[place])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.minimum(x, np.where(eligible, fits / score, 0.0))
    return rent, saved, more, moved


def _backed(alloc: Allocation, users: slice, left: Floats) -> tuple[Floats, Floats]:
    """(users, I) price of those resources of a task that are full for the user; tasks that fit."""
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
    """What each task would save where share is cheapest at prices `there`; and that server.

    `beside` may be a million times `rent`: it is not added where it would cancel.
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
