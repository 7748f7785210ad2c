"""Systems in which some equations multiply unknowns, enclosed as regular ones are.

That there is a solution near an approximate one is all that is asked: near it, the equations are
linear but for products of errors, and a map that takes a box of errors into itself has a point that
it keeps (Brouwer). Newton's method looks for the approximate one in integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairopt.certificates.enclosed import (
    BITS,
    STEPS,
    Equation,
    Regular,
    ScaledSystem,
    as_float,
    as_whole,
)
from fairopt.certificates.lifted import Sparse, objects
from fairopt.instance import Floats

Product = tuple[int, int, int]
"""a factor, and two unknowns that it multiplies"""
NEWTON = 6
"""corrections after which equations are linear but for what floats round"""


class _Bent:
    """Equations, some of which have products: everything over powers of two.

    Parameters
    ----------
    up : (C,) unknown c is number c times 2**(up + least - BITS).
    """

    def __init__(
        self,
        rows: Sequence[Equation],
        times: Mapping[int, Sequence[Product]],
        right: Sequence[int],
        shift: int,
        about: Sequence[float],
    ) -> None:
        column = [int(e) for e in np.frexp(np.array(about))[1]]
        self.rows, self.times, self.about, self.column = rows, times, about, column
        self.least = min(column)
        self.up = [e - self.least for e in column]
        whole = [{c: a << self.up[c] for c, a in row.items()} for row in rows]
        self.entries = Sparse.of(whole, len(rows))
        goal = BITS - shift - self.least
        # so much finer that products of numbers and right sides are whole
        self.more = max(0, -goal, BITS - self.least)
        self.wanted = objects([b << (goal + self.more) for b in right])

    def left(self, number: Any) -> Any:
        """(C,) what is missing of each equation, over 2**(BITS - least + more)."""
        found = self.wanted - self.entries.times(number) * (1 << self.more)
        finer = self.more + self.least - BITS
        for k, products in self.times.items():
            found[k] -= (
                sum(
                    [f * number[a] * number[b] << (self.up[a] + self.up[b]) for f, a, b in products]
                )
                << finer
            )
        return found

    def tangent(self, number: Any) -> tuple[list[Equation], list[int]]:
        """The linear equations that these are near a point, each times a power of two."""
        rows, lifted = list(self.rows), [0] * len(self.rows)
        by = BITS - self.least
        for k, products in self.times.items():
            row = {c: a << by for c, a in rows[k].items()}
            for f, a, b in products:
                for one, other in ((a, b), (b, a)):
                    value = f * number[other] << self.up[other]
                    row[one] = row.get(one, 0) + value
            rows[k], lifted[k] = {c: a for c, a in row.items() if a}, by
        return rows, lifted

    def beyond(self, wide: Floats, rows: Sequence[int], power: int) -> Floats:
        """(C,) the most that products of errors add to each scaled equation, in units of 2**power
        as errors are."""
        found = np.zeros(len(self.rows))
        for k, products in self.times.items():
            for f, a, b in products:
                by = self.column[a] + self.column[b] - rows[k] + power
                found[k] += np.ldexp(abs(f) * wide[a] * wide[b], by)
            found[k] = found[k] * (1 + 1e-9) + 2.0**-1000
        return found


def regular(
    rows: Sequence[Equation],
    times: Mapping[int, Sequence[Product]],
    right: Sequence[int],
    shift: int,
    about: Sequence[float],
    given: Sequence[float],
) -> Regular | None:
    """A solution of equations with products; None where it is not proved that there is one.

    Parameters
    ----------
    times : of some equations, products beside their entries. given : (C,) about what unknowns are.
    """
    bent = _Bent(rows, times, right, shift, about)
    if bent.least > BITS:
        return None
    number = objects([as_whole(v, BITS - e) for v, e in zip(given, bent.column, strict=True)])
    scaled: ScaledSystem | None = None
    lifted, best = list[int](), None
    for step in range(STEPS):
        if step < NEWTON or scaled is None:
            tangent, lifted = bent.tangent(number)
            scaled = ScaledSystem.of(tangent, about)
            if scaled is None:
                return None
        left, top = _scaled(bent, scaled, number, lifted)
        if best is not None and step > NEWTON and top >= best:
            break
        best = top
        correction = scaled.solver.solve(left)
        if not np.isfinite(correction).all():
            return None
        number = number + objects([as_whole(v, top) for v in correction.tolist()])
    # the equations just there, and what is missing of them
    tangent, lifted = bent.tangent(number)
    scaled = ScaledSystem.of(tangent, about)
    if scaled is None:
        return None
    left, top = _scaled(bent, scaled, number, lifted)
    wide = scaled.wide(left)
    if wide is None:
        return None
    exponents = [int(e) - by for e, by in zip(scaled.row, lifted, strict=True)]
    more = bent.beyond(2 * wide, exponents, top - BITS)
    within = scaled.wide(left, more)
    if within is None or not (within <= 2 * wide).all():
        return None
    up = bent.up
    middle = [int(v) << e for v, e in zip(number.tolist(), up, strict=True)]
    far = [(1 + as_whole(v, top)) << e for v, e in zip(within.tolist(), up, strict=True)]
    # nothing follows from equations with products
    known = [{} if k in times else row for k, row in enumerate(rows)]
    return Regular(known, right, shift, middle, far, BITS - bent.least, scaled, frozenset(times))


def _scaled(
    bent: _Bent, scaled: ScaledSystem, number: Any, lifted: Sequence[int]
) -> tuple[Floats, int]:
    """What is missing of scaled equations in floats, over 2**-top."""
    left = bent.left(number)
    exponent = [
        bent.least - int(e) - bent.more + by for e, by in zip(scaled.row, lifted, strict=True)
    ]
    each = list(zip(left.tolist(), exponent, strict=True))
    top = max([v.bit_length() + e for v, e in each if v], default=-2_000)
    return np.array([as_float(v, e - top) for v, e in each]), top


__all__ = ["Product", "regular"]
