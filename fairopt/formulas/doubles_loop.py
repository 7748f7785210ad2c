"""Sums of products of floats to the digits of two or three, in loops to be compiled (`doubles`).

Every operation rounds by itself: nothing is fused or put in another order.
"""

from __future__ import annotations

from typing import Any

from fairopt.fast import inner
from fairopt.formulas.doubles import SPLIT


@inner
def plus(high, low, more) -> Any:  # type: ignore[no-untyped-def]
    """A sum of two floats and one more."""
    total = high + more
    back = total - high
    return total, low + ((high - (total - back)) + (more - back))


@inner
def multiplied(a, b) -> Any:  # type: ignore[no-untyped-def]
    """A product and its rounding error, exactly if nothing underflows."""
    product = a * b
    upper, lower = a * SPLIT, b * SPLIT
    upper, lower = upper - (upper - a), lower - (lower - b)
    rest = a - upper, b - lower
    error = ((upper * lower - product) + upper * rest[1] + rest[0] * lower) + rest[0] * rest[1]
    return product, error


@inner
def less(high, low, a, b) -> Any:  # type: ignore[no-untyped-def]
    """Two floats less the product of two others, to the digits of two."""
    product, error = multiplied(a, b)
    high, low = plus(high, low, -product)
    return high, low - error


@inner
def added(high, middle, low, a, b) -> Any:  # type: ignore[no-untyped-def]
    """Three floats and the product of two others, to the digits of three: what the first does not
    hold goes to the second, what that does not to the third, where alone anything is rounded."""
    product, error = multiplied(a, b)
    high, rest = plus(high, 0.0, product)
    middle, last = plus(middle, 0.0, rest)
    middle, error = plus(middle, 0.0, error)
    return high, middle, low + (last + error)


__all__ = ["added", "less", "multiplied", "plus"]
