"""What every answer beside rules needs: its ladder, its tasks, and sizes to solve by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import judged
from fairopt.errors import UsageError
from fairopt.formulas import welfare
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving.best import Best, Verdict
from fairopt.solving.engines.programs import conic

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

    def verdict(self, alloc: Allocation, once: bool) -> Verdict:
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


def due(log_w: Floats, alpha: float) -> Floats:
    """(N,) the part of one shared pool that weights alone would give each user, about."""
    if alpha == 0:
        return np.full(len(log_w), 1.0 / len(log_w))
    log_v = log_w / alpha
    return np.exp(np.maximum(log_v - welfare.log_sum_exp(log_v), -30.0))


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


def alone(low: Lowered) -> Floats:
    """(N,) share of each user alone, about: without quotas, and each column by itself."""
    scaled = low.matrix[:, : low.columns].multiply(1.0 / low.unit[:, None]).tocsc()
    most = low.score / scaled.max(axis=0).toarray().ravel()
    return np.asarray(np.bincount(low.owner, most, low.shape[0]))


__all__ = ["INTERIOR", "TRIFLE", "RuledLadder", "alone", "due", "settings", "tasks"]
