"""Systems of linear equations in integers, solved exactly: digit by digit in base p (Dixon).

Rows and columns that a square regular system leaves out are found in numbers modulo p, where there
is no rounding; whatever comes of it is checked in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, isqrt
from typing import Any

import numpy as np

from fairopt.instance import Ints

P = 2**31 - 1
"""a prime of which products of two remainders, and sums of those of half as many digits, fit"""
HALF = 16
"""digits of the lower part of a remainder"""
FIRST = 8
"""digits in base p after which a solution is looked for; then half as many more, ..."""
MOST_DIGITS = 4_000
"""most digits in base p"""


@dataclass(frozen=True)
class Sparse:
    """Integers: row, column and value of each entry, in order of rows; shape (R, C)."""

    row: Ints
    column: Ints
    value: list[int]
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: Sequence[dict[int, int]], columns: int) -> Sparse:
        """From the entries of each row by column."""
        row = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        column = np.array([c for each in rows for c in each], dtype=np.int64)
        value = [v for each in rows for v in each.values()]
        return cls(row, column, value, (len(rows), columns))

    def modulo(self) -> Ints:
        """(R, C) all entries modulo p."""
        found = np.zeros(self.shape, dtype=np.int64)
        np.add.at(found, (self.row, self.column), [v % P for v in self.value])
        return found % P

    def times(self, vector: Any) -> Any:
        """(R,) the product with integers (C,), as an array of objects."""
        found = np.zeros(self.shape[0], dtype=object)
        if len(self.value):
            found[self._some] = np.add.reduceat(self._values * vector[self.column], self._first)
        return found

    @cached_property
    def _values(self) -> Any:
        return objects(self.value)

    @cached_property
    def _first(self) -> Ints:
        """Where the entries of a row begin, of rows that have some."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @cached_property
    def _some(self) -> Ints:
        """Rows that have entries."""
        return self.row[self._first]

    def part(self, rows: Ints, columns: Ints) -> Sparse:
        """Some rows and columns, in this order."""
        to_row, to_column = np.full(self.shape[0], -1), np.full(self.shape[1], -1)
        to_row[rows], to_column[columns] = np.arange(len(rows)), np.arange(len(columns))
        row, column = to_row[self.row], to_column[self.column]
        keep = np.flatnonzero((row >= 0) & (column >= 0))
        keep = keep[np.argsort(row[keep], kind="stable")]
        value = [self.value[k] for k in keep.tolist()]
        return Sparse(row[keep], column[keep], value, (len(rows), len(columns)))


def solved(
    matrix: Sparse, right: Sequence[int], given: Sequence[Fraction], must: int
) -> tuple[list[int], int] | None:
    """Numerators (C,) and the one denominator of a solution of the first `must` rows, and of as
    many of the others as those leave open; None where there is none, or it has too many digits.

    Parameters
    ----------
    right : (R,). given : (C,) about what is looked for: what columns that the rows do not determine
        keep exactly; which these are is chosen by the sizes of columns at `given`.
    """
    rows, columns = basis(matrix, _by_size(matrix, given))
    beside = np.setdiff1d(np.arange(matrix.shape[1]), columns)
    fixed = [given[c] for c in beside.tolist()]
    scale = 1
    for value in fixed:
        scale = scale * value.denominator // gcd(scale, value.denominator)
    kept = objects([int(value * scale) for value in fixed])
    wanted = objects([b * scale for b in right]) - matrix.part(
        np.arange(matrix.shape[0]), beside
    ).times(kept)
    square = matrix.part(rows, columns)
    found = lifted(square, wanted[rows])
    if found is None:
        return None
    number, bottom = found
    x = np.zeros(matrix.shape[1], dtype=object)
    x[columns], x[beside] = number, kept * bottom
    if any((matrix.times(x) - objects([b * scale * bottom for b in right]))[:must]):
        return None
    return x.tolist(), bottom * scale


def _by_size(matrix: Sparse, given: Sequence[Fraction]) -> Ints:
    """(C,) columns in the order in which they should be in a basis: that of a factorisation of
    what each has in rows at `given`."""
    from scipy.linalg import qr

    size = np.zeros(matrix.shape)
    size[matrix.row, matrix.column] = [_float(v) for v in matrix.value]
    size = size * np.maximum([_float(v) for v in given], 1e-300)
    most = np.abs(size).max(axis=1, initial=0.0)
    size /= np.where(most > 0, most, 1.0)[:, None]
    order: Ints = qr(size, mode="r", pivoting=True, check_finite=False)[1]
    return order


