"""The best answer so far of one connected part: every step is judged, and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.proof import FAR, measure, nearer, sight
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.point import Point, divided, fitted
from fairopt.solving.prices import normalised, within_reach

NEARER = 4
"""most times that the optimum is searched again from the point found"""
EXACT = 1e-10
"""error of an answer below which it is not polished, and others are no better"""


@dataclass(frozen=True)
class Tried:
    """An answer that was recorded and is not judged yet: its entry among the steps, and itself."""

    step: dict[str, Any]
    alloc: Allocation


class Best:
    """The answers tried for one part, and the one that the judge finds best.

    Parameters
    ----------
    score : (N, I) of the notion's criterion.

    `error` is the larger of gap and residual of the best answer; inf before the first.
    """

    def __init__(self, instance: Instance, notion: Any, score: Floats) -> None:
        self.instance, self.notion, self.score = instance, notion, score
        self.best: Allocation | None = None
        self.error, self.rank = np.inf, (np.inf, np.inf)
        self.steps: list[dict[str, Any]] = []

    def found(self) -> tuple[Allocation, list[dict[str, Any]]]:
        """The best answer, and the steps tried."""
        assert self.best is not None
        return self.best, self.steps

    def late(self, why: str) -> None:
        """The time is over: the best so far, or where nothing was found each server divided."""
        if self.best is None:
            tasks = divided(self.instance)
            alloc = with_prices(Allocation(self.instance, self.notion, tasks, score=self.score))
            assert alloc.prices is not None and alloc.limit_prices is not None
            step = {"step": "every server divided by weight"}
            self.steps.append(step)
            self.keep(step, tasks, alloc.prices, alloc.limit_prices)
        self.steps.append({"step": "time limit", "status": why})

    def judge(self, label: str, point: Point | None, status: str = "") -> None:
        """Record the step; keep the point if it has prices and is better than all before."""
        self.compare(self.record(label, point, status))

    def record(self, label: str, point: Point | None, status: str = "") -> Tried | None:
        """Record the step; its answer, if it has prices, to be judged by `compare`."""
        step: dict[str, Any] = {"step": label, **({"status": status} if status else {})}
        self.steps.append(step)
        if point is None:
            step["status"] = "found nothing"
            return None
        p, mu = point.prices(self.instance)
        if not (p.any() or mu.any()):
            step["status"] = "no prices"
            return None
        return self._priced(step, point.tasks(self.instance), p, mu)

    def keep(self, step: dict[str, Any], tasks: Floats, p: Floats, mu: Floats) -> None:
        """Keep an answer if the certificate finds it better than all before."""
        self.compare(self._priced(step, tasks, p, mu))

    def _priced(self, step: dict[str, Any], tasks: Floats, p: Floats, mu: Floats) -> Tried:
        """The answer with prices within the range of floats, of the sum that is promised."""
        p, mu = _within_floats(p, mu)
        if np.isfinite(self.instance.limit).any():
            p, mu = within_reach(
                Allocation(self.instance, self.notion, tasks, p, mu, score=self.score)
            )
        p, mu = normalised(self.instance, p, mu)
        return Tried(step, Allocation(self.instance, self.notion, tasks, p, mu, score=self.score))

    def compare_until(self, enough: float, tried: list[Tried | None]) -> None:
        """Judge answers until one is enough, the best at first sight before the others."""

        def order(one: Tried) -> float:
            return sight(one.alloc)

        for one in sorted((one for one in tried if one is not None), key=order):
            if self.error > enough:
                self.compare(one)
            else:
                told = one.step.get("status")
                one.step["status"] = f"{told}; not judged" if told else "not judged"

    def compare(self, tried: Tried | None, once: bool = False) -> None:
        """Judge an answer (`once`: by one search at most), and keep it if it is better than all
        before."""
        if tried is None:
            return
        gap, worst = measure(tried.alloc, once)
        tried.step["gap"], tried.step["residual"] = gap, worst
        # residuals above 1 do not tell answers apart: then the gap decides
        rank = max(gap, min(worst, 1.0)), gap
        if self.best is None or rank < self.rank:
            self.best, self.error, self.rank = tried.alloc, max(gap, worst), rank

    def nearer(self, enough: float) -> None:
        """The point at which the judge finds the optimum proved, where it finds one; again from
        there, while that is closer and not close enough."""
        for _ in range(NEARER):
            assert self.best is not None
            before = self.rank
            found = nearer(self.best) if sight(self.best) <= FAR else None
            if found is None:
                return
            step: dict[str, Any] = {"step": "nearby"}
            self.steps.append(step)
            tasks = fitted(self.instance, found["tasks"])
            self.keep(step, tasks, found["prices"], found["limit_prices"])
            if self.error <= enough or not self.rank < before:
                return


def _within_floats(p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    top = max(float(p.max()), float(mu.max()))
    return p / top, mu / top
