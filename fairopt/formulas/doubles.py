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
    return product(a, halves(a), b)


def product(a: Floats, parts: tuple[Floats, Floats], b: Floats) -> tuple[Floats, Floats]:
    """`exact_product` of an `a` whose halves are known."""
    product = a * b
    (a1, a2), (b1, b2) = parts, halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def halves(a: Floats) -> tuple[Floats, Floats]:
    """The upper and the lower half of the digits."""
    shifted = SPLIT * a
    upper = shifted - (shifted - a)
    return upper, a - upper


__all__ = ["exact_product", "exact_sum", "halves", "product"]
