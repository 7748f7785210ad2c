"""The best pattern of a class at given prices: the judge's own search, with weights from a program.

The linear program of one node gives the weights that make the search short; where the search is
too long, a mixed-integer program gives a pattern and the search's first bound a safe worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.whole.proof.problem import NodeClass, Problem, Tasks
from fairopt.whole.proof.search import Item, TooLong, most, root_bound

SHORT = 4_000
"""branches of the search while columns are made; beyond, the mixed-integer program goes on"""
_FIGURES = 10**4
"""weights are whole numbers with about so many steps on a full node"""


def quiet(**options: Any) -> Any:
    """A HiGHS model without output, on one thread."""
    import highspy

    model = highspy.Highs()
    for key, value in {"output_flag": False, "threads": 1, **options}.items():
        model.setOptionValue(key, value)
    return model


class Sack:
    """One node of a class as a program that is kept."""

    def __init__(self, own: NodeClass) -> None:
        import highspy

        self.own = own
        self.kinds = len(own.kinds)
        self.rows = [r for r, c in enumerate(own.room) if c and any(k.need[r] for k in own.kinds)]
        self.model = quiet(mip_rel_gap=0.0)
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
            top, found = most(items, self.own.room, hint, limit=limit)
            return top, found or (0,) * self.kinds
        except TooLong:
            bound = root_bound(items, self.own.room, hint)
        self.model.setOptionValue("mip_max_nodes", 500)
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
            return most(items, self.own.room, hint, limit=limit)[0], hint
        except TooLong:
            return root_bound(items, self.own.room, hint), hint


def sacks(problem: Problem) -> list[Sack | None]:
    """A sack for every class on which anything runs."""
    return [Sack(own) if own.kinds and own.count else None for own in problem.classes]


class _Full(Exception):
    """There are too many patterns, or too many branches to look at."""


def near(own: NodeClass, worth: Sequence[float], least: float, most_of: int) -> list[Tasks] | None:
    """All patterns worth `least` or more to which nothing can be added; None if there are too many.

    With prices that leave a gap, no plan that is better uses a pattern worth less than sigma
    minus the gap.
    """
    part = [
        max((x / c for x, c in zip(kind.need, own.room, strict=True) if x), default=0.0)
        for kind in own.kinds
    ]
    order = sorted(range(len(own.kinds)), key=lambda k: (-worth[k] / max(part[k], 1e-12), k))
    top = _ratios(own, worth, order)
    found: list[Tasks] = []
    tasks, branches = [0] * len(own.kinds), [most_of * 20]

    def more_fits(left: tuple[int, ...]) -> bool:
        return any(
            tasks[k] < kind.most and all(x <= c for x, c in zip(kind.need, left, strict=True))
            for k, kind in enumerate(own.kinds)
        )

    def go(at: int, left: tuple[int, ...], value: float) -> None:
        branches[0] -= 1
        if branches[0] < 0 or len(found) > most_of:
            raise _Full
        bound = min((c * row[at] for c, row in zip(left, top, strict=True)), default=0.0)
        if value + bound < least - 1e-9:
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
            rest = tuple(c - m * x for c, x in zip(left, need, strict=True))
            go(at + 1, rest, value + m * worth[k])
        tasks[k] = 0

    try:
        go(0, own.room, 0.0)
    except _Full:
        return None
    return found


def _ratios(own: NodeClass, worth: Sequence[float], order: Sequence[int]) -> list[list[float]]:
    """Per resource, the best worth for its amount among the kinds from each place on."""
    found = []
    for r in range(len(own.room)):
        column, best = [0.0] * (len(order) + 1), 0.0
        for at in range(len(order) - 1, -1, -1):
            need = own.kinds[order[at]].need[r]
            if worth[order[at]] > 0:
                best = max(best, worth[order[at]] / need if need else 1e300)
            column[at] = best
        found.append(column)
    return found
