"""Quantities of Kubernetes, exactly: "3920m", "15Gi", "1e3", "1E", ".5" are fractions, not floats.

The grammar, the suffixes and the rounding are those of `resource.ParseQuantity`; the scheduler then
counts CPU in thousandths of a core and everything else in whole units, both rounded up.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from fairopt.instance.reading import shown

WANTED = 'a quantity such as "500m", "2", "1.5Gi" or "1e3", not below 0'

_FORM = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {f"{letter}i": 10 * (k + 1) for k, letter in enumerate("KMGTPE")}
_LARGEST_BINARY = 2**63 - 1
"""binary quantities are capped here"""
_LONGEST = 64
"""longest text looked at, in characters"""
_LARGEST_QUANTITY = 10**30
"""no quantity is larger"""
_NANO = 10**9


class NoQuantity(ValueError):
    """A value is no quantity; the text says what was found."""


def quantity(value: Any) -> Fraction:
    """The exact value of a quantity, >= 0.

    As Kubernetes does, what is finer than 1e-9 is rounded up, and a binary quantity above 2^63 - 1
    is capped there.

    Parameters
    ----------
    value : the text of the quantity, or a number as JSON and YAML have it. A float is not taken: it
        is no longer what was written.

    Raises
    ------
    NoQuantity : not of the form, below 0, or above 1e30.
    """
    if isinstance(value, Decimal):
        value = str(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < _LARGEST_QUANTITY else "a number above 1e30"
    if not isinstance(value, str):
        raise NoQuantity(shown(value))
    return _parsed(value.strip())


@lru_cache(maxsize=65536)
def _parsed(text: str) -> Fraction:
    form = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if form is None:
        raise NoQuantity(shown(text))
    sign, number, suffix = form.groups()
    exact = _valued(text, number, suffix or "")
    if sign == "-" and exact:
        raise NoQuantity(f"{shown(text)}, which is below 0")
    if exact > _LARGEST_QUANTITY:
        raise NoQuantity(f"{shown(text)}, which is above 1e30")
    return Fraction(ceil(exact * _NANO), _NANO)


def _valued(text: str, number: str, suffix: str) -> Fraction:
    """The value of a number with its suffix, before it is rounded."""
    mantissa = Fraction(f"0{number}" if number.startswith(".") else number.rstrip("."))
    if suffix in _BINARY:
        return min(mantissa * (1 << _BINARY[suffix]), Fraction(_LARGEST_BINARY))
    if not mantissa:
        return mantissa
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0) if suffix else 0
    if power > 100:
        raise NoQuantity(f"{shown(text)}, which is above 1e30")
    # anything as small as this is rounded up to 1e-9; its exact value would fill the memory
    scale: int = 10 ** min(abs(power), 200)
    return mantissa * scale if power > 0 else mantissa / scale


def scheduled(resource: str, exact: Fraction) -> Fraction:
    """What a scheduler counts of an amount: CPU in thousandths of a core, else whole units, up."""
    fine = 1000 if resource == "cpu" else 1
    return Fraction(ceil(exact * fine), fine)


def written(exact: Fraction) -> str:
    """An amount without loss: a decimal number where there is one, else a fraction."""
    if exact.denominator == 1:
        return str(exact.numerator)
    twos = fives = 0
    rest = exact.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{exact.numerator}/{exact.denominator}"
    places = max(twos, fives)
    digits = str(exact.numerator * 10**places // exact.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


_UNITS = ((2**60, "Ei"), (2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def short(resource: str, amount: float) -> str:
    """An amount for people, at three digits: memory in binary units, the rest as a number."""
    if resource == "memory" or resource.endswith("storage") or resource.startswith("hugepages-"):
        for size, unit in _UNITS:
            if abs(amount) >= size:
                return f"{amount / size:.4g}{unit}"
    return f"{amount:.4g}"
