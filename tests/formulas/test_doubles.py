"""Sums and products of floats lose nothing, beside fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairopt.formulas.doubles import exact_product, exact_sum

RNG = np.random.default_rng(7)
A = RNG.normal(size=200) * 10.0 ** RNG.integers(-30, 30, 200)
B = RNG.normal(size=200) * 10.0 ** RNG.integers(-30, 30, 200)


@pytest.mark.parametrize(
    ("made", "exact"),
    [(exact_sum, lambda a, b: a + b), (exact_product, lambda a, b: a * b)],
    ids=["sum", "product"],
)
def test_the_two_floats_are_the_result(made, exact):
    high, low = made(A, B)
    for a, b, h, rest in zip(A.tolist(), B.tolist(), high.tolist(), low.tolist(), strict=True):
        whole = exact(Fraction(a), Fraction(b))
        assert Fraction(h) + Fraction(rest) == whole
        assert h == float(whole)
