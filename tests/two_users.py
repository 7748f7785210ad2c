"""The alpha-fair optimum of two users on one server by bisection: a reference for judges.

What the second user has is a concave function of what the first has, so the objective is a concave
function of one number, and its slope is followed to the last digit. Nothing of the package is used.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def most_of_second(
    first: float, demand: Array, capacity: Array, limit: float
) -> tuple[float, float]:
    """The most that the second user can have, and how much of it a unit of the first takes."""
    left = [
        (c - a * first) / b if b > 0 else np.inf
        for (a, b), c in zip(demand.T, capacity, strict=True)
    ]
    r = int(np.argmin(left))
    if left[r] >= limit:
        return limit, 0.0
    return left[r], demand[0, r] / demand[1, r]


def best(
    demand: Array, capacity: Array, weight: Array, alpha: float, most: Array, least: Array
) -> Array:
    """(2,) tasks of the users; demand (2, R), capacity (R,), most and least (2,)."""
    with np.errstate(divide="ignore"):
        alone = (capacity / demand).min(axis=1)
        kept = ((capacity - demand[1] * least[1]) / demand[0]).min()
    low, high = max(least[0], 0.0), min(most[0], alone[0], kept)
    for _ in range(200):
        first = 0.5 * (low + high)
        second, taken = most_of_second(first, demand, capacity, most[1])
        if second <= 0:
            high = first
            continue
        # W1 s1^-alpha against W2 s2^-alpha of what a unit takes, in logarithms
        own = np.log(weight[0]) - alpha * np.log(first)
        other = np.log(weight[1] * taken) - alpha * np.log(second) if taken > 0 else -np.inf
        low, high = (first, high) if own > other else (low, first)
    return np.array([high, most_of_second(high, demand, capacity, most[1])[0]])
