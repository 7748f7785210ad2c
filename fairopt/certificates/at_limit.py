r"""The common scale of prices, computed from the users below their limits alone.

At alpha = 100 the marginal value of a user held by its limit to a share of 1e-6 is 1e600 times that
of a user of share 1, so no floating-point number can be the price of that limit beside the prices
of resources. None is needed: such a user has all that its limit allows, whatever the limit costs.
So the scale t of the resources' prices p may follow from the users F below their limits. With C the
users at their limits L, X the tasks and pay the money spent on resources, t is given by

.. math:: \sum_{n \in F} q_n s_n^0 = B', \qquad
   B' = \sum_{n \in F} pay_n + idle - \sum_{n \in C} pay_n (L_n / X_n - 1), \qquad
   t = \Bigl(\sum_{n \in F} W_n^{1/\alpha} q_n^{1 - 1/\alpha} / B'\Bigr)^\alpha.

B' is the money of all resources less what C would pay for them with all tasks that its limits
allow. In this form no large numbers are subtracted from each other.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.money import left_over
from fairopt.formulas import rows, welfare
from fairopt.instance import Bools, Floats

AT = 1e-9
"""a user that has all but this part of its limit is at its limit"""
DWARFED = 1e-12
"""rent beside the price of a limit below which the rent decides between equal scores alone"""


def at_limit(alloc: Allocation) -> Bools:
    """(N,) whether the user has all tasks that its limit allows."""
    found: Bools = alloc.totals >= alloc.instance.limit * (1 - AT)
    return found


def wants_no_more(alloc: Allocation) -> Bools:
    """(N,) who is at its limit, and could not use it for a larger share whatever it is worth.

    Where scores differ by server the price of the limit decides which server is cheapest: it has
    to be right, or to dwarf every rent.
    """
    found, inst = at_limit(alloc), alloc.instance
    if not found.any():
        return found
    assert alloc.prices is not None
    for users in inst.blocks():
        eligible, score = inst.eligible[users], alloc.score[users]
        top = rows.largest(np.where(eligible, score, 0.0))[:, None]
        mixed = (eligible & (score != top)).any(axis=1)
        if not (mixed & found[users]).any():
            continue
        rent = task_cost(inst, alloc.prices, users, None)
        mu = 0.0 if alloc.limit_prices is None else alloc.limit_prices[users]
        dearest = rows.largest(np.where(eligible, rent, 0.0))
        found[users] &= ~mixed | ((mu > 0) & (dearest <= DWARFED * mu))
    return found


def log_scale_below(
    alloc: Allocation, log_w: Floats, log_cheapest: Floats, alpha: float
) -> float:
    """log t, the scale of prices that the users below their limits give; alpha > 0.

    log_cheapest : (N,) log q, the cheapest price of a unit of share.

    -inf if every user is at its limit: then prices of 0 are right. nan if no user is, or if the
    prices prove nothing.
    """
    assert alloc.prices is not None
    stopped = at_limit(alloc)
    if stopped.all() or not stopped.any():
        return -np.inf if stopped.all() else np.nan
    inst, free = alloc.instance, ~stopped
    if inst.demand.ndim == 3:
        paid = np.einsum("ni,nir,ir->n", alloc.held, inst.demand, alloc.prices)
    else:
        paid = rows.total((alloc.held @ alloc.prices) * inst.demand)
    idle = float((alloc.prices * left_over(inst, alloc.used)).sum())
    short = np.maximum(inst.limit[stopped] / alloc.totals[stopped] - 1.0, 0.0)
    money = float(paid[free].sum()) + idle - float(paid[stopped] @ short)
    if not (money > 0 and np.isfinite(money)):
        return np.nan
    mass = welfare.log_sum_exp(log_w[free] / alpha + (1 - 1 / alpha) * log_cheapest[free])
    return float(alpha * (mass - np.log(money)))
