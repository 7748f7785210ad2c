r"""KKT of max-min, level by level: max t, s_n/phi_n >= t for who is free, >= L_n for the others.

With w_n >= 0 the multiplier of user n's level, per unit of resource,

.. math:: w_n u_{n,i} / \phi_n \le \sum_r \lambda_{i,r} d_{n,r}, \text{ equal where } x_{n,i} > 0,
          \quad \sum_{free} w_n = 1,

so lambda is what one more unit adds to t. w_n = phi_n q_n, q_n the cheapest price of a unit of
share: prices alone give it. A user with w_n = 0 is above, and pays nothing. Where scores depend
on the server a user at its limit has a price of that as well.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.instance import Floats
from fairopt.kkt.table import ConditionsTable, constraints, priced, trimmed

TIE = 1e-9
"""levels whose relative difference is at most this are one level"""
LEAST_PAID = 1e-9
"""a user that pays less than this part of all money has no multiplier"""
CONDITION = "nu = cost - gain >= 0, and 0 where x > 0; w > 0 only at the level or frozen below it"


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """A table for every level that has prices."""
    if alloc.level_prices is None:
        raise UsageError(
            "kkt: this answer has no prices of levels; `fairopt solve` keeps them in its answers"
        )
    return tuple(_level(alloc, k, prices) for k, prices in enumerate(alloc.level_prices))


def multipliers(alloc: Allocation, prices: Floats) -> tuple[float, Floats, Floats, float]:
    """The level t, w (N,) with sum 1 over the users at t, mu (N,), and the factor to the prices."""
    inst = alloc.instance
    n, i = inst.pairs
    cost = np.full(inst.shape[:2], np.inf)
    cost[n, i] = (inst.pair_demand * prices[i]).sum(axis=1)
    score = np.where(inst.eligible, alloc.score, 1.0)
    cheapest, mu = (cost / score).min(axis=1), np.zeros(len(inst.users))
    for k in np.flatnonzero(alloc.totals >= inst.limit * (1 - TIE)):
        mu[k], cheapest[k] = _of_limit(cost[k], score[k], alloc.tasks[k])
    money = float((prices * inst.pool).sum())
    paying = cheapest * alloc.shares > LEAST_PAID * money
    if not paying.any():
        return float(alloc.levels.min()), np.zeros(len(inst.users)), mu, 0.0
    w = np.where(paying, cheapest * inst.weight, 0.0)
    level = float(alloc.levels[paying].max())
    free = paying & (alloc.levels >= level * (1 - TIE))
    factor = 1.0 / float(w[free].sum())
    return level, w * factor, mu * factor, factor


def _of_limit(cost: Floats, score: Floats, tasks: Floats) -> tuple[float, float]:
    """The least price mu of a user's limit by which it is right where it has tasks, and its q.

    Where it has tasks q u = cost + mu, elsewhere at most that. Only a score that depends on the
    server needs mu > 0: then a task moved to where it counts more is one share more.
    """
    home = int(np.argmax(tasks))
    ratio = score / score[home]
    lower = ratio < 1 - 1e-12
    with np.errstate(invalid="ignore"):
        least = (cost[home] * ratio - cost)[lower] / (1 - ratio[lower])
    mu = max(0.0, float(least.max(initial=0.0)))
    return mu, float((cost[home] + mu) / score[home])


def _level(alloc: Allocation, k: int, given: Floats) -> ConditionsTable:
    prices = trimmed(alloc, given)
    t, w, mu, factor = multipliers(alloc, prices)
    inst = alloc.instance
    n, i = inst.pairs
    gain = (w / inst.weight)[n] * alloc.score[n, i]
    duals = prices * factor
    pairs = priced(alloc, gain, duals, mu if mu.any() else None)
    pairs = {"user": pairs.pop("user"), "server": pairs.pop("server"), "w": w[n], **pairs}
    notes = () if factor else ("no resource has a price: limits alone stop this level",)
    title = f"level {k + 1}, t = {t:.6g}: max t, s_n/phi_n >= t; gain = w_n u[n,i]/phi_n"
    rows = constraints(alloc, duals, mu if mu.any() else None, prices)
    return ConditionsTable(title, CONDITION, pairs, rows, factor or None, duals, notes)
