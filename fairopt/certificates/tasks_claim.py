"""Equations between tasks and levels that are to determine both; `enclosed_levels` judges them.

Of each user that what it holds is what its level, or its floor, is worth; of each full row that
nothing is left of it; in groups the links between levels (`groups_claim`). All in integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from fairopt.certificates.enclosed import Equation
from fairopt.certificates.enclosed_products import Product
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.groups_claim import GroupsClaim


@dataclass(frozen=True)
class TasksClaim:
    """Equations that are to determine tasks.

    Parameters
    ----------
    used : columns that they determine. fixed : amounts of others that are not 0.
    groups : users of one level each. floored : users who hold no more than their floor; everybody
        who may hold anything is in one of these.
    full : rows that are full. chosen : those of the equations that are regular, all others follow:
        first one for each user of the groups and of the floored, then one for each full row.
    about : (C + G,) of used columns and of levels, above 0.
    targets : in groups, rounds that are to be on the path of targets; `groups` are its levels then,
        some of nobody, and its links are equations after those of rows.
    given : (C + G,) about what all are, where links have products of levels.
    """

    used: Sequence[int]
    fixed: Mapping[int, Fraction]
    groups: Sequence[Sequence[int]]
    floored: Sequence[int]
    full: Sequence[int]
    chosen: Sequence[int]
    about: Sequence[float]
    targets: GroupsClaim | None = None
    given: Sequence[float] = ()

    @cached_property
    def shift(self) -> int:
        """Right sides are over two to this power."""
        return max([v.denominator.bit_length() - 1 for v in self.fixed.values()], default=0)

    @cached_property
    def whole(self) -> dict[int, int]:
        """The amounts that are fixed, over 2**shift."""
        each = self.fixed.items()
        return {c: (v.numerator << self.shift) // v.denominator for c, v in each}

    def products(self, links: int) -> dict[int, list[Product]]:
        """Of equations with products of levels, these; links : the first one between levels."""
        of, first = self.targets, len(self.used)
        return {
            links + k: [(f, first + a, first + b) for f, a, b in each]
            for k, each in ({} if of is None else of.products).items()
        }


class TasksStated(NamedTuple):
    """Equations between used columns, then levels; right sides, over two to the claim's shift; the
    place of each column."""

    rows: list[Equation]
    right: list[int]
    place: dict[int, int]


def equations(case: ExactCase, claim: TasksClaim) -> TasksStated:
    """What a claim says."""
    place = {c: j for j, c in enumerate(claim.used)}
    own: dict[int, list[int]] = {}
    for c in claim.used:
        if c < len(case.owner):
            own.setdefault(case.owner[c], []).append(c)
    shift, whole = claim.shift, claim.whole
    held = [0] * len(case.open_)
    for c, v in whole.items():
        if c < len(case.owner):
            held[case.owner[c]] += case.score[c] * v
    rows, right = list[Equation](), list[int]()
    for j, users in enumerate(claim.groups):
        for n in users:
            w, base, unit = case.weight[n], case.base[n], case.unit[n]
            by = w.denominator * base.denominator
            row = {place[c]: case.score[c] * by for c in own.get(n, [])}
            rows.append({**row, len(place) + j: -unit * w.numerator * base.denominator})
            right.append((base.numerator * unit * w.denominator << shift) - held[n] * by)
    for n in claim.floored:
        least = case.floor[n]
        rows.append({place[c]: case.score[c] * least.denominator for c in own.get(n, [])})
        right.append((least.numerator * case.unit[n] << shift) - held[n] * least.denominator)
    at = {k: len(rows) + i for i, k in enumerate(claim.full)}
    rows.extend([{} for _ in at])
    right.extend([case.rhs[k] << shift for k in at])
    for c, j in place.items():
        for k, a in case.column[c].items():
            if k in at:
                rows[at[k]][j] = a
    for c, v in whole.items():
        for k, a in case.column[c].items():
            if k in at:
                right[at[k]] -= a * v
    for link, last in () if claim.targets is None else claim.targets.links:
        rows.append({len(place) + j: a for j, a in link.items()})
        right.append(-last << shift)
    return TasksStated(rows, right, place)


__all__ = ["TasksClaim", "TasksStated", "equations"]
