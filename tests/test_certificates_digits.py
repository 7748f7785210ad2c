"""Sums of k floats against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairopt.certificates import digits


def wide(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of both signs over twelve decades."""
    return rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-6, 6, shape)


def whole(number: np.ndarray) -> Fraction:
    """The number that k floats hold."""
    return sum((Fraction(float(part)) for part in number), Fraction(0))


def parts_of(rng: np.random.Generator, parts: int, size: int) -> np.ndarray:
    """(k, n) numbers of which each float is within half a digit of the one before."""
    found = digits.of(wide(rng, size), parts)
    for _ in range(parts):
        found = digits.plus(found, wide(rng, size) * 2.0 ** (-50.0 * rng.integers(0, parts)))
    return found


def test_sums_and_products_of_two_floats_are_exact() -> None:
    rng = np.random.default_rng(0)
    a, b = wide(rng, 500), wide(rng, 500)
    for function, exact in (
        (digits.exact_sum, lambda x, y: x + y), (digits.exact_product, lambda x, y: x * y),
    ):  # fmt: skip
        high, low = function(a, b)
        for x, y, h, e in zip(a, b, high, low, strict=True):
            right = exact(Fraction(float(x)), Fraction(float(y)))
            assert Fraction(float(h)) + Fraction(float(e)) == right
            assert float(h) == float(right)  # and the first is the rounded one


@pytest.mark.parametrize("parts", [2, 3, 5, 8])
def test_what_is_added_is_kept_to_the_last_digit(parts: int) -> None:
    rng = np.random.default_rng(parts)
    number, more = digits.of(wide(rng, 200), parts), np.zeros(200)
    for size in (0, -30, -60, -90):
        more = wide(rng, 200) * 2.0**size
        found = digits.plus(number, more)
        assert found.shape == (parts, 200)
        for n in range(200):
            right = whole(number[:, n]) + Fraction(float(more[n]))
            largest = max(abs(float(number[0, n])), abs(float(more[n])))
            assert abs(whole(found[:, n]) - right) <= Fraction(largest) / 2 ** (51 * parts - 2)
        number = found


def test_what_is_below_nothing_is_nothing() -> None:
    number = np.array([[1.0, -1.0, 0.0], [-1e-20, 1e-20, 0.0]])
    assert digits.positive(number).tolist() == [[1.0, 0.0, 0.0], [-1e-20, 0.0, 0.0]]


@pytest.mark.parametrize("parts", [2, 3, 6])
@pytest.mark.parametrize("cancels", [False, True])
def test_remainders_of_few_entries_are_exact_but_for_one_rounding(
    parts: int, cancels: bool
) -> None:
    """Also where all but the last digits cancel, which is what judges live by."""
    rng = np.random.default_rng([parts, cancels])
    rows, factor = rng.integers(0, 7, 60), wide(rng, 60)
    amount = parts_of(rng, parts, 60)
    right = [
        sum((Fraction(float(factor[e])) * whole(amount[:, e]) for e in np.flatnonzero(rows == g)),
            Fraction(0)) for g in range(8)
    ]  # fmt: skip
    start = np.array([float(r) for r in right]) if cancels else wide(rng, 8)
    found, error = digits.remainders(start, rows, factor, amount)
    assert not error.any()
    exact = [float(Fraction(float(s)) - r) for s, r in zip(start, right, strict=True)]
    assert found.tolist() == exact
    assert found[7] == start[7]  # a row without entries
    if cancels:
        assert 0 < np.abs(found[:7]).max() <= 2.0**-52 * np.abs(start).max()


def test_remainders_of_many_entries_are_within_their_error() -> None:
    rng = np.random.default_rng(3)
    entries = 3 * digits.FEW
    rows, factor = rng.integers(0, 5, entries), wide(rng, entries)
    amount = parts_of(rng, 2, entries)
    right = [Fraction(0)] * 6
    for e, g in enumerate(rows):
        right[g] += Fraction(float(factor[e])) * whole(amount[:, e])
    start = np.array([float(r) for r in right])
    found, error = digits.remainders(start, rows, factor, amount)
    size = np.abs(start) + np.bincount(rows, np.abs(factor * amount[0]), 6)
    for g in range(6):
        assert abs(Fraction(float(found[g])) - (Fraction(float(start[g])) - right[g])) <= error[g]
    assert (error <= 2.0**-95 * size).all() and (np.abs(found[:5]) > 0).any()
