"""The best pattern of a class at given prices: the judge's own search, with weights from a program.

The linear program of one node gives the weights that make the search short; where the search is
too long, a mixed-integer program gives a pattern and the search's first bound a safe worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np

from fairopt.highs import quiet
from fairopt.whole.proof.problem import NodeClass, Problem, Tasks
from fairopt.whole.proof.search import Item, TooLong, most, root_bound

SHORT = 4_000
"""branches of the search while columns are made; beyond, the mixed-integer program goes on"""
_NEARLY = 1e-4
"""part of the best worth by which a new pattern may be less"""
_BRANCHES = 8
"""branches looked at for each pattern near the best that may be added"""
_FIGURES = 10**4
"""weights are whole numbers with about so many steps on a full node"""


class Sack:
    """One node of a class as a program that is kept."""

    def __init__(self, own: NodeClass) -> None:
        import highspy

        self.own = own
        self.kinds = len(own.kinds)
        self.rows = [r for r, c in enumerate(own.room) if c and any(k.need[r] for k in own.kinds)]
        self.model = quiet(mip_rel_gap=_NEARLY)
        for kind in own.kinds:
            self.model.addVar(0.0, float(kind.most))
        for r in self.rows:
            some = [k for k, kind in enumerate(own.kinds) if kind.need[r]]
            part = np.array([own.kinds[k].need[r] / own.room[r] for k in some])
            self.model.addRow(-highspy.kHighsInf, 1.0, len(some), np.array(some, np.int32), part)
        self.model.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self.at = np.arange(self.kinds, dtype=np.int32)
        self.whole = False

    def _run(self, items: Sequence[Item], whole: bool) -> Any:
        import highspy

        kinds = highspy.HighsVarType
        if whole != self.whole:
            one = kinds.kInteger if whole else kinds.kContinuous
            self.model.changeColsIntegrality(self.kinds, self.at, np.array([one] * self.kinds))
            self.whole = whole
        worth = np.array([float(max(item[0], 0)) for item in items])
        self.model.changeColsCost(self.kinds, self.at, worth / max(float(worth.max()), 1e-300))
        self.model.run()
        return self.model.getSolution()

    def hint(self, items: Sequence[Item]) -> tuple[int, ...]:
        """(R,) whole weights of the resources at these worths."""
        room = self.own.room
        weights = [0.0] * len(room)
        for r, dual in zip(self.rows, self._run(items, False).row_dual, strict=True):
            weights[r] = abs(float(dual)) / room[r]
        top = max((x * c for x, c in zip(weights, room, strict=True)), default=0.0)
        if top <= 0:
            return (0,) * len(room)
        scale = max(room) * _FIGURES / top
        return tuple(round(x * scale) for x in weights)

    def best(self, items: Sequence[Item], limit: int = SHORT) -> tuple[int, Tasks]:
        """(a worth that no pattern is above, a pattern that is best or nearly so)."""
        if not any(item[0] > 0 for item in items):
            return 0, (0,) * self.kinds
        hint = self.hint(items)
        try:
            top, found = most(items, self.own.room, hint, None, limit, self.own.cards)
            return top, found or (0,) * self.kinds
        except TooLong as far:
            bound = root_bound(items, self.own.room, hint)
            if far.tasks is not None and bound - far.best <= _NEARLY * bound:
                return bound, far.tasks
        self.model.setOptionValue("mip_max_nodes", 50)
        tasks = [max(0, round(x)) for x in self._run(items, True).col_value]
        while not self.own.fits(tasks):  # a tolerance of the program: one task less
            k = min((k for k, m in enumerate(tasks) if m), key=lambda k: (items[k][0], k))
            tasks[k] -= 1
        return bound, tuple(tasks)

    def sure(self, items: Sequence[Item], limit: int) -> tuple[int, tuple[int, ...]]:
        """(sigma, hint) that the judge can check."""
        if not any(item[0] > 0 for item in items):
            return 0, (0,) * len(self.own.room)
        hint = self.hint(items)
        try:
            return most(items, self.own.room, hint, None, limit, self.own.cards)[0], hint
        except TooLong:
            return root_bound(items, self.own.room, hint), hint


def sacks(problem: Problem) -> list[Sack | None]:
    """A sack for every class on which anything runs."""
    return [Sack(own) if own.kinds and own.count else None for own in problem.classes]


class _Full(Exception):
    """There are too many patterns, or too many branches to look at."""


def near(
    own: NodeClass, worth: Sequence[int], hint: Sequence[int], least: int, most_of: int
) -> list[Tasks] | None:
    """All patterns worth `least` or more to which nothing can be added; None if there are too many.

    With prices that leave a gap, no plan that is better uses a pattern worth less than sigma
    minus the gap.

    Parameters
    ----------
    worth : of each kind, >= 0. hint : (R,) weights that make bounds tight.
    """
    size = len(own.room)
    weights = [tuple(int(r == s) for s in range(size)) for r in range(size) if own.room[r] > 0]
    weights.insert(0, tuple(hint))
    load = [
        sum(w * x for w, x in zip(hint, kind.need, strict=True)) / max(1, sum(hint))
        for kind in own.kinds
    ]
    order = sorted(range(len(own.kinds)), key=lambda k: (-worth[k] / max(load[k], 1e-12), k))
    top = [
        (row, _ratios([own.kinds[k].need for k in order], [worth[k] for k in order], row))
        for row in weights
    ]
    found: list[Tasks] = []
    tasks, branches = [0] * len(own.kinds), [most_of * _BRANCHES]

    def cut(at: int, left: tuple[int, ...], missing: int) -> bool:
        for row, best in top:
            ratio = best[at]
            if ratio is not None:
                there = sum(map(mul, row, left))
                if there * ratio[0] < missing * ratio[1]:
                    return True
        return False

    def more_fits(left: tuple[int, ...]) -> bool:
        return any(
            tasks[k] < kind.most
            and all(x <= c for x, c in zip(kind.need, left, strict=True))
            and own.lies([m + (i == k) for i, m in enumerate(tasks)])
            for k, kind in enumerate(own.kinds)
        )

    def go(at: int, left: tuple[int, ...], value: int, new: bool = True) -> None:
        branches[0] -= 1
        if branches[0] < 0 or len(found) > most_of:
            raise _Full
        if cut(at, left, least - value) or (new and not own.lies(tasks)):
            return
        if at == len(order):
            if not more_fits(left):
                found.append(tuple(tasks))
            return
        k = order[at]
        need = own.kinds[k].need
        fit = min([own.kinds[k].most, *(c // x for c, x in zip(left, need, strict=True) if x)])
        for m in range(fit, -1, -1):
            tasks[k] = m
            rest = tuple(c - m * x for c, x in zip(left, need, strict=True)) if m else left
            go(at + 1, rest, value + m * worth[k], m > 0)
        tasks[k] = 0

    try:
        go(0, own.room, 0)
    except _Full:
        return None
    return found


def _ratios(
    needs: Sequence[tuple[int, ...]], worth: Sequence[int], weights: Sequence[int]
) -> list[tuple[int, int] | None]:
    """The best worth for a load among the kinds from each place on; None: no bound."""
    best: tuple[int, int] | None = (0, 1)
    found: list[tuple[int, int] | None] = [best]
    for need, own in zip(reversed(needs), reversed(worth), strict=True):
        load = sum(map(mul, weights, need))
        if best is not None and own > 0:
            if load == 0:
                best = None
            elif own * best[1] > best[0] * load:
                best = (own, load)
        found.append(best)
    return found[::-1]
