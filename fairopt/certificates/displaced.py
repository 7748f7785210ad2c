"""Capacity held by tasks that would cost less on another server.

At right prices there is none. If a user of much money pays a little too much on a server, the error
is small relative to its own money, but it may be large for the other users of that server, who pay
for capacity that could be free. A price of a resource that is not full has the same effect: nobody
may pay it, but it keeps users away. So the price of each task is compared with the cheapest server,
once at all prices, and once, for as many tasks as would fit there, at the prices of full resources.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.money import LEAST, ROUNDING, TOLERANCE, left_over
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints, remembered

CLEARLY = 1e-6
"""part of the price of its resources that a task would clearly save elsewhere"""


def displaced(alloc: Allocation, force: Floats | None = None) -> Floats:
    """(I, R) part of each row's resource held by tasks that would cost less elsewhere.

    Each task is counted with the part of its price that it would save elsewhere.

    Parameters
    ----------
    alloc : the answer, with prices.
    force : (N, I) what a task on a server costs in addition to its resources, in units of prices.
    """
    return (_examined(alloc) if force is None else _examine(alloc, force)).wasted


def misheld_money(alloc: Allocation) -> Floats:
    """(N,) price of the resources of tasks that would save more than `CLEARLY` of it elsewhere."""
    return _examined(alloc).misheld


class Examined(NamedTuple):
    """wasted : (I, R) as in `displaced`. misheld : (N,) as in `misheld_money`."""

    wasted: Floats
    misheld: Floats


def _examined(alloc: Allocation) -> Examined:
    """Without a force, kept with the answer, since both are asked for."""
    found: Examined = remembered(alloc, "_displaced", lambda: _examine(alloc, None))
    return found


def _examine(alloc: Allocation, force: Floats | None) -> Examined:
    inst = alloc.instance
    assert alloc.prices is not None
    left, held = left_over(inst, alloc.used), alloc.held
    wasted, misheld = np.zeros(inst.pool.shape), np.zeros(len(inst.users))
    for users in inst.blocks():
        x = held[users]
        some = x > 0
        if not some.any():
            continue
        rent, saved, more, moved, tasks = _savings(alloc, users, left, force, some)
        with np.errstate(divide="ignore", invalid="ignore"):
            amount = tasks * saved + moved * np.maximum(more - saved, 0.0)
            part = np.where(rent > 0, np.minimum(amount / rent, tasks), 0.0)
        wrong = np.where(more > CLEARLY * rent, moved, 0.0)
        wrong = np.where(saved > CLEARLY * rent, tasks, wrong)
        if wrong.any():
            misheld[users] = rows.total(_spread(wrong * rent, some))
        part = _spread(part, some)
        if inst.demand.ndim == 3:
            wasted += np.einsum("ni,nir->ir", part, inst.demand[users])
        else:
            wasted += part.T @ inst.demand[users]
    wasted = np.divide(wasted, inst.pool, out=np.zeros_like(wasted), where=inst.pool > 0)
    return Examined(wasted, misheld)


def _spread(pairs: Floats, some: Bools) -> Floats:
    """(users, I) values of some pairs in their places, 0 in the others."""
    found = np.zeros(some.shape)
    found[some] = pairs
    return found


def _savings(
    alloc: Allocation, users: slice, left: Floats, force: Floats | None, some: Bools
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Of some of the pairs (users, I) each: price of a task's resources; what it would save where
    a unit of share is cheapest; and where it is cheapest at the prices of what is full; how many
    of its tasks fit there; its tasks."""
    inst = alloc.instance
    assert alloc.prices is not None
    rent = task_cost(inst, alloc.prices, users, None)
    rent[rent < LEAST] = 0.0
    beside = np.zeros((rent.shape[0], 1))
    if alloc.limit_prices is not None:
        beside = alloc.limit_prices[users, None]
    if force is not None:
        beside = beside + force[users]
    score, eligible = alloc.score[users], inst.eligible[users]
    bare = not beside.any()
    beside = np.broadcast_to(beside, rent.shape)
    where = _cheapest(rent, beside, score, eligible)
    tasks = alloc.held[users][some]
    if bare and ((score == where.score[:, None]) | ~eligible).all():
        # share costs what rent does: the general case below comes to the same numbers
        saved = np.where(eligible, np.maximum(rent - where.there[:, None], 0.0), 0.0)[some]
    else:
        saved = _saving(rent, beside, score, eligible, where, some)
    if _all_full(alloc, users, left):
        # whatever has a price is full, so that nothing fits where it would cost less
        return rent[some], saved, saved, np.zeros_like(saved), tasks
    more, backed = saved, _backed(alloc, users, left)
    if not np.array_equal(rent, backed):
        where = _cheapest(backed, beside, score, eligible)
        more = _saving(rent, beside, score, eligible, where, some)
    fits = _room(alloc, users, left, where.best) * where.score
    n = np.nonzero(some)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.minimum(tasks, np.where(eligible[some], fits[n] / score[some], 0.0))
    return rent[some], saved, more, moved, tasks


