"""The question of max-min in integers: every number of it is the rational number that it is.

Scores of the criteria in `_ratios` are worked out in fractions, others are floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.certificates.exact_floors import exact_floors, promised
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.lowered import CAPACITY, QUOTA, Lowered, lower
from fairopt.instance import remembered

Prices = dict[int, int]
"""price of each row that has one"""


@dataclass(frozen=True)
class ExactCase:
    """The lowered system in integers: each row, and each user's scores, times a number of its own.

    Parameters
    ----------
    column : of each column its entries, by row. row : of each row its entries, by column.
    rhs : (M,). owner : (P,). score : (P,). unit : (N,) what scores were multiplied by.
    open_ : of each user its columns that no rule shuts. low, high : (F,) of flows, None: none.
    weight, rank : (N,). floor : (N,) the least share. base : (N,) what is taken off shares before
    they are compared.
    """

    column: list[Prices]
    row: list[Prices]
    rhs: list[int]
    owner: list[int]
    score: list[int]
    unit: list[int]
    open_: list[list[int]]
    low: list[Fraction | None]
    high: list[Fraction | None]
    weight: list[Fraction]
    rank: list[int]
    floor: list[Fraction]
    base: list[Fraction]

    @classmethod
    def of(cls, alloc: Allocation, low: Lowered, asked: Entitled) -> ExactCase:
        """The system of an answer, lowered."""
        inst, matrix = alloc.instance, low.matrix.tocsr()
        rhs = [Fraction(float(b)) for b in low.rhs]
        for k in np.flatnonzero(low.kind == CAPACITY).tolist():
            i, r = int(low.one[k]), int(low.two[k])
            rhs[k] = Fraction(float(inst.capacity[i, r])) * int(inst.count[i])
        for k in np.flatnonzero(low.kind == QUOTA).tolist():  # of all nodes that share the row
            q, node = int(low.one[k]), int(low.two[k])
            own = inst.tree.quotas[q].nominal[low.host[q] == node]
            rhs[k] = sum([Fraction(v) for v in own.tolist()], Fraction(0))
        column: list[Prices] = [{} for _ in range(matrix.shape[1])]
        row: list[Prices] = []
        for k in range(len(rhs)):
            at = slice(matrix.indptr[k], matrix.indptr[k + 1])
            value = [v.as_integer_ratio() for v in matrix.data[at].tolist()]
            unit = lcm(rhs[k].denominator, *{bottom for _, bottom in value})
            rhs[k] *= unit
            each = zip(matrix.indices[at].tolist(), value, strict=True)
            row.append({c: top * (unit // bottom) for c, (top, bottom) in each if top})
            for c, v in row[-1].items():
                column[c][k] = v
        owner = low.owner.tolist()
        scored = _scores(alloc, low)
        units = [1] * len(inst.users)
        for n, u in zip(owner, scored, strict=True):
            units[n] = lcm(units[n], u.denominator)
        each_ = zip(owner, scored, strict=True)
        score = [u.numerator * (units[n] // u.denominator) for n, u in each_]
        open_: list[list[int]] = [[] for _ in inst.users]
        for c in np.flatnonzero(~low.empty).tolist():
            open_[owner[c]].append(c)
        least, most = (
            [Fraction(v) if np.isfinite(v) else None for v in b] for b in (low.low, low.high)
        )
        scores = [[scored[c] for c in mine] for mine in open_]
        floor = exact_floors(alloc, asked.floor, scores)
        base = floor if asked.added else [Fraction(0)] * len(floor)
        weights = asked.tree.weight[asked.tree.leaf].tolist()
        of = exact_floors(alloc, promised(alloc), scores)
        weight = [least or Fraction(w) for least, w in zip(of, weights, strict=True)]
        right = [int(b) for b in rhs]
        rank = asked.rank.tolist()
        return cls(
            column, row, right, owner, score, units, open_, least, most, weight, rank, floor, base
        )

    def due(self, n: int, level: Fraction) -> Fraction:
        """The share that a level is worth to a user."""
        return self.base[n] + level * self.weight[n]

    def level(self, n: int, share: Fraction) -> Fraction:
        """The level of a user that has that share."""
        return (share - self.base[n]) / self.weight[n]


def held(alloc: Allocation) -> list[Fraction]:
    """(N,) the shares that an answer's tasks make, not rounded."""
    low = lower(alloc.instance, alloc.score)
    # tasks of one score together, over one power of two
    tasks = [x.as_integer_ratio() for x in alloc.by_way[low.way, low.server].tolist()]
    up = max([bottom.bit_length() for _, bottom in tasks], default=1)
    score = {id(u): u for u in _scores(alloc, low)}
    total: list[dict[int, int]] = [{} for _ in alloc.instance.users]
    for n, u, (x, bottom) in zip(low.owner.tolist(), _scores(alloc, low), tasks, strict=True):
        if x:
            total[n][id(u)] = total[n].get(id(u), 0) + (x << (up - bottom.bit_length()))
    one = 1 << (up - 1)
    return [sum([score[u] * x for u, x in each.items()], Fraction(0)) / one for each in total]


