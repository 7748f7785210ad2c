"""What follows from a regular system of equations in integers, proved in integers.

An equation that a regular system leaves out holds as well if it is a sum of multiples of its
equations. Most are of few: so equations that make one unknown a multiple of another are put in for
it first, and so are unknowns that seem equal, but for a power of two by which rows were multiplied.
If the equations that are then left have a solution, it is one of the whole system, and there is no
other: so the unknowns are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

import numpy as np

from fairopt.certificates.enclosed import Equation, Regular
from fairopt.certificates.lifted import Sparse, basis, solved

NONE = 1e-9
"""part of an equation that an equation it follows from gives; below is rounding of none"""
CHAIN = 100
"""most equations that another one is a sum of"""
SHORT = 2**200
"""largest denominator, in a power of two near its size, with which an unknown is written out"""
DENSE = 300_000
"""most equations that are left times unknowns, where it is looked for which of them are regular"""
ALIKE = 300
"""binary digits that unknowns have in common that seem equal"""
_Multiple = tuple[int, Fraction]
"""an unknown, and how many times it"""


def normal(form: Equation, last: int) -> tuple[tuple[int, int], ...]:
    """An equation, the same one for all its multiples; empty where it asks nothing."""
    by = gcd(last, *form.values())
    found = sorted([(j, a) for j, a in ((-1, last), *form.items()) if a])
    if found and found[0][1] < 0:
        by = -by
    return tuple([(j, a // by) for j, a in found])


class Follows:
    """What follows from a regular system."""

    def __init__(self, system: Regular) -> None:
        self.system = system

    def gives(self, form: Equation, right: int) -> bool:
        """Whether it is proved that a sum of multiples of unknowns is `right`, over 2**shift."""
        if self.system.written is not None:
            return self._sum(form, right)
        here = self.system.value(form, -right)
        if here.low > 0 or here.high < 0:
            return False
        if self._fewer is None:
            return self._sum(form, right)
        multiple, roots, fewer = self._fewer
        form, right = _put(form, right, multiple)
        if not form:
            return right == 0
        return fewer._sum({roots[j]: a for j, a in form.items()}, right)

    @cached_property
    def _fewer(self) -> tuple[list[_Multiple], dict[int, int], Follows] | None:
        """Each unknown as a multiple of one that is left, the places of these, and what equations
        between them give."""
        rows, right = self.system.rows, self.system.right
        if self.system.bent:
            return None
        pairs = list[tuple[int, int, Fraction]]()
        for row, b in zip(rows, right, strict=True):
            if len(row) == 2 and not b:
                (j, a), (k, c) = row.items()
                pairs.append((j, k, Fraction(-c, a)))  # unknown j is so many times k
        alike = _alike(self.system)
        for links in ((*pairs, *alike), pairs) if alike else (pairs,) if pairs else ():
            multiple = _linked(len(rows), links)
            left = dict[tuple[tuple[int, int], ...], tuple[Equation, int]]()
            for row, b in zip(rows, right, strict=True):
                form, last = _put(row, b, multiple)
                if form or last:
                    left.setdefault(normal(form, last), (form, last))
            roots = {j: i for i, j in enumerate(sorted({root for root, _ in multiple}))}
            fewer = self._of(roots, list(left.values()))
            if fewer is not None:
                return multiple, roots, fewer
        return None

    def _of(self, roots: dict[int, int], left: Sequence[tuple[Equation, int]]) -> Follows | None:
        """The system between some of the unknowns; None where it is not proved that all of its
        equations hold at once."""
        rows = [{roots[j]: a for j, a in form.items()} for form, _ in left]
        right = [b for _, b in left]
        some = list(range(len(rows)))
        if len(rows) > len(roots):
            if len(rows) * len(roots) > DENSE:
                return None
            some = basis(Sparse.of(rows, len(roots)), np.arange(len(roots)))[0].tolist()
        if len(some) < len(roots):
            return None
        one = 1 << self.system.bits
        about = [abs(self.system.middle[j] / one) or 1.0 for j in roots]
        found = Regular.of(
            [rows[k] for k in some], [right[k] for k in some], self.system.shift, about
        )
        if found is None:
            return None
        fewer, others = Follows(found), set(range(len(rows))).difference(some)
        # as many regular equations as unknowns have a solution; the others have to agree with it
        return fewer if all(fewer._sum(rows[k], right[k]) for k in others) else None

    def _sum(self, form: Equation, right: int) -> bool:
        """Whether an equation is a sum of multiples of equations of the system."""
        form = {c: a for c, a in form.items() if a}
        if not form:
            return right == 0
        if (written := self.system.written) is not None:
            total = sum([a * written[c] for c, a in form.items()], Fraction(0))
            return bool(total * (1 << self.system.shift) == right)
        system, short = self.system, self._short
        if form.keys() <= short.keys():
            total = sum([a * short[c] for c, a in form.items()], Fraction(0))
            return bool(total * 2**system.shift == right)
        here = system.value(form, -right)
        if here.low > 0 or here.high < 0 or system.scaled is None:
            return False
        some = np.flatnonzero(np.abs(system.scaled.parts(form)) > NONE).tolist()
        if not 0 < len(some) <= CHAIN:
            return False
        # how many times each of these equations; the right sides are one more unknown
        entries: dict[int, Equation] = {}
        for i, k in enumerate(some):
            for c, a in system.rows[k].items():
                entries.setdefault(c, {})[i] = a
        if not form.keys() <= entries.keys():
            return False
        equations, wanted = [*entries.values()], [form.get(c, 0) for c in entries]
        last = {i: system.right[k] for i, k in enumerate(some) if system.right[k]}
        if last or right:
            equations, wanted = [*equations, last], [*wanted, right]
        given = [Fraction(1)] * len(some)
        return solved(Sparse.of(equations, len(some)), wanted, given, len(equations)) is not None

    @cached_property
    def _short(self) -> dict[int, Fraction]:
        """Unknowns with few digits, as in clusters of whole numbers: those that some equations
        among them determine alone, and satisfy."""
        system = self.system
        if system.scaled is None:
            return {}
        one, found = 1 << system.bits, dict[int, Fraction]()
        for j, e in enumerate(system.scaled.column.tolist()):
            size = Fraction(2) ** e
            value = Fraction(system.middle[j], one) / size
            near = value.limit_denominator(SHORT)
            if abs(near - value) * size * one <= system.wide[j]:
                found[j] = near * size
        mine, seen = list[int](), set[int]()
        while True:
            each = enumerate(system.rows)
            mine = [k for k, row in each if row and row.keys() <= found.keys()]
            seen = set[int]().union(*[system.rows[k] for k in mine])
            if len(seen) == len(found):
                break
            found = {j: found[j] for j in seen}
        # as many equations as unknowns, of a regular system, determine them
        right = len(mine) == len(found) and all(
            sum([a * found[c] for c, a in system.rows[k].items()]) * 2**system.shift
            == system.right[k]
            for k in mine
        )
        return found if right else {}


def _alike(system: Regular) -> list[tuple[int, int, Fraction]]:
    """Unknowns above 0 that may be others times a power of two."""
    found = list[tuple[int, int, int, int]]()
    for j, (middle, wide) in enumerate(zip(system.middle, system.wide, strict=True)):
        if middle > wide:
            up = system.bits + ALIKE - middle.bit_length()  # to as many digits
            low, high = ((v << up) >> system.bits for v in (middle - wide, middle + wide))
            found.append((low, high + 1, j, up))
    found.sort()
    each = zip(found, found[1:], strict=False)
    return [
        (j, k, Fraction(2) ** (other - up))
        for (_, high, j, up), (low, _, k, other) in each
        if low <= high
    ]


def _linked(size: int, links: Sequence[tuple[int, int, Fraction]]) -> list[_Multiple]:
    """Each unknown as a multiple of one of those that are left."""
    above: list[_Multiple] = [(j, Fraction(1)) for j in range(size)]

    def root(j: int) -> _Multiple:
        way, times = list[int](), Fraction(1)
        while above[j][0] != j:
            way.append(j)
            j = above[j][0]
        for each in reversed(way):  # all of the way at once
            up, part = above[each]
            times = part * above[up][1] if up != j else part
            above[each] = j, times
        return above[way[0]] if way else (j, Fraction(1))

    for j, k, times in links:
        (top, a), (other, b) = root(j), root(k)
        if top != other:
            above[top] = other, times * b / a
    return [root(j) for j in range(size)]


def _put(
    form: Mapping[int, int], right: int, multiple: Sequence[_Multiple]
) -> tuple[Equation, int]:
    """An equation between the unknowns that are left."""
    found = dict[int, Fraction]()
    for c, a in form.items():
        top, times = multiple[c]
        found[top] = found.get(top, Fraction(0)) + a * times
    by = lcm(*[v.denominator for v in found.values()])
    return {c: int(v * by) for c, v in found.items() if v}, right * by


__all__ = ["Follows", "normal"]
