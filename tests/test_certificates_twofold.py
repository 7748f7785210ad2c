"""Sums and products of twofold numbers, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.certificates.twofold import DIGITS, FEW, Twofold, exact_product, exact_sum, remainders

NUMBER = st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30)


def exact(number: Twofold) -> Fraction:
    return Fraction(float(number.high[0])) + Fraction(float(number.low[0]))


def one(number: float) -> np.ndarray:
    return np.array([number])


@given(NUMBER, NUMBER)
def test_a_sum_and_a_product_with_their_errors_are_exact(a: float, b: float) -> None:
    assert exact(Twofold(*exact_sum(one(a), one(b)))) == Fraction(a) + Fraction(b)
    assert exact(Twofold(*exact_product(one(a), one(b)))) == Fraction(a) * Fraction(b)


@given(NUMBER, NUMBER, NUMBER, NUMBER)
def test_twice_the_digits_are_kept(a: float, b: float, c: float, d: float) -> None:
    product = Twofold.of(one(a)).times(one(b))
    ratio = product.over(one(c))
    wanted = Fraction(a) * Fraction(b) / Fraction(c)
    assert abs(exact(ratio) - wanted) <= abs(wanted) * Fraction(DIGITS)
    total = ratio.plus(one(d))
    size = abs(wanted) + abs(Fraction(d))
    assert abs(exact(total) - wanted - Fraction(d)) <= size * Fraction(DIGITS)
    apart = Fraction(float(total.minus(ratio)[0]))
    assert abs(apart - Fraction(d)) <= abs(Fraction(d)) * Fraction(2) ** -52 + size * Fraction(
        DIGITS
    )


@given(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=5))
def test_what_is_left_of_a_row_is_exact(entries: list[tuple[float, float]]) -> None:
    factor, amount = (np.array(side) for side in zip(*entries, strict=True))
    rows = np.arange(len(factor)) % 2
    found = remainders(np.array([1.0, 2.0, 3.0]), rows, factor, Twofold.of(amount))
    for row in range(3):
        parts = [Fraction(float(f)) * Fraction(float(a))
                 for f, a, r in zip(factor, amount, rows, strict=True) if r == row]  # fmt: skip
        wanted = row + 1 - sum(parts)
        size = row + 1 + sum(map(abs, parts))
        error = abs(Fraction(float(found[row])) - wanted)
        assert error <= abs(wanted) * Fraction(2) ** -52 + size * Fraction(DIGITS)


@pytest.mark.parametrize("decades", [0, 20])
@pytest.mark.parametrize("entries", [FEW - 1, 60_000])
def test_what_is_left_of_rows_of_many_entries(entries: int, decades: int) -> None:
    """Rows filled to the last digit, of very unlike size; one without entries."""
    rng = np.random.default_rng(entries)
    rows = rng.integers(0, 4, entries)
    factor = rng.lognormal(0, 1, entries) * 10.0 ** (rng.uniform(-decades, 0, entries) + 8 * rows)
    amount = Twofold(*exact_sum(rng.random(entries), 1e-17 * rng.normal(size=entries)))
    totals = [Fraction(0)] * 5
    for f, a, b, r in zip(factor, amount.high, amount.low, rows, strict=True):
        totals[r] += Fraction(float(f)) * (Fraction(float(a)) + Fraction(float(b)))
    whole = np.array([float(total) for total in totals])
    found = remainders(whole, rows, factor, amount)
    for row, total in enumerate(totals):
        wanted = Fraction(float(whole[row])) - total
        error = abs(Fraction(float(found[row])) - wanted)
        assert error <= abs(wanted) * Fraction(2) ** -51 + total * Fraction(2) ** -103
