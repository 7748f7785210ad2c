"""An answer's prices by the rows of its feasible set; and the answer in limits alone."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.limits import limited
from fairopt.formulas.lowered import (
    BOUND,
    CAPACITY,
    DOWN_OF_TWO,
    LIMIT,
    PLACE,
    PRICES,
    QUOTA,
    RULE,
    Lowered,
)
from fairopt.instance import Floats


def listed_prices(alloc: Allocation, low: Lowered) -> Floats:
    """(M,) the prices of an answer, by the rows of its lowered system."""
    found = np.zeros(len(low.rhs))
    for kind, name in (
        (CAPACITY, "prices"),
        (LIMIT, "limit_prices"),
        (BOUND, "bound_prices"),
        (QUOTA, "node_prices"),
        (PLACE, "limit_on_prices"),
    ):
        own, at = getattr(alloc, name), low.kind == kind
        if own is not None and at.any():
            one = own[low.one[at]] if own.ndim == 1 else own[low.one[at], low.two[at]]
            found[at] = numbers(one, len(one))
    at = low.kind == RULE
    if alloc.rule_prices is not None and at.any():
        sign = np.where(low.two[at] == DOWN_OF_TWO, -1.0, 1.0)
        found[at] = numbers(sign * alloc.rule_prices[low.one[at]], int(at.sum()))
    return found


def numbers(prices: Floats | None, size: int) -> Floats:
    """(size,) prices that are numbers >= 0; 0 for others, and where there are none."""
    if prices is None:
        return np.zeros(size)
    flat = np.asarray(prices, dtype=np.float64).ravel()
    return np.where(np.isfinite(flat) & (flat > 0), flat, 0.0)


def in_limits(alloc: Allocation, who: str) -> Allocation:
    """The same tasks as an answer of the plain instance, for a caller `who` that knows no other.

    Raises
    ------
    UsageError : something that is no limit of a single user, named.
    """
    if alloc.instance.plain:
        return alloc
    found = limited(alloc.instance, who)
    limits = None
    if alloc.prices is not None:
        limits = found.to_limits(listed_prices(alloc, found.low))
    return Allocation(
        found.instance,
        dict(alloc.notion),
        alloc.tasks,
        alloc.prices,
        limits,
        alloc.level_prices,
        alloc.score,
        steps=alloc.steps,
    )


__all__ = ["PRICES", "in_limits", "listed_prices", "numbers"]
