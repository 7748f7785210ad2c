"""What a regular system of equations in integers determines, enclosed.

A solution in fractions has tens of digits for each equation. Here it is not written out: that the
system is regular is proved by an approximate inverse, of which every rounding is counted, and with
it between which integers each unknown lies, over one power of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np

from fairopt.certificates.lifted import Sparse, lifted, objects
from fairopt.instance import Floats, Ints

Equation = dict[int, int]
"""entries of an equation, by unknown"""
BITS = 512
"""binary digits after the point to which unknowns are worked out, in a power of two of their own
near their size"""
DIGITS = 4_000
"""most binary digits of the denominator of an unknown that is written out"""
STEPS = 40
"""most corrections; each finds some forty digits"""
MANY_UNKNOWNS, MOST_UNKNOWNS = 1_000, 50_000
"""unknowns from which factors are looked at before the inverse; of more rounding is not counted"""
SLICE = 128
"""rows of the inverse at a time"""
UNIT = 2.0**-53
"""part by which a float is off at most, rounded once"""


class Interval(NamedTuple):
    """From `low` to `high`, over a power of two that is the same for all of a system."""

    low: int
    high: int


@dataclass(frozen=True)
class Regular:
    """As many equations as unknowns, whose solution is unique.

    Parameters
    ----------
    rows : (C,) equations. right : (C,) over 2**shift. shift : 0 or more.
    middle, wide : (C,) each unknown is within `wide` of `middle`, over 2**bits.
    scaled : the equations in floats; None where there are none, or unknowns are written out.
    written : (C,) the unknowns, of few digits, where each equation gives one from those before.
    bent : equations that have products of unknowns, and no entries here (`enclosed_products`).
    """

    rows: Sequence[Equation]
    right: Sequence[int]
    shift: int
    middle: list[int]
    wide: list[int]
    bits: int
    scaled: ScaledSystem | None
    bent: frozenset[int] = frozenset()
    written: Sequence[Fraction] | None = None

    @classmethod
    def of(
        cls, rows: Sequence[Equation], right: Sequence[int], shift: int, about: Sequence[float]
    ) -> Regular | None:
        """Of equations; None where it is not proved that they are regular.

        Parameters
        ----------
        about : (C,) the size of each unknown, a float above 0, to scale by; it is not believed.
        """
        if not rows:
            return cls(rows, right, shift, [], [], shift, None, written=[])
        written = one_by_one(rows, right, shift)
        if written is not None:
            bits = BITS - min(0, *[frexp(v)[1] for v in about])
            near = [(v.numerator << bits) // v.denominator for v in written]
            return cls(rows, right, shift, near, [1] * len(rows), bits, None, written=written)
        scaled = ScaledSystem.of(rows, about)
        found = None if scaled is None else scaled.solved(right, shift)
        if scaled is None or found is None:
            return None
        number, wide = found
        # from a power of two for each unknown to one for all
        least = min(0, int(scaled.column.min()))
        up = [int(e) - least for e in scaled.column]
        middle, far = ([v << e for v, e in zip(each, up, strict=True)] for each in (number, wide))
        return cls(rows, right, shift, middle, far, BITS - least, scaled)

    def value(self, form: Mapping[int, int], more: int = 0) -> Interval:
        """Where a sum of multiples of unknowns lies, and `more` over 2**shift, over 2**bits."""
        middle = sum([a * self.middle[c] for c, a in form.items()])
        wide = sum([abs(a) * self.wide[c] for c, a in form.items()])
        if self.bits >= self.shift:
            middle += more << (self.bits - self.shift)
        elif more:
            whole, rest = divmod(more, 1 << (self.shift - self.bits))
            middle, wide = middle + whole, wide + (rest > 0)
        return Interval(middle - wide, middle + wide)

    def exact(self) -> list[Fraction] | None:
        """(C,) the unknowns as fractions; None where these have too many digits, or are none."""
        if self.written is not None:
            return list(self.written)
        if self.bent:
            return None
        found = lifted(Sparse.of(self.rows, len(self.rows)), objects(self.right))
        if found is None:
            return None
        number, bottom = found
        return [Fraction(v, bottom << self.shift) for v in number.tolist()]


@dataclass(frozen=True)
class ScaledSystem:
    """Equations in floats: entry (i, j) is that of row i times 2**(column[j] - row[i])."""

    rows: Sequence[Equation]
    row: Ints
    column: Ints
    matrix: Any
    solver: Any

    @classmethod
    def of(cls, rows: Sequence[Equation], about: Sequence[float]) -> ScaledSystem | None:
        """None where floats do not tell what is regular; about : (C,) the size of each unknown."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        size = len(rows)
        column = np.array([frexp(v)[1] for v in about])
        scales, place, value = list[int](), list[int](), list[float]()
        for each in rows:
            top = max([a.bit_length() + int(column[c]) for c, a in each.items()], default=0)
            scales.append(top)
            place.extend(each)
            value.extend([as_float(a, int(column[c]) - top) for c, a in each.items()])
        row = np.repeat(np.arange(size), [len(each) for each in rows])
        # an entry that floats take for none is not counted: nothing is proved then
        if not len(value) or min(map(abs, value)) < 2.0**-900:
            return None
        matrix = csc_array((value, (row, place)), shape=(size, size))
        try:
            solver = splu(matrix)
        except RuntimeError:  # singular
            return None
        return cls(rows, np.array(scales), column, matrix, solver)

    def parts(self, form: Equation) -> Floats:
        """(C,) how much of each equation another one is, in scaled floats."""
        top = max([a.bit_length() + int(self.column[c]) for c, a in form.items()])
        wanted = np.zeros(len(self.rows))
        for c, a in form.items():
            wanted[c] = as_float(a, int(self.column[c]) - top)
        found: Floats = self.solver.solve(wanted, trans="T")
        return np.asarray(np.where(np.isfinite(found), found, np.inf))

    def solved(self, right: Sequence[int], shift: int) -> tuple[list[int], list[int]] | None:
        """Each unknown over its power of two, times 2**BITS, and how far it may be off."""
        least = int(self.column.min())
        up = [int(e) - least for e in self.column]
        scaled_up = [{c: a << up[c] for c, a in row.items()} for row in self.rows]
        entries = Sparse.of(scaled_up, len(self.rows))
        number, goal = objects([0] * len(self.rows)), BITS - shift - least
        # all over 2**BITS, or more where right sides have more digits than that
        more = max(0, -goal)
        wanted = objects([b << (goal + more) for b in right])
        best: tuple[int, Any, Any] | None = None
        for _ in range(STEPS):
            left = wanted - entries.times(number) * (1 << more)
            # in floats: left_i 2**(least - row[i] - more), at most about 2**top
            exponent = [least - int(e) - more for e in self.row]
            top = max(
                [v.bit_length() + e for v, e in zip(left, exponent, strict=True) if v],
                default=-2_000,
            )
            if best is not None and top >= best[0]:
                break
            scaled = np.array([as_float(v, e - top) for v, e in zip(left, exponent, strict=True)])
            best = top, number, scaled
            if top < 2:
                break
            step = self.solver.solve(scaled)
            if not np.isfinite(step).all():
                return None
            number = number + objects([as_whole(v, top) for v in step.tolist()])
        if best is None:
            return None
        top, number, scaled = best
        wide = self.wide(scaled)
        if wide is None:
            return None
        return number.tolist(), [1 + as_whole(v, top) for v in wide.tolist()]

    def wide(self, left: Floats, more: Floats | None = None) -> Floats | None:
        """(C,) how far a solution may be off of which `left` is missing, and up to `more` beside
        it; None where the matrix is not proved to be regular.

        With R the approximate inverse and G = 1 - R F, any solution y of F y = left has
        y = R left + G y. So |y| <= |R left| + G max |y|, and max |y| <= max |R left| / (1 - max G),
        where G is the sum of each row, all roundings counted.
        """
        size = len(left)
        if size > MANY_UNKNOWNS and (quick := self._by_factors(left, more)) is not None:
            return quick
        gross, turned = abs(self.matrix).T.tocsr(), self.matrix.T.tocsr()
        most = int(np.diff(self.matrix.indptr).max())
        lost, short = (most + 8) * UNIT, (size + 8) * UNIT
        sums, found = np.empty(size), np.empty(size)
        for start in range(0, size, SLICE):
            rows = np.arange(start, min(start + SLICE, size))
            unit = np.zeros((size, len(rows)))
            unit[rows, rows - start] = 1.0
            back = self.solver.solve(unit, trans="T")  # (C, S) rows of R
            if not np.isfinite(back).all():
                return None
            size_of = np.abs(back)
            off = np.abs(unit - turned @ back) + lost * (gross @ size_of + 1.0)
            sums[rows] = off.sum(axis=0)
            found[rows] = np.abs(left @ back) + short * (np.abs(left) @ size_of)
            if more is not None:
                found[rows] += more @ size_of
            found[rows] += size_of.sum(axis=0) * 2.0**-1000  # what is too small for a float
        return widened(found * (1 + short), sums * (1 + short))

    def _by_factors(self, left: Floats, more: Floats | None) -> Floats | None:
        """`wide` without the inverse; None where this tells too little.

        With R the inverse of L U itself, 1 - R F = R (L U - F), and |R| is at most that of the
        comparison matrices of U and L, whose solutions are sums of numbers of 0 and more
        (Higham, Accuracy and Stability of Numerical Algorithms, 8.2).
        """
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import spsolve_triangular

        size, solver = len(left), self.solver
        if size > MOST_UNKNOWNS:
            return None
        lower, upper = csc_array(solver.L), csc_array(solver.U)
        rows, columns = np.argsort(solver.perm_r), np.argsort(solver.perm_c)
        matrix = csc_array(self.matrix)[rows][:, columns]
        terms = abs(lower) @ abs(upper)
        short = (int(np.diff(upper.indptr).max()) + 8) * UNIT
        off = abs(lower @ upper - matrix) + short * (terms + abs(matrix))
        down, up = (2 * eye_array(size) - abs(lower), _compared(upper))

        def most(vector: Floats) -> Floats:
            middle = spsolve_triangular(csc_array(down), vector[rows], lower=True)
            there = spsolve_triangular(csc_array(up), middle, lower=False)
            found = np.empty(size)
            found[columns] = there * (1 + 1e-6)
            return found

        with np.errstate(all="ignore"):
            lost = np.empty(size)
            lost[rows] = off.sum(axis=1) * (1 + 1e-9) + 2.0**-900  # what is too small for a float
            sums = most(lost)
            given = np.abs(left) * (1 + 1e-9) + (0.0 if more is None else more)
            found = most(given + 2.0**-1000)
        return widened(found, sums)


