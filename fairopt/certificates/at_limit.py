r"""The scale of prices that users below their limits prove, where limits are worth too much.

A user of share 1e-6 at its limit is worth 1e600 times a user of share 1 at alpha = 100. No price of
its limit in floating point is right beside the prices of resources, and none is needed: at its
limit it wants no more than it has, whatever the limit costs above what its worth leaves. So the
common scale t of the resources' prices may follow from the users below their limits alone. At
prices t p, with F these users and C those at their limits L, the money of the resources is

.. math:: \sum_{n \in F} q_n s_n^0 = B', \qquad
   B' = \sum_{n \in F} pay_n + idle - \sum_{n \in C} pay_n (L_n / X_n - 1), \qquad
   t = \Bigl(\sum_{n \in F} W_n^{1/\alpha} q_n^{1 - 1/\alpha} / B'\Bigr)^\alpha.

B' is what the resources cost without what C pays for them at its limits; written so, nothing
cancels.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.money import left_over
from fairopt.formulas import rows, welfare
from fairopt.instance import Bools, Floats

AT = 1e-9
"""part of its limit that a user may be short of and still be at it"""


def at_limit(alloc: Allocation) -> Bools:
    """(N,) who has all that its limit allows."""
    found: Bools = alloc.totals >= alloc.instance.limit * (1 - AT)
    return found


def log_scale_below(
    alloc: Allocation, log_w: Floats, log_cheapest: Floats, alpha: float
) -> float:
    """log t from the users below their limits, log_cheapest (N,) their log q; alpha > 0.

    -inf where nobody is below: prices of 0 are then right. nan where nobody is at its limit, or
    the money proves nothing.
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
