"""Numbers as they were written, and nothing that is no number or never ends."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.exact import as_printed, exact


@given(st.floats(min_value=0, allow_infinity=False))
def test_a_float_is_what_it_prints_as(number: float) -> None:
    assert float(as_printed(number)) == number
    assert str(as_printed(0.1)) == "1/10"


@pytest.mark.parametrize(
    ("written", "number"),
    [("5/3", Fraction(5, 3)), ("0.25", Fraction(1, 4)), ("1e-3", Fraction(1, 1000)), (7, 7), (0, 0)]
    + [(0.1, Fraction(1, 10)), (np.float64(0.1), Fraction(1, 10)), (np.int64(3), 3)]
    + [(Fraction(2, 7), Fraction(2, 7)), (" 2 ", 2)],
)
def test_numbers(written: object, number: object) -> None:
    assert exact(written) == number


@pytest.mark.parametrize(
    "given",
    ["", "two", "-1", "1/0", "1e999999999", "1e-999999999", "1" * 401, "nan", "inf", "1e3e3"]
    + [-1, -0.5, float("nan"), float("inf"), 10**400, Fraction(1, 10**400)]
    + [None, True, False, [1], {}, b"1", 1j],
)
def test_what_is_no_number(given: object) -> None:
    assert exact(given) is None
