"""Products of floating-point numbers compared as real numbers, without error.

The product a b is fl(a b) + e, where both parts are floating-point numbers (Dekker 1971, by
Veltkamp's splitting). So two products are equal, or ordered, exactly if these pairs are. If a part
would over- or underflow, the answer is False.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats

SPLITTER = 2.0**27 + 1.0
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-280, 1e280
"""outside this range a part of a product may over- or underflow"""


def equal_products(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Whether a b = c d exactly, for numbers >= 0; False also if that cannot be decided."""
    left, right = _product(a, b), _product(c, d)
    found: Bools = (left[0] == right[0]) & (left[1] == right[1])
    return found


def at_most(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Whether a b <= c d exactly, for numbers >= 0; False also if that cannot be decided.

    Rounding is monotone, so errors matter only for products that round to the same number.
    """
    with np.errstate(over="ignore", under="ignore"):
        left, right = np.broadcast_arrays(a * b, c * d)
    found: Bools = (left < right) & (right < np.inf)
    tie = left == right
    if tie.any():
        parts = [np.broadcast_to(part, tie.shape)[tie] for part in (a, b, c, d)]
        found[tie] = _product(*parts[:2])[1] <= _product(*parts[2:])[1]
    return found


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """fl(a b) and the error a b - fl(a b); the error is NaN if it is not known."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        p = a * b
        a_high, a_low = _split(a)
        b_high, b_low = _split(b)
        error = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
    known = ((p > SMALLEST_PRODUCT) & (p < LARGEST_PRODUCT)) | (a == 0) | (b == 0)
    return p, np.where(known, error, np.nan)


def _split(a: Floats) -> tuple[Floats, Floats]:
    """Two halves of 26 bits whose sum is a."""
    t = SPLITTER * a
    high = t - (t - a)
    return high, a - high
