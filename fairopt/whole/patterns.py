"""The best pattern of a class at given prices: the judge's own search, with weights from a program.

The linear program of one node gives the weights that make the search short; where the search is
too long, a mixed-integer program gives a pattern and the search's first bound a safe worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.highs import quiet
from fairopt.whole.proof.problem import NodeClass, Problem, Tasks
from fairopt.whole.proof.search import Item, TooLong, most, root_bound

SHORT = 4_000
"""branches of the search while columns are made; beyond, the mixed-integer program goes on"""
_NEARLY = 1e-4
"""part of the best worth by which a new pattern may be less"""
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
