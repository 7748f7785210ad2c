"""Numbers of several floats beside fractions: what is said to be exact is; errors are bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairopt.certificates import digits


def value(number: np.ndarray) -> list[Fraction]:
    """(n,) the numbers (k, n), exactly."""
    return [sum((Fraction(float(p)) for p in column), Fraction(0)) for column in number.T]


def many(rng: np.random.Generator, parts: int, size: int) -> np.ndarray:
    """Numbers of `parts` floats, of both signs and of many sizes."""
    found = digits.of(rng.normal(size=size) * 10.0 ** rng.integers(-9, 9, size), parts)
    for k in range(1, parts):
        found = digits.plus(found, found[0] * rng.normal(size=size) * 2.0 ** (-53 * k))
    return found


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_sums_keep_every_digit_that_they_have_room_for(parts: int) -> None:
    rng = np.random.default_rng(parts)
    number = many(rng, parts, 200)
    more = number[0] * rng.normal(size=200) * 10.0 ** rng.integers(-30, 1, 200)
    found = digits.plus(number, more)
    for before, added, after in zip(value(number), more.tolist(), value(found), strict=True):
        exact = before + Fraction(added)
        assert abs(after - exact) <= abs(exact) * Fraction(1, 2 ** (53 * parts - 8))


def test_two_floats_hold_a_sum_and_a_product_exactly() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500)) * 10.0 ** rng.integers(-20, 20, (2, 500))
    for function, exact in (
        (digits.exact_sum, lambda x, y: x + y),
        (digits.exact_product, lambda x, y: x * y),
    ):
        high, low = function(a, b)
        for x, y, h, r in zip(a, b, high, low, strict=True):
            whole = exact(Fraction(float(x)), Fraction(float(y)))
            assert Fraction(float(h)) + Fraction(float(r)) == whole
            assert float(h) == float(whole)


@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize(("parts", "entries"), [(1, 60), (2, 60), (4, 60), (2, 6_000), (3, 6_000)])
def test_what_is_left_of_rows_is_exact_or_within_its_error(
    parts: int, entries: int, sign: float
) -> None:
    """Rows that are full to the last digit: nearly everything cancels."""
    rng = np.random.default_rng([parts, entries])
    rows = np.sort(rng.integers(0, 7, entries))
    rng.shuffle(rows)
    factor = rng.uniform(0.1, 1, entries) * 10.0 ** rng.integers(-6, 1, entries)
    amount = many(rng, parts, entries)
    if sign:  # all of one sign, in place of both
        amount = amount * sign * np.sign(amount[0])
    sums = [Fraction(0)] * 8
    for row, f, x in zip(rows.tolist(), factor.tolist(), value(amount), strict=True):
        sums[row] += Fraction(f) * x
    whole = np.array([float(s) for s in sums])  # the last row is empty
    left, error = digits.remainders(whole, rows, factor, amount)
    for k in range(8):
        exact = Fraction(float(whole[k])) - sums[k]
        room = Fraction(float(error[k])) + abs(exact) * Fraction(1, 2**52)
        assert abs(Fraction(float(left[k])) - exact) <= room
        # one float would see nothing of it
        assert error[k] <= 1e-20 * max(abs(whole[k]), float(np.abs(amount).max()) * entries)
    if entries <= digits.FEW_ENTRIES or parts > 2:
        assert not error.any()
    else:  # a part of all that was added, whatever its sign
        terms = np.bincount(rows, np.abs(factor * amount[0]), 8) + np.abs(whole)
        np.testing.assert_allclose(error, 2.0**-96 * terms, rtol=1e-9)


def test_a_number_below_nothing_is_nothing() -> None:
    number = np.array([[1.0, -1.0, 0.0], [1e-20, 1e-20, 0.0]])
    assert digits.positive(number).tolist() == [[1.0, 0.0, 0.0], [1e-20, 0.0, 0.0]]


@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_the_first_float_is_the_number_rounded_even_where_all_before_it_is_gone(parts) -> None:
    """Decisions are taken by the first float: where the leading one cancels, the next moves up."""
    number = np.array([[1.0, -3.0, 1.0]] + [[2.0 ** (-60 * k)] * 3 for k in range(1, parts)])
    found = digits.plus(number, np.array([-1.0, 3.0, -1.0 - 2.0**-52]))
    exact = value(number)
    for n, more in enumerate((-1, 3, Fraction(-1) - Fraction(1, 2**52))):
        whole = exact[n] + Fraction(more)
        assert value(found)[n] == whole
        assert found[0, n] == float(whole)


@pytest.mark.parametrize("entries", [20, 300])
def test_sums_made_ready_once_are_those_of_their_entries(entries: int) -> None:
    """Of one list of entries at several amounts, to the last bit."""
    rng = np.random.default_rng(entries)
    rows, at = rng.integers(0, 7, entries), rng.integers(0, 9, entries)
    factor, whole = rng.normal(size=entries), rng.normal(size=7)
    ready = digits.ExactSums(rows, factor, at)
    for second in (0.0, 1e-17, 1e-18):
        amount = np.stack([rng.normal(size=9), second * rng.normal(size=9)])
        found, error = ready.left(whole, amount)
        expected, wrong = digits.remainders(whole, rows, factor, amount[:, at])
        assert found.tobytes() == expected.tobytes() and error.tobytes() == wrong.tobytes()


def test_other_factors_of_the_same_entries():
    rng = np.random.default_rng(4)
    rows, at = rng.integers(0, 5, 40), rng.integers(0, 12, 40)
    first = digits.ExactSums(rows, rng.normal(size=40), at)
    whole, amount = rng.normal(size=5), rng.normal(size=(2, 12))
    first.left(whole, amount)
    other = rng.normal(size=40)
    anew = digits.ExactSums(rows, other, at).left(whole, amount)
    for one, two in zip(first.of(other).left(whole, amount), anew, strict=True):
        np.testing.assert_array_equal(one, two)
