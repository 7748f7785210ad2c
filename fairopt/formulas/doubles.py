"""Sums and products of two floats without loss: the rounded result, and its rounding error.

(Dekker 1971; Knuth, The Art of Computer Programming, 4.2.2.)
"""

from __future__ import annotations

from fairopt.instance import Floats

SPLIT = 2.0**27 + 1
"""a float times this, rounded, separates the upper half of its digits"""


def exact_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and its rounding error: together exactly a + b."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product and its rounding error: together exactly a b, if nothing underflows."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Floats) -> tuple[Floats, Floats]:
    shifted = SPLIT * a
    upper = shifted - (shifted - a)
    return upper, a - upper


__all__ = ["exact_product", "exact_sum"]
