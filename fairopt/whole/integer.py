"""Whole numbers of patterns: a mixed-integer program over those found, then exact integers.

The solver's answer is a suggestion. It is placed in integers, what is too much is taken away, what
is missing is put where it fits; its status and its bound are used for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

import numpy as np

from fairopt.highs import program, quiet
from fairopt.whole.master import Clock, PatternPool, zone_columns
from fairopt.whole.proof.claims import NeedRow
from fairopt.whole.proof.placement import Placement


@dataclass(frozen=True)
class SearchLimits:
    """How far the search for patterns and whole numbers goes.

    Parameters
    ----------
    nodes : of each mixed-integer program. branches : of each search that proves a price.
    near : most patterns of a class that are added where a gap is left.
    programs : most mixed-integer programs.
    share : seconds of one program, as a part of what is left.
    """

    nodes: int = 2000
    branches: int = 60_000
    near: int = 4000
    programs: int = 60
    share: float = 0.4


def fewest_short(
    pool: PatternPool,
    want: Sequence[int],
    unit: Sequence[int],
    most: Sequence[int],
    limits: SearchLimits,
    clock: Clock,
    begin: Placement | None = None,
    cost: Sequence[int] | None = None,
    drop: Sequence[int] = (),
    bonus: bool = False,
) -> Placement | None:
    """The least sum of cost_n y_n with totals + unit_n y_n >= want_n; None where none was found.

    Parameters
    ----------
    want : (N,) tasks. unit : (N,) tasks that are short together. most : (N,) the largest y.
    begin : a placement to begin from.
    cost : (N,) of each y; the unit where it is not given.
    drop : (N,) tasks that may be short beside these all together; 0 for none.
    bonus : of those, with the largest sum of the kinds' bonuses.
    """
    model = _PatternProgram(pool)
    cost = unit if cost is None else cost
    weight = 1.0
    if bonus:
        weight += sum(
            own.count * max((kind.bonus * kind.most for kind in own.kinds), default=0)
            for own in pool.problem.classes
        )
    first = []
    for n, low in enumerate(want):
        model.row(float(low))
        if most[n] > 0:
            model.column(weight * cost[n], float(most[n]), {n: float(unit[n])})
            have = 0 if begin is None else begin.total[n]
            first.append(float(min(most[n], -(-max(low - have, 0) // unit[n]))))
    for n, low in enumerate(drop):
        if low:
            model.column(weight * low, 1.0, {n: float(low)})
            first.append(float(begin is not None and begin.total[n] < want[n] - most[n] * unit[n]))
    steps = [c for c, y in zip(cost, most, strict=True) if y > 0]
    gap = 0.999 * min(steps, default=1) if not bonus else 0.5
    return model.solved(begin, first, limits, clock, bonus, mip_abs_gap=gap)


def highest(
    pool: PatternPool,
    base: Sequence[int],
    rate: Sequence[Fraction],
    limits: SearchLimits,
    clock: Clock,
    begin: Placement,
) -> Placement | None:
    """The largest t with totals >= base_n, and whole gangs of at least rate_n t of the others.

    Parameters
    ----------
    base : (N,) tasks of each user that are kept in any case.
    rate : (N,) what users are measured by whose level is not known; 0 for the others.
    """
    model = _PatternProgram(pool)
    gang = pool.problem.gang
    low = min((Fraction(begin.total[n]) / v for n, v in enumerate(rate) if v), default=Fraction(1))
    t = model.column(-1.0, 1.0, {}, whole=False)
    first = [float(min(low, Fraction(1)))]
    for least in base:
        model.row(float(least))
    for n, v in enumerate(rate):
        if v and gang[n] == 1:
            model.enter(t, n, -float(v))
            model.low[n] = 0.0
        elif v:  # tasks are at least the gangs, and the gangs at least rate t
            row = model.row(0.0)
            most = float(pool.problem.asked[n] // gang[n])
            model.column(0.0, most, {n: -float(gang[n]), row: float(gang[n])})
            model.enter(t, row, -float(v))
            first.append(float(begin.total[n] // gang[n]))
    return model.solved(begin, first, limits, clock, mip_rel_gap=1e-9)


def exchange(
    pool: PatternPool, rows: Sequence[NeedRow], last: NeedRow, limits: SearchLimits, clock: Clock
) -> Placement | None:
    """A placement that keeps rows (all but K users have so many tasks) and the last one, if any.

    Of those, one that spares fewest in the last row.
    """
    model = _PatternProgram(pool)
    users = len(pool.problem.users)
    for n in range(users):
        model.row(float(min((row.need[n] or 0 for row in [*rows, last]), default=0)))
    for row in [*rows, last]:
        spared: dict[int, float] = {}
        forced = 0
        for n, need in enumerate(row.need):
            if need is None:
                forced += 1
            elif need > model.low[n]:
                own = model.row(float(need))
                model.double(n, own)
                at = model.column(float(row is last), 1.0, {own: need - model.low[n]})
                spared[at] = -1.0
        if row.spared < forced:
            return None
        if len(spared) > row.spared - forced:
            total = model.row(float(forced - row.spared))
            for at, x in spared.items():
                model.enter(at, total, x)
    return model.solved(None, (), limits, clock, mip_abs_gap=0.999)


class _PatternProgram:
    """A mixed-integer program over the patterns of a pool: rows of users first, classes last."""

    def __init__(self, pool: PatternPool) -> None:
        self.pool, self.problem = pool, pool.problem
        self.low: list[float] = []
        self.doubles: dict[int, list[int]] = {}
        self.columns: list[tuple[float, float, bool, dict[int, float]]] = []

    def row(self, low: float) -> int:
        """A row that is at least `low`; its position."""
        self.low.append(low)
        return len(self.low) - 1

    def column(
        self, cost: float, most: float, entries: dict[int, float], whole: bool = True
    ) -> int:
        """A column from 0 to `most`; its position."""
        self.columns.append((cost, most, whole, entries))
        return len(self.columns) - 1

    def double(self, user: int, row: int) -> None:
        """Let the patterns count for a user in one more row."""
        self.doubles.setdefault(user, []).append(row)

    def enter(self, column: int, row: int, x: float) -> None:
        """An entry of a column."""
        self.columns[column][3][row] = x

    def solved(
        self,
        begin: Placement | None,
        first: Sequence[float],
        limits: SearchLimits,
        clock: Clock,
        bonus: bool = False,
        **options: Any,
    ) -> Placement | None:
        """The patterns of the solution, placed in integers."""
        inf = np.inf
        own = self.pool.columns
        rows, classes = len(self.low), self.problem.classes
        ahead = len(self.columns)
        for j, tasks in own:
            held = self.problem.classes[j].by_user(tasks)
            gain = 0.0
            if bonus:
                kinds = classes[j].kinds
                gain = float(sum(m * k.bonus for m, k in zip(tasks, kinds, strict=True)))
            entries = {n: float(m) for n, m in held.items()}
            for n, more in self.doubles.items():
                if n in held:
                    entries.update(dict.fromkeys(more, float(held[n])))
            entries[rows + j] = 1.0
            for n, z in self.problem.places[j].items():
                if n in held:
                    entries[rows + len(classes) + z] = float(held[n])
            self.columns.append((-gain, float(classes[j].count), True, entries))
        low = [0.0] * len(self.columns)
        for entries, least in zone_columns(self.problem, rows + len(classes), bonus):
            for n, more in self.doubles.items():
                if n in entries:
                    entries.update(dict.fromkeys(more, -1.0))
            whole = not isinf(least)
            self.columns.append((0.0, inf, whole, entries))
            low.append(least)
        model = quiet(**{"mip_max_nodes": limits.nodes, "mip_rel_gap": 0.0, **options})
        if clock.end is not None:
            model.setOptionValue("time_limit", max(1.0, clock.left() * limits.share))
        skews = [float(x.skew) for x in self.problem.spreads for _ in x.zones]
        counts = [float(own.count) for own in classes]
        bounds = (
            [*self.low, *(-inf for _ in classes), *(0.0 for _ in skews)],
            [*(inf for _ in self.low), *counts, *skews],
        )
        matrix = (
            np.cumsum([0, *(len(c[3]) for c in self.columns)]),
            [r for c in self.columns for r in c[3]],
            [x for c in self.columns for x in c[3].values()],
        )
        columns = low, [c[1] for c in self.columns]
        cost, integer = [c[0] for c in self.columns], [c[2] for c in self.columns]
        model.passModel(program(cost, columns, bounds, matrix, integer))
        if begin is not None:
            model.setSolution(self._begun(begin, first, bonus))
        model.run()
        if model.getInfo().primal_solution_status != 2:
            return None
        used = list(model.getSolution().col_value)[ahead : ahead + len(own)]
        return Placement(
            self.problem, ((j, round(x), a) for (j, a), x in zip(own, used, strict=True) if x > 0.5)
        )

    def _begun(self, begin: Placement, first: Sequence[float], bonus: bool) -> Any:
        """The placement to begin from as a solution of the program."""
        import highspy

        count = {(j, tasks): float(k) for j, k, tasks in begin.nodes()}
        solution = highspy.HighsSolution()
        values = [*first, *(count.get(own, 0.0) for own in self.pool.columns)]
        for own in self.problem.spreads:
            values.append(float(min(begin.by_zone(own.user))))
            values += [0.0] * len(() if bonus else own.zones)
        solution.col_value = values
        return solution