def _scores(alloc: Allocation, low: Lowered) -> list[Fraction]:
    """`_scored`, kept with the answer."""
    found: list[Fraction] = remembered(alloc, "_exact_scores", lambda: _scored(alloc, low))
    return found


def _scored(alloc: Allocation, low: Lowered) -> list[Fraction]:
    """(P,) the score of each column: by its criterion where that is named, or else as given."""
    inst, score = alloc.instance, alloc.score
    name = alloc.kind["parameters"].get("criterion")
    # those of a smaller problem are another's, whose scores they have
    if name in criteria.CRITERIA and criteria.departure(inst, score, name) is None:
        ratios = _ratios(alloc, low, name)
        if ratios is not None:
            return ratios
        score = criteria.score(inst, name)
    speed = [Fraction(v) for v in inst.ways.speed.tolist()]
    each = zip(score[low.owner, low.server].tolist(), low.way.tolist(), strict=True)
    return [Fraction(u) * speed[w] for u, w in each]


def _ratios(alloc: Allocation, low: Lowered, name: str) -> list[Fraction] | None:
    """(P,) the scores of a criterion that compares demand with capacity; None of others."""
    if name not in ("dominant-share", "drf", "drf-use"):
        return None
    inst, ways = alloc.instance, alloc.instance.ways
    whole = [[Fraction(c) for c in row] for row in inst.capacity.tolist()]
    if name != "dominant-share":
        count = inst.count.tolist()
        pool = [
            sum([c * k for c, k in zip(column, count, strict=True)], Fraction(0))
            for column in zip(*whole, strict=True)
        ]
        whole = [pool] * len(whole)
    # of columns with the same demand of the same capacity once
    way, server = low.way.tolist(), low.server.tolist()
    by_way = ways.demand.ndim == 2
    if by_way and name != "dominant-share":
        each_way = [_most(row, whole[0]) if any(row) else None for row in ways.demand.tolist()]
        part = [found for w in way if (found := each_way[w]) is not None]
    else:
        need = ways.demand[low.way] if by_way else ways.demand[low.way, low.server]
        known: dict[tuple[float | int, ...], Fraction] = {}
        part = []
        for row, i in zip(need.tolist(), server, strict=True):
            key = (*row, i) if name == "dominant-share" else tuple(row)
            if key not in known:
                known[key] = _most(row, whole[i])
            part.append(known[key])
    if name != "drf":
        return part
    speed = [Fraction(v) for v in ways.speed.tolist()]
    least: dict[int, Fraction] = {}
    for n, u, w in zip(low.owner.tolist(), part, way, strict=True):
        alone = u if speed[w] == 1 else u / speed[w]
        if n not in least or alone < least[n]:
            least[n] = alone
    each = zip(low.owner.tolist(), way, strict=True)
    return [least[n] if speed[w] == 1 else least[n] * speed[w] for n, w in each]


def _most(row: Sequence[float], whole: Sequence[Fraction]) -> Fraction:
    """The largest part of a capacity that a task takes."""
    most = (-1, 1)
    for d, c in zip(row, whole, strict=True):
        if d:
            top, bottom = d.as_integer_ratio()
            part = top * c.denominator, bottom * c.numerator
            if part[0] * most[1] > most[0] * part[1]:
                most = part
    return Fraction(*most)


__all__ = ["ExactCase", "Prices", "held"]
