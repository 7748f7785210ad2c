"""Prices for an answer that came without any, from which its optimum is searched."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import pulls
from fairopt.certificates.asking import kind_of
from fairopt.certificates.due import tangent
from fairopt.certificates.guess import guess_prices
from fairopt.certificates.ruled.prices import as_fields
from fairopt.formulas import penalties, welfare
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import PRICES
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Ints

LEAST_LOG = -600.0
"""log of the least value beside the largest: exp of it is still a number of all digits"""
LEAST_SLOPE = 1e-12
"""part of the largest slope that others have at least"""
NO_PRICES: dict[str, None] = dict.fromkeys(PRICES)
"""fields of an answer without prices"""


def with_prices(alloc: Allocation, label: Ints | None = None) -> Allocation:
    """The answer with prices: its own, or those of which the marginal values of what users have
    are the costs, as nearly as can be. Any prices are a proof.

    Parameters
    ----------
    label : (N,) the part of each user; parts that share no rule get prices in money of their own.
    """
    given = [getattr(alloc, name) for name in PRICES]
    if any(part is not None and part.any() for part in given):
        return alloc
    if pulls.penalised(alloc):
        terms = alloc.terms
        # pulls of hard forms are not known before prices are: they are fitted together (`fitted`)
        return alloc if terms.equal_across or terms.equal_within else _pulled(alloc, terms)
    kind = kind_of(alloc)
    asked = entitled(alloc.instance, alloc.score, kind)
    parameters = kind["parameters"]
    alpha, inside = float(parameters["alpha"]), bool(parameters.get("weight_inside", False))
    log_w = welfare.log_weight(asked.weight, alpha, inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_value = log_w - (alpha * np.log(alloc.shares - asked.base) if alpha else 0.0)
    if label is not None:
        log_value = log_value - _largest(log_value, label)
    if alloc.instance.plain:
        p, mu = guess_prices(alloc, log_value)
        if not (p.any() or mu.any()):  # equal money for every resource
            pool = alloc.instance.pool
            p = np.divide(1.0, pool, out=np.zeros_like(pool), where=pool > 0)
        return alloc.with_(prices=p, limit_prices=mu)
    known = log_value[np.isfinite(log_value)]
    top = float(known.max(initial=LEAST_LOG))
    value = np.exp(np.clip(np.nan_to_num(log_value, nan=top) - top, LEAST_LOG, 0.0))
    found = tangent(alloc, asked.floor, value)
    return alloc.with_(**as_fields(alloc.instance, found))


def _largest(log_value: Floats, label: Ints) -> Floats:
    """(N,) the largest number of each user's part, of those that are finite; 0 where none is."""
    found = np.full(int(label.max()) + 1, -np.inf)
    known = np.isfinite(log_value)
    np.maximum.at(found, label[known], log_value[known])
    return np.where(np.isfinite(found), found, 0.0)[label]


def _pulled(alloc: Allocation, terms: Terms) -> Allocation:
    """The answer with prices that explain the slopes of its penalised objective best."""
    inst = alloc.instance
    with np.errstate(all="ignore"):
        value = penalties.gain(inst, alloc.score, np.maximum(alloc.tasks, 0.0), terms)
    known = np.isfinite(value)
    top = float(np.abs(value[known]).max(initial=0.0))
    if not top > 0:
        return alloc
    score = np.zeros(inst.shape[:2])
    # prices are not negative, even where the slope is
    score[inst.pairs] = np.where(known, np.maximum(value / top, LEAST_SLOPE), 1.0)
    p, mu = guess_prices(alloc.with_(score=score, **NO_PRICES), np.zeros(inst.shape[0]))
    return alloc.with_(prices=p, limit_prices=mu)
