"""Numbers exactly as somebody wrote them: .1 is a tenth, and not the float next to it."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

LONG = 400
"""characters of a text and digits of a number: what is longer is nobody's amount"""
_TEXT = re.compile(r"[^eE]*([eE][+-]?\d{1,3})?")
"""a text whose power of ten is short: fractions are built digit by digit, 1e999999999 never ends"""


def as_printed(number: float) -> Fraction:
    """A finite float as it is printed.

    Examples
    --------
    >>> from fairopt.exact import as_printed
    >>> as_printed(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(number)))


def reaches(has: Fraction | int, needs: Fraction | int) -> bool:
    """Whether one number is at least another, in a tenth of the time that fractions take.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from fairopt.exact import reaches
    >>> reaches(Fraction(1, 3), Fraction(1, 3)), reaches(0, Fraction(1, 3))
    (True, False)
    """
    mine, theirs = has.numerator * needs.denominator, needs.numerator * has.denominator
    return mine >= theirs


def exact(given: Any) -> Fraction | None:
    """What is given, if it is a number >= 0.

    Parameters
    ----------
    given : anything; numbers are whole ones, floats (as they are printed), fractions, and texts
        such as "2", "5/3", "0.25" or "1e-3".

    Returns
    -------
    The number; None of anything else: no number, a truth value, below 0, not finite, or longer than
    400 digits.

    Examples
    --------
    >>> from fairopt.exact import exact
    >>> exact("5/3"), exact(0.1), exact("-1")
    (Fraction(5, 3), Fraction(1, 10), None)
    """
    if isinstance(given, bool) or not isinstance(given, Real | str):
        return None
    if isinstance(given, str):
        if len(given) > LONG or not _TEXT.fullmatch(given):
            return None
    elif not isinstance(given, Rational):
        number = float(given)
        return as_printed(number) if math.isfinite(number) and number >= 0 else None
    try:
        found = Fraction(given)
    except (ValueError, ZeroDivisionError):
        return None
    short = max(abs(found.numerator), found.denominator) < 10**LONG
    return found if short and found >= 0 else None