def _all_full(alloc: Allocation, users: slice, left: Floats) -> bool:
    """Whether every resource with a price is surely full for all these users, as in `_backed`.

    What is left is compared with the smallest demand for the resource and the smallest size on the
    server: rounding keeps the order of products, so that it is full for everybody else as well.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    open_ = (alloc.prices > 0) & (left > 0)
    if not open_.any():
        return True
    demand = inst.demand[users]
    need = np.where(demand > 0, demand, np.inf).min(axis=0)
    size = np.where(inst.eligible[users], inst.alone[users], np.inf).min(axis=0)
    with np.errstate(invalid="ignore"):  # NaN, of a size of 0: not surely
        full = left <= TOLERANCE * need * size[:, None]
    return bool(full[open_].all())


def _backed(alloc: Allocation, users: slice, left: Floats) -> Floats:
    """(users, I) price of those resources of a task that are full for the user."""
    inst = alloc.instance
    assert alloc.prices is not None
    demand, size = inst.demand_by_server[users], inst.alone[users]
    cost = np.zeros(size.shape)
    for r in range(inst.shape[2]):
        need = demand[:, :, r]
        full = left[:, r] <= TOLERANCE * need * size
        cost += np.where(full, need * alloc.prices[:, r], 0.0)
    return cost


def _room(alloc: Allocation, users: slice, left: Floats, server: Ints) -> Floats:
    """(users,) tasks that fit into what is left of one server each."""
    demand = alloc.instance.demand_by_server[users]
    room, each = np.full(len(server), np.inf), np.arange(len(server))
    for r in range(demand.shape[2]):
        need = demand[each, server, r]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.fmin(room, np.where(need > 0, left[server, r] / need, np.inf))
    return room


class Cheapest(NamedTuple):
    """(users,) each: the cheapest server, the price of a task's resources there and of what is
    beside them, and its score."""

    there: Floats
    beside: Floats
    score: Floats
    best: Ints


def _cheapest(there: Floats, beside: Floats, score: Floats, eligible: Bools) -> Cheapest:
    """Where share is cheapest at prices `there` (users, I) and what is beside them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        price = np.where(eligible, (there + beside) / score, np.inf)
        least = rows.least(price)[:, None]
        near = price <= least + 2 * ROUNDING * np.abs(least)
    best = np.argmin(np.where(near, there, np.inf), axis=1)
    place = np.arange(len(best)), best
    return Cheapest(there[place], beside[place], score[place], best)


def _saving(
    rent: Floats, beside: Floats, score: Floats, eligible: Bools, where: Cheapest, some: Bools
) -> Floats:
    """What each of some tasks (users, I) would save on its user's cheapest server.

    `beside` may be a million times `rent`: it is not added where it would cancel.
    """
    n = np.nonzero(some)[0]
    rent, beside, score, eligible = rent[some], beside[some], score[some], eligible[some]
    other, with_it, u = where.there[n], where.beside[n], where.score[n]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = score / u
        alike = (score == u) & (beside == with_it)
        apart = rent + beside - ratio * (other + with_it)
        noise = ROUNDING * (rent + np.abs(beside) + ratio * (other + np.abs(with_it)))
        saving = np.where(alike, rent - other, np.where(apart > noise, apart, 0.0))
    return np.where(eligible, np.maximum(saving, 0.0), 0.0)
