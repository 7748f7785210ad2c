"""What every answer beside rules needs: its ladder, its solver and its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import judged
from fairopt.certificates.proof import nearer, searched_once
from fairopt.errors import UsageError
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving.best import Best, LadderVerdict
from fairopt.solving.engines.programs import conic

LARGEST_ERROR = 1e-9
"""largest error of an answer from a start; any other is solved anew"""
TRIFLE = 1e-13
"""part of all tasks that is rounding"""
INTERIOR = "interior, all rules"


class RuledLadder(Best):
    """The answers tried beside rules. `from_near` (best, found) -> the answer at the point that
    the judge found nearby; None where it searches none."""

    def __init__(
        self,
        instance: Instance,
        notion: Notion,
        score: Floats,
        gap: float,
        from_near: Callable[[Allocation, dict[str, Floats]], Allocation] | None,
    ) -> None:
        super().__init__(instance, notion, score, gap)
        self.from_near = from_near

    def verdict(self, alloc: Allocation, once: bool) -> LadderVerdict:
        """The whole certificate, made once."""
        return judged(alloc)

    def short(self) -> bool:
        """Whether it is not certified yet."""
        uncertified, _, _ = self.rank
        return uncertified

    def near(self) -> bool:
        """Whether a nearby point may still certify it."""
        return self.short() and self.from_near is not None

    def moved(self, found: dict[str, Floats]) -> Allocation:
        """The answer at a nearby point."""
        assert self.best is not None and self.from_near is not None
        return self.from_near(self.best, found)

    def closely(self, step: dict[str, Any], alloc: Allocation) -> None:
        """Keep an answer, and what the judge finds near it."""
        self.steps.append(step)
        self.keep(step, alloc)
        self.nearer(0.0)

    def begun(self, step: dict[str, Any], alloc: Allocation) -> None:
        """Keep the answer at the point to which one search leads from the last one, if it is as
        close as one without a start."""
        self.steps.append(step)
        step["status"] = "too far away, solved anew"
        known = self.from_near is not None and searched_once(alloc)
        found = nearer(alloc) if known else None
        if found is None:
            return
        assert self.from_near is not None
        near = self.from_near(alloc, found)
        if not searched_once(near):
            return
        self.keep(step, near)
        step["status"] = "used"
        if self.short() or self.error > LARGEST_ERROR:
            self.best, self.error, self.rank = None, np.inf, (True, np.inf, np.inf)
            step["status"] = "not close enough, solved anew"


def settings(notion: Notion, solver: str, linear: bool) -> conic.Settings:
    """The general solver named; for linear programs HiGHS, if none is."""
    if solver == "interior":
        raise UsageError(f"solver: found 'interior'; {notion.name} wanted auto or a general solver")
    if linear and solver in ("auto", "highs"):
        return conic.EXACT
    return conic.ladder(solver if solver != "auto" else "clarabel", linear)[0]


def tasks(instance: Instance, low: Lowered, x: Floats, trifle: float = TRIFLE) -> dict[str, Any]:
    """The tasks as an Allocation takes them.

    With lending they are a trifle less, where they are not known to the last digit: what a node is
    over by rounding that may not borrow is missing at its parent too, where nothing makes up for
    it. What a rule keeps at 0 is 0, as the least use would be infinitely more than allowed.
    """
    x = np.where(low.empty, 0.0, x)
    by_way = low.tasks(x, len(instance.ways)) * (1.0 - trifle * bool(instance.tree.quotas))
    if instance.modes is None:
        return {"tasks": by_way}
    return {"tasks": instance.ways.running(by_way), "way_tasks": by_way}


__all__ = ["INTERIOR", "TRIFLE", "RuledLadder", "settings", "tasks"]