def basis(matrix: Sparse, order: Ints) -> tuple[Ints, Ints]:
    """Rows, the first ones that are independent, and columns of a square regular system.

    Parameters
    ----------
    order : (C,) columns, those that should be in it first.
    """
    left = matrix.modulo()[:, order]
    rows, columns = list[int](), list[int]()
    for row in range(len(left)):
        some = np.flatnonzero(left[row])
        if len(some):
            at = int(some[0])
            rows.append(row)
            columns.append(at)
            factor = left[row] * pow(int(left[row, at]), -1, P) % P
            below = row + 1 + np.flatnonzero(left[row + 1 :, at])
            left[below] = (left[below] - left[below, at][:, None] * factor) % P
    return np.array(rows, dtype=np.int64), order[np.array(columns, dtype=np.int64)]


def inverse(matrix: Ints) -> Ints | None:
    """The inverse modulo p; None of a matrix that is not regular."""
    size = len(matrix)
    both = np.hstack([matrix % P, np.eye(size, dtype=np.int64)])
    for k in range(size):
        some = np.flatnonzero(both[k:, k])
        if not len(some):
            return None
        at = k + int(some[0])
        both[[k, at]] = both[[at, k]]
        both[k] = both[k] * pow(int(both[k, k]), -1, P) % P
        other = np.flatnonzero(both[:, k])
        other = other[other != k]
        both[other] = (both[other] - both[other, k][:, None] * both[k]) % P
    return both[:, size:]


def lifted(matrix: Sparse, right: Any) -> tuple[Any, int] | None:
    """Numerators (C,) and the one denominator of the solution of a system; None where it is not
    regular modulo p, or the solution has too many digits."""
    if not len(right):
        return np.zeros(0, dtype=object), 1
    back = inverse(matrix.modulo())
    if back is None:
        return None
    rest, digit, wanted = right, list[Any](), FIRST
    while len(digit) < MOST_DIGITS:
        while len(digit) < wanted:
            last = (rest % P).astype(np.int64)
            high, low = back @ (last >> HALF) % P, back @ (last & (2**HALF - 1)) % P
            step = ((high << HALF) + low) % P
            digit.append(step.astype(object))
            rest = (rest - matrix.times(digit[-1])) // P
            if not rest.any():  # integers, none of them negative
                return _sum(digit), 1
        found = _rational(_sum(digit), P ** len(digit))
        if found is not None and not (matrix.times(found[0]) - right * found[1]).any():
            return found
        wanted += (wanted + 1) // 2
    return None


def _sum(digit: list[Any]) -> Any:
    """The numbers of these digits in base p."""
    power = P
    while len(digit) > 1:
        pairs = zip(digit[::2], [*digit[1::2], 0][: len(digit[::2])], strict=True)
        digit = [low + high * power for low, high in pairs]
        power *= power
    return digit[0]


def _rational(number: Any, modulus: int) -> tuple[Any, int] | None:
    """Numerators and one denominator that are these numbers modulo `modulus`; None if none are
    short enough."""
    most, bottom = isqrt(modulus // 2), 1
    for each in number.tolist():
        here = each * bottom % modulus
        if min(here, modulus - here) > most:
            other = _denominator(here, modulus, most)
            if other is None or bottom * other > most:
                return None
            bottom *= other
    found = number * bottom % modulus
    return np.where(found > modulus // 2, found - modulus, found), bottom


def _denominator(number: int, modulus: int, most: int) -> int | None:
    """The denominator of the fraction of at most `most` above and below that is `number`."""
    a, b, before, this = modulus, number, 0, 1
    while b > most:
        whole, rest = divmod(a, b)
        a, b, before, this = b, rest, this, before - whole * this
    return abs(this) if abs(this) <= most else None


def objects(values: Sequence[int]) -> Any:
    """An array of integers of any size."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _float(value: int | Fraction) -> float:
    """A number as a float; those that are too large as the largest."""
    try:
        return float(value)
    except OverflowError:
        return float(np.finfo(float).max)


__all__ = ["Sparse", "basis", "lifted", "objects", "solved"]