def _compared(upper: Any) -> Any:
    """The comparison matrix: its diagonal without signs, all else below 0."""
    from scipy.sparse import diags_array

    return 2 * abs(diags_array(upper.diagonal())) - abs(upper)


def widened(found: Floats, sums: Floats) -> Floats | None:
    """How far a solution may be off; None where that is not proved. Of several systems at once: of
    each.

    Parameters
    ----------
    found : (..., C) |R left| at most. sums : (..., C) of each row of |1 - R F|, at most.
    """
    most = sums.max(axis=-1, keepdims=True)
    if not ((most < 0.5).all() and np.isfinite(found).all()):
        return None
    far = found.max(axis=-1, keepdims=True) / (1 - most)
    return np.asarray((found + sums * far) * (1 + 1e-9))


def one_by_one(rows: Sequence[Equation], right: Sequence[int], shift: int) -> list[Fraction] | None:
    """(C,) the unknowns, where each equation gives one from those before: then they are the only
    solution. None where equations do not, or unknowns have too many digits."""
    of: dict[int, list[int]] = {}  # the equations of each unknown
    for k, row in enumerate(rows):
        for c in row:
            of.setdefault(c, []).append(k)
    left = [len(row) for row in rows]
    ready, order = [k for k, many in enumerate(left) if many == 1], list[tuple[int, int]]()
    known = set[int]()
    while ready:
        k = ready.pop()
        new = [c for c in rows[k] if c not in known]
        if len(new) != 1:  # another equation gave it, so that these are not regular
            return None
        known.add(new[0])
        order.append((k, new[0]))
        for j in of[new[0]]:
            left[j] -= 1
            if left[j] == 1:
                ready.append(j)
    if len(order) < len(rows):
        return None
    found: dict[int, Fraction] = {}
    for k, c in order:
        row = rows[k]
        if not row[c]:
            return None
        rest = sum([a * found[j] for j, a in row.items() if j != c], Fraction(0))
        found[c] = (Fraction(right[k], 1 << shift) - rest) / row[c]
        if found[c].denominator.bit_length() > DIGITS:
            return None
    return [found[c] for c in range(len(rows))]


def as_float(value: int, shift: int) -> float:
    """value times 2**shift, within two roundings."""
    cut = max(0, value.bit_length() - 64)
    return ldexp(float(value >> cut), cut + shift)


def as_whole(value: float, shift: int) -> int:
    """value times 2**shift, rounded up."""
    if not value:
        return 0
    top, bottom = value.as_integer_ratio()
    return -((-top << max(shift, 0)) // (bottom << max(-shift, 0)))


__all__ = [
    "Equation",
    "Interval",
    "Regular",
    "ScaledSystem",
    "as_float",
    "as_whole",
    "one_by_one",
    "widened",
]
