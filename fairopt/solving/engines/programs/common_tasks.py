"""The linear programs (9), (10) of kesidis2016, and its Claims 1 and 2 for a single resource."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.formulas.pools import equal_level, share_of_task
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.point import Answer
from fairopt.solving.engines.programs.linear import maximum


def solve_sum(instance: Instance, notion: Any) -> Answer:
    """Engine of `sum-m`: one linear program in M_n, with its prices."""
    part, machines = instance.part_of_row(), instance.eligible * instance.count
    everywhere = part * machines[:, :, None]  # the part of each row that M_n = 1 uses
    alone = 1.0 / everywhere.max(axis=(1, 2))
    users = len(alone)
    use = everywhere.transpose(1, 2, 0).reshape(-1, users) * alone
    most = instance.limit / machines.sum(axis=1)
    gain = alone / instance.weight
    unit, price, limit_price = maximum(gain, use, np.ones(len(use)), most / alone)
    limit_price = limit_price / alone / machines.sum(axis=1)
    return Answer(
        (unit * alone)[:, None] * machines,
        *_scaled(instance, _per_unit(instance, price), limit_price),
        steps=({"engine": "highs"},),
    )


def solve_equal(instance: Instance, notion: Any) -> Answer:
    """Engine of `equal-m`: the largest equal level, then a linear program in the pairs."""
    return above_equal(instance, share_of_task(instance))


def above_equal(instance: Instance, worth: Floats) -> Answer:
    """The same for what a task (N, I) is worth above the equal level."""
    part = instance.part_of_row()
    level, base = equal_level(instance)
    n, i = instance.pairs
    pairs = len(n)
    servers, resources = instance.pool.shape
    alone = instance.alone[n, i]
    use = np.zeros((servers * resources, pairs))
    for r in range(resources):
        use[i * resources + r, np.arange(pairs)] = part[n, i, r] * alone
    left = np.maximum(0.0, 1.0 - np.einsum("ni,nir->ir", base, part)).ravel()
    bounded = np.flatnonzero(np.isfinite(instance.limit))
    extra = np.zeros((len(bounded), pairs))
    for row, user in enumerate(bounded):
        extra[row, n == user] = alone[n == user] / instance.limit[user]
    spare = np.maximum(0.0, 1.0 - base.sum(axis=1)[bounded] / instance.limit[bounded])
    gain = worth[n, i] * alone
    room, most = np.concatenate([left, spare]), np.full(pairs, np.inf)
    unit, price, _ = maximum(gain, np.vstack([use, extra]), room, most)
    tasks = base.copy()
    tasks[n, i] += unit * alone
    limit_price = np.zeros(len(instance.users))
    limit_price[bounded] = price[len(use) :] / instance.limit[bounded]
    prices = _per_unit(instance, price[: len(use)])
    step = {"engine": "highs", "level": level}
    return Answer(tasks, *_scaled(instance, prices, limit_price), steps=(step,))


def _per_unit(instance: Instance, price: Floats) -> Floats:
    """(I, R) prices per unit of resource from prices of whole rows."""
    pool = instance.pool
    return np.divide(price.reshape(pool.shape), pool, out=np.zeros_like(pool), where=pool > 0)


def _scaled(instance: Instance, prices: Floats, limit_prices: Floats) -> tuple[Floats, Floats]:
    """Both scaled so that all capacities and limits together cost sum phi."""
    finite = np.isfinite(instance.limit)
    money = (prices * instance.pool).sum() + limit_prices[finite] @ instance.limit[finite]
    factor = instance.weight.sum() / money if money > 0 else 1.0
    return prices * factor, limit_prices * factor
