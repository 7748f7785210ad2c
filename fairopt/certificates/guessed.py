"""Prices for an answer that came without any, from which its optimum is searched."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.due import tangent
from fairopt.certificates.guess import guess_prices
from fairopt.formulas import welfare
from fairopt.formulas.entitled import entitled

LEAST = -600.0


def with_prices(alloc: Allocation) -> Allocation:
    """The answer with prices: its own, or those of which the marginal values of what users have
    are the costs, as nearly as can be. Any prices are a proof."""
    given = (alloc.prices, alloc.limit_prices, alloc.bound_prices, alloc.node_prices,
             alloc.limit_on_prices)  # fmt: skip
    if any(part is not None and part.any() for part in given):
        return alloc
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    parameters = alloc.kind["parameters"]
    alpha, inside = float(parameters["alpha"]), bool(parameters.get("weight_inside", False))
    log_w = welfare.log_weight(asked.weight, alpha, inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_value = log_w - (alpha * np.log(alloc.shares - asked.base) if alpha else 0.0)
    if alloc.instance.plain:
        p, mu = guess_prices(alloc, log_value)
        if not (p.any() or mu.any()):  # equal money for every resource
            pool = alloc.instance.pool
            p = np.divide(1.0, pool, out=np.zeros_like(pool), where=pool > 0)
        return alloc.with_(prices=p, limit_prices=mu)
    known = log_value[np.isfinite(log_value)]
    top = float(known.max(initial=LEAST))
    value = np.exp(np.clip(np.nan_to_num(log_value, nan=top) - top, LEAST, 0.0))
    found = tangent(alloc, asked.floor, value)
    return alloc.with_(
        prices=found.capacity, limit_prices=found.limits, bound_prices=found.bounds,
        node_prices=found.nodes, limit_on_prices=found.places if found.places.size else None,
    )  # fmt: skip
