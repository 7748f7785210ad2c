r"""Numbers of as many digits as a proof needs: sums of k floats, and sums of their products.

A row filled to the last digit of a float still has 1e-16 of itself left, which is all that a user
of little money has. A number held as k floats, (k,) + shape, each within half a digit of the one
before, has 53 k bits. (Dekker 1971; Knuth, The Art of Computer Programming, 4.2.2.)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from fairopt.formulas.doubles import exact_product, exact_sum, halves, product
from fairopt.instance import Floats, Ints

FEW_ENTRIES = 100
"""entries up to which rows are summed one by one, which is exact"""
SURE = 2.0**-96
"""part of the sum of all terms by which a sum of more entries of two floats may be wrong; what is
left out is below 2^-104 of it (`_at_once`)"""


def of(number: Floats, parts: int) -> Floats:
    """(k, n) the floats (n,) with more digits, all 0."""
    found = np.zeros((parts, *number.shape))
    found[0] = number
    return found


def few(number: Floats) -> Floats:
    """`of` in two floats, of numbers that are mostly 0: what is 0 takes no memory."""
    found, on = np.zeros((2, *number.shape)), np.flatnonzero(number)
    found[0, on] = number[on]
    return found


def plus(number: Floats, more: Floats) -> Floats:
    """(k, n) + (n,): what does not fit into k floats is rounded off."""
    found = np.empty_like(number)
    carry = more
    for k, part in enumerate(number):
        found[k], carry = exact_sum(part, carry)
    for _ in range(2):
        for k in range(len(found) - 1, 0, -1):
            found[k - 1], found[k] = exact_sum(found[k - 1], found[k])
    return found


def positive(number: Floats) -> Floats:
    """(k, n) the number where it is above 0, else 0."""
    return np.where(number[0] > 0, number, 0.0)


def remainders(whole: Floats, rows: Ints, factor: Floats, amount: Floats) -> tuple[Floats, Floats]:
    """(G,) whole - sum of factor times amount over the entries of each row, and (G,) its error; see
    `ExactSums`.

    Parameters
    ----------
    whole : (G,). rows : (E,) the row of each entry. factor : (E,). amount : (k, E).
    """
    return ExactSums(rows, factor, None).left(whole, amount)


class ExactSums:
    """Sums of factor times amount over the entries of rows, made ready once for many amounts.

    Of few entries, and where amounts have more than two floats, sums are exact but for the last
    rounding, which cannot change a sign.

    Parameters
    ----------
    rows : (E,) the row of each entry. factor : (E,). at : (E,) the amount that it multiplies; None:
        its own.
    """

    def __init__(self, rows: Ints, factor: Floats, at: Ints | None) -> None:
        self.rows, self.factor, self.at = rows, factor, at

    @cached_property
    def _halves(self) -> tuple[Floats, Floats]:
        return halves(self.factor)

    @cached_property
    def _by_row(self) -> tuple[Ints, Floats, tuple[Floats, Floats], list[tuple[int, int, int]]]:
        """Row by row: the amount of each entry, its factor, the halves of that; and each row, with
        where its entries begin and end."""
        order = np.argsort(self.rows, kind="stable")
        rows, factor = self.rows[order], self.factor[order]
        ends = [0, *((rows[1:] != rows[:-1]).nonzero()[0] + 1).tolist(), len(rows)]
        pieces = zip(rows[ends[:-1]].tolist(), ends[:-1], ends[1:], strict=True)
        at = order if self.at is None else self.at[order]
        return at, factor, halves(factor), list(pieces)

    def left(self, whole: Floats, amount: Floats) -> tuple[Floats, Floats]:
        """(G,) whole (G,) less the sums at amounts (k, A), and (G,) its error."""
        if len(self.rows) <= FEW_ENTRIES or len(amount) > 2:
            return self._one_by_one(whole, amount), np.zeros(len(whole))
        given = amount if self.at is None else amount[:, self.at]
        high, low = product(self.factor, self._halves, given[0])
        rest = low + self.factor * given[1]
        size = np.abs(whole) + np.bincount(self.rows, np.abs(high), len(whole))
        return _at_once(whole, self.rows, high, rest), np.asarray(SURE * size)

    def _one_by_one(self, whole: Floats, amount: Floats) -> Floats:
        """The exact sums, rounded once."""
        if not len(self.rows):
            return np.array(whole, dtype=np.float64)
        some = [0, *(k for k in range(1, len(amount)) if amount[k].any())]
        at, factor, cut, pieces = self._by_row
        given = (amount[some] if len(some) < len(amount) else amount)[:, at]
        # entry by entry all floats of its product, so that those of a row are one piece of the list
        products = np.concatenate(product(factor, cut, given))
        terms: list[float] = products.T.ravel().tolist()
        found: list[float] = whole.tolist()
        for row, a, b in pieces:
            own = terms[a * len(products) : b * len(products)]
            own.append(-found[row])
            found[row] = -math.fsum(own)
        return np.array(found)


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


__all__ = ["ExactSums", "exact_product", "exact_sum", "of", "plus", "positive", "remainders"]
