"""Prices of limits where they are so far above those of resources that a float loses them."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.at_limit import at_limit
from fairopt.certificates.prices import Duality, own_scale
from fairopt.instance import Floats
from fairopt.solving.engines.interior import limit_money

RARE = 590.0
"""log of the money of a limit, above that of all rows, from which it is computed from the share"""


def within_reach(alloc: Allocation, always: bool = False) -> tuple[Floats, Floats]:
    """Prices (I, R) and of limits (N,), the latter from the shares where they are far larger."""
    alloc = Duality.of(alloc).alloc  # the scale is that of its prices
    assert alloc.prices is not None and alloc.limit_prices is not None
    given, mu, inst = alloc.prices, alloc.limit_prices, alloc.instance
    p = given
    stopped, rows = at_limit(alloc), float((p * inst.pool).sum())
    dear = float((mu * np.where(stopped, inst.limit, 0.0)).max()) > rows * np.exp(RARE)
    if alloc.notion["parameters"].get("alpha") == 0 or not stopped.any() or not (dear or always):
        return p, mu
    with np.errstate(all="ignore"):
        if stopped.all():
            p, log_t = np.zeros_like(p), 0.0  # nobody pays for a resource
        else:
            log_t = own_scale(Duality.of(alloc))
        dual = Duality.of(alloc.with_(prices=p, limit_prices=np.zeros_like(mu)))
        log_value = dual.log_w - dual.alpha * dual.log_share - log_t
        best = np.where(inst.eligible, alloc.score, 0.0).max(axis=1)
        above = np.log(-np.expm1(np.minimum(dual.log_cheapest - log_value, 0.0)))
        money = np.where(stopped, log_value + above + np.log(best * inst.limit), -np.inf)
        base = -limit_money.FURTHEST if stopped.all() else np.log(rows)
        paid = np.exp(limit_money.in_range(money, float(base)))
    if not np.isfinite(paid).all() or not (rows > 0 or stopped.all()):
        return given, mu
    return p, np.where(stopped, paid / np.where(stopped, inst.limit, 1.0), mu)
