"""Numbers held as two floats, high and low: sums and products with twice the digits.

A row filled to the last digit of a float still has 1e-16 of itself left, which is all that a user
of little money has. Held as two floats, the tasks fill it to 1e-32. (Dekker 1971; Knuth, The Art of
Computer Programming, 4.2.2.) The second float is as good as a float can be; the pair has about 104
bits.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats, Ints

SPLIT = 2.0**27 + 1
"""a float times this, rounded, separates the upper half of its digits"""
DIGITS = 2.0**-100
"""relative error of a few operations on twofold numbers"""
FEW = 2_000
"""entries up to which rows are summed one by one"""


class Twofold(NamedTuple):
    """The numbers high + low, each |low| within half a digit of high."""

    high: Floats
    low: Floats

    @classmethod
    def of(cls, number: Floats) -> Twofold:
        return cls(number, np.zeros_like(number))

    def at(self, where: Ints) -> Twofold:
        """Some of the numbers."""
        return Twofold(self.high[where], self.low[where])

    def plus(self, other: Floats | Twofold) -> Twofold:
        high, low = other if isinstance(other, Twofold) else (other, 0.0)
        total, error = exact_sum(self.high, high)
        return Twofold(*exact_sum(total, error + (self.low + low)))

    def times(self, factor: Floats) -> Twofold:
        high, error = exact_product(self.high, factor)
        return Twofold(*exact_sum(high, error + self.low * factor))

    def over(self, divisor: Floats) -> Twofold:
        first = self.high / divisor
        back, error = exact_product(first, divisor)
        return Twofold(*exact_sum(first, ((self.high - back) - error + self.low) / divisor))

    def minus(self, other: Twofold) -> Floats:
        """The difference, as one float: exact to its last digit where the numbers are close."""
        total, error = exact_sum(self.high, -other.high)
        found: Floats = total + (error + (self.low - other.low))
        return found


def exact_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and its rounding error: together exactly a + b."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product and its rounding error: together exactly a b, if nothing underflows."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Floats) -> tuple[Floats, Floats]:
    shifted = SPLIT * a
    upper = shifted - (shifted - a)
    return upper, a - upper


def remainders(whole: Floats, rows: Ints, factor: Floats, amount: Twofold) -> Floats:
    """(G,) whole - sum of factor times amount over the entries of each row, to 2^-104 of the
    largest term and better.

    Parameters
    ----------
    whole : (G,). rows : (K,) the row of each entry. factor : (K,). amount : (K,).
    """
    high, low = exact_product(factor, amount.high)
    rest = low + factor * amount.low
    if len(rows) <= FEW:
        return _one_by_one(whole, rows, high, rest)
    return _at_once(whole, rows, high, rest)


def _one_by_one(whole: Floats, rows: Ints, high: Floats, rest: Floats) -> Floats:
    """whole - the sum of high and rest, row by row."""
    found = np.array(whole)
    order = np.argsort(rows, kind="stable")
    used, main, more = rows[order], high[order].tolist(), rest[order].tolist()
    changes = np.flatnonzero(used[1:] != used[:-1]) + 1
    ends = [0, *changes.tolist(), len(main)]
    for a, b in itertools.pairwise(ends):
        if a < b:
            row = used[a]
            found[row] = -math.fsum([-whole[row], *main[a:b], *more[a:b]])
    return found


def _at_once(whole: Floats, rows: Ints, high: Floats, rest: Floats) -> Floats:
    """The same for many entries, without a loop: high is cut into layers of few digits.

    A layer holds multiples of one power of two, so few digits that their sum over a row is exact
    (Rump, Ogita, Oishi, Accurate Floating-Point Summation I, 2008, Algorithm 3.2). Three layers
    hold all but 2^-90 of the largest term, for a million entries; what is left is added as it is.
    """
    size = len(whole)
    top = np.zeros(size)
    np.maximum.at(top, rows, np.abs(high))
    # 2^bits is more than twice the entries of any row: two numbers of each are summed
    bits = int(np.frexp(2.0 * np.bincount(rows, minlength=size).max() + 2.0)[1])
    unit = np.ldexp(1.0, np.frexp(top)[1] + bits)
    above, below = np.negative(whole), np.zeros(size)
    for layer in range(3):
        each = unit[rows]
        part = (each + high) - each
        high = high - part
        if layer:
            more = (each + rest) - each
            rest = rest - more
            part += more
        total: Floats = np.asarray(np.bincount(rows, part, size), dtype=np.float64)
        above, error = exact_sum(above, total)
        below += error
        unit = np.ldexp(unit, bits - 53)
    return -(above + (below + np.bincount(rows, high + rest, size)))
