"""Quantities: every form of the grammar, exactly, with the rounding of Kubernetes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.files.quantities import NoQuantity, quantity, scheduled, short, written

# cases of TestQuantityParse in k8s.io/apimachinery/pkg/api/resource
KNOWN = {
    "0": 0,
    "0Ki": 0,
    "0n": 0,
    "1": 1,
    "1Ki": 2**10,
    "8Ki": 2**13,
    "7Mi": 7 * 2**20,
    "6Gi": 6 * 2**30,
    "5Ti": 5 * 2**40,
    "4Pi": 4 * 2**50,
    "3Ei": 3 * 2**60,
    "5n": "5/1000000000",
    "4u": "4/1000000",
    "3m": "3/1000",
    "8k": 8000,
    "7M": 7 * 10**6,
    "6G": 6 * 10**9,
    "5T": 5 * 10**12,
    "2P": 2 * 10**15,
    "1E": 10**18,
    "1E-3": "1/1000",
    "1e3": 1000,
    "1E6": 10**6,
    "100.035k": 100035,
    "0.0005k": ".5",
    "0.5e-2": "5/1000",
    "1.3E+6": 1300000,
    "1.01E": 1010 * 10**15,
    "3.001n": "4/1000000000",
    "1.1E-9": "2/1000000000",
    "0.0000000001": "1/1000000000",
    "0.9n": "1/1000000000",
    "0.00000012345": "124/1000000000",
    "9Ei": 2**63 - 1,
    "9223372036854775807Ki": 2**63 - 1,
    "12E": 12 * 10**18,
    "100.035Ki": "102435.84",
    "0.5Mi": 2**19,
    "0.05Gi": "53687091.2",
    "0.000000000001Ki": "2/1000000000",
    ".001": "1/1000",
    ".0001k": "1/10",
    "1.": 1,
    "1.G": 10**9,
    "3920m": "3.92",
    "15Gi": 15 * 2**30,
    ".5": "1/2",
    "0.1m": "1/10000",
    "+5": 5,
    "-0": 0,
    "1e-9999": "1/1000000000",
}


@pytest.mark.parametrize("text", KNOWN)
def test_known(text):
    assert quantity(text) == Fraction(KNOWN[text])


@pytest.mark.parametrize(
    "value",
    [
        "12QB",
        "",
        "-1",
        "-1Gi",
        "NaN",
        "inf",
        "1e",
        "0x10",
        "1 Gi",
        "1e99",
        "1e999999999",
        ".",
        "1,5",
        "1e1.5",
        "1" * 70,
        "٣",
        None,
        True,
        1.5,
        float("nan"),
        [],
        {},
        Decimal("NaN"),
        10**40,
    ],
)
def test_refused(value):
    with pytest.raises(NoQuantity):
        quantity(value)


def test_numbers_of_files():
    assert quantity(Decimal("0.1")) == Fraction(1, 10)
    assert quantity(Decimal("1.5E+3")) == 1500
    assert quantity(4) == 4


def test_what_the_scheduler_counts():
    assert scheduled("cpu", quantity("0.1m")) == Fraction(1, 1000)
    assert scheduled("cpu", quantity("1.0001")) == Fraction(1001, 1000)
    assert scheduled("memory", quantity("100.035Ki")) == 102436


@given(st.integers(0, 10**15), st.integers(0, 9))
def test_written_is_exact(digits, places):
    exact = Fraction(digits, 10**places)
    assert quantity(written(exact)) == exact


def test_words():
    assert written(Fraction(1, 3)) == "1/3"
    assert short("memory", 15 * 2.0**30) == "15Gi"
    assert short("cpu", 3.92) == "3.92"
