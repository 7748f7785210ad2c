"""What a resource of a shape is worth in an answer: the price that the plan shows."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Floats


def prices(answer: Allocation) -> Floats:
    """(I, R) price of one more unit; of max-min the highest of its levels; 0 if unknown."""
    if answer.prices is not None:
        return answer.prices
    if answer.level_prices is not None and len(answer.level_prices):
        highest: Floats = answer.level_prices.max(axis=0)
        return highest
    return np.zeros(answer.instance.capacity.shape)
