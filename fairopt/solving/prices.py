"""Prices as an answer holds them: of the sum promised, and of limits where floats lose them."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.proof import log_scale
from fairopt.formulas import welfare
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.interior import limit_money

RARE = 590.0
"""log of the money of a limit, above that of all rows, from which it is computed from the share"""
AT = 1e-9
"""a user that has all but this part of its limit is at its limit"""


def normalised(inst: Instance, p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Prices scaled to sum count p c + sum mu limit = sum phi (docs/maths/alpha-fairness.md)."""
    limit = np.where(mu > 0, inst.limit, 0.0)
    money = float((p * inst.pool).sum() + mu @ limit)
    factor = float(inst.weight.sum()) / money
    return p * factor, mu * factor


def within_reach(alloc: Allocation, always: bool = False) -> tuple[Floats, Floats]:
    """Prices (I, R) and of limits (N,), the latter from the shares where they are far larger."""
    assert alloc.prices is not None and alloc.limit_prices is not None
    p, mu, inst = alloc.prices, alloc.limit_prices, alloc.instance
    alpha = welfare.alpha_of(alloc.notion) or 0.0
    stopped, rows = alloc.totals >= inst.limit * (1 - AT), float((p * inst.pool).sum())
    dear = float((mu * np.where(stopped, inst.limit, 0.0)).max()) > rows * np.exp(RARE)
    if alpha == 0 or not stopped.any() or not (dear or always):
        return p, mu
    given = p, mu
    with np.errstate(all="ignore"):
        if stopped.all():
            p, log_t = np.zeros_like(p), 0.0  # nobody pays for a resource
        else:
            log_t = log_scale(alloc)
        inside = bool(alloc.kind["parameters"].get("weight_inside", False))
        log_w = welfare.log_weight(inst.weight, alpha, inside)
        log_value = log_w - alpha * np.log(np.maximum(alloc.shares, 0.0)) - log_t
        cost = np.where(inst.eligible, task_cost(inst, p, slice(None)) / alloc.score, np.inf)
        best = np.where(inst.eligible, alloc.score, 0.0).max(axis=1)
        above = np.log(-np.expm1(np.minimum(np.log(cost.min(axis=1)) - log_value, 0.0)))
        money = np.where(stopped, log_value + above + np.log(best * inst.limit), -np.inf)
        base = -limit_money.FURTHEST if stopped.all() else np.log(rows)
        paid = np.exp(limit_money.in_range(money, float(base)))
    if not np.isfinite(paid).all() or not (rows > 0 or stopped.all()):
        return given
    return p, np.where(stopped, paid / np.where(stopped, inst.limit, 1.0), mu)
