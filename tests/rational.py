"""Max-min in exact fractions, for tests: a rational simplex and filling of a single server."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import fairopt as fo

Row = list[Fraction]


class Dictionary:
    """max c x, A x <= b, x >= 0 by Bland's rule; columns are A's, rows have one slack each."""

    def __init__(self, a: list[Row], b: Row, c: Row) -> None:
        self.size = len(c)
        slack = len(a)
        self.basis = [self.size + k for k in range(slack)]
        # x0, the last column, is what every row may be violated by in the first phase
        self.rows = [
            [*row, *(Fraction(int(k == j)) for j in range(slack)), Fraction(-1), right]
            for k, (row, right) in enumerate(zip(a, b, strict=True))
        ]
        self.width = self.size + slack
        worst = min(range(slack), key=lambda k: self.rows[k][-1])
        if self.rows[worst][-1] < 0:
            self.goal = [Fraction(0)] * self.width + [Fraction(1), Fraction(0)]
            self._pivot(worst, self.width)
            self._climb(self.width + 1)
            assert self.goal[-1] == 0, "infeasible"
            if self.width in self.basis:
                row = self.basis.index(self.width)
                self._pivot(row, next(j for j in range(self.width) if self.rows[row][j]))
        self.goal = [-v for v in c] + [Fraction(0)] * (slack + 2)
        for k, j in enumerate(self.basis):
            self._clear(self.goal, k, j)
        self._climb(self.width)

    def _clear(self, row: Row, k: int, j: int) -> None:
        factor = row[j]
        if factor:
            for m, v in enumerate(self.rows[k]):
                if v:
                    row[m] -= factor * v

    def _pivot(self, k: int, j: int) -> None:
        by = self.rows[k][j]
        self.rows[k] = [v / by for v in self.rows[k]]
        for m, row in enumerate(self.rows):
            if m != k:
                self._clear(row, k, j)
        self._clear(self.goal, k, j)
        self.basis[k] = j

    def _climb(self, columns: int) -> None:
        while True:
            j = next((j for j in range(columns) if self.goal[j] < 0), None)
            if j is None:
                return
            ratios = [
                (row[-1] / row[j], self.basis[k], k)
                for k, row in enumerate(self.rows)
                if row[j] > 0
            ]
            assert ratios, "unbounded"
            self._pivot(min(ratios)[2], j)

    @property
    def value(self) -> Fraction:
        return self.goal[-1]

    def multiplier(self, row: int) -> Fraction:
        return self.goal[self.size + row]


def max_min_levels(
    inst: fo.Instance, score: np.ndarray, slack: Fraction = Fraction(0)
) -> list[Fraction]:
    """Levels U_n of the lexicographic answer: one rational program a level.

    Frozen users may fall by `slack`, relative: scores are quotients rounded to doubles, and what
    would be a tie but for that rounding may decide a level.

    Those with a positive multiplier are frozen. One that is stuck with multiplier 0 is frozen
    later, at the same value: exact arithmetic needs no second look.
    """
    n, i = (side.tolist() for side in inst.pairs)
    users, servers, resources = inst.shape
    pairs = len(n)
    frozen: dict[int, Fraction] = {}
    while len(frozen) < users:
        a: list[Row] = []
        b: Row = []
        for user in range(users):
            weight = Fraction(float(inst.weight[user]))
            row = [
                -Fraction(score[user, i[k]]) / weight if n[k] == user else Fraction(0)
                for k in range(pairs)
            ]
            a.append([*row, Fraction(int(user not in frozen))])
            b.append(-frozen.get(user, Fraction(0)) * (1 - slack))
        for server in range(servers):
            for r in range(resources):
                a.append(
                    [
                        Fraction(float(inst.pair_demand[k, r])) if i[k] == server else Fraction(0)
                        for k in range(pairs)
                    ]
                    + [Fraction(0)]
                )
                b.append(Fraction(float(inst.pool[server, r])))
        for user in np.flatnonzero(np.isfinite(inst.limit)).tolist():
            a.append([Fraction(int(n[k] == user)) for k in range(pairs)] + [Fraction(0)])
            b.append(Fraction(float(inst.limit[user])))
        found = Dictionary(a, b, [Fraction(0)] * pairs + [Fraction(1)])
        stopped = [k for k in range(users) if k not in frozen and found.multiplier(k) > 0]
        assert stopped
        frozen.update(dict.fromkeys(stopped, found.value))
    return [frozen[k] for k in range(users)]


def filled_levels(inst: fo.Instance, score: np.ndarray) -> list[Fraction]:
    """Levels on one server by progressive filling: all rise together, and stop where full."""
    users, servers, resources = inst.shape
    assert servers == 1
    # of resource r, what user n needs for one unit of level
    need = [
        [
            Fraction(float(inst.weight[k]))
            / Fraction(float(score[k, 0]))
            * Fraction(float(inst.demand_by_server[k, 0, r]))
            for r in range(resources)
        ]
        for k in range(users)
    ]
    level: dict[int, Fraction] = {}
    while len(level) < users:
        free = [k for k in range(users) if k not in level]
        reach = {}
        for r in range(resources):
            slope = sum((need[k][r] for k in free), Fraction(0))
            held = sum((need[k][r] * level[k] for k in level), Fraction(0))
            if slope:
                reach[r] = (Fraction(float(inst.pool[0, r])) - held) / slope
        top = min(reach.values())
        for k in free:
            if any(need[k][r] and reach.get(r) == top for r in range(resources)):
                level[k] = top
    return [level[k] for k in range(users)]
