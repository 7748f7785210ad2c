"""One ladder for every family: rungs are data, every answer is judged, and the best is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from fairopt import clock, fast
from fairopt.allocation import Allocation
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.proof import FAR, measure, nearer, sight
from fairopt.certificates.scaled_prices import log_scale
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import SolverFailure
from fairopt.formulas import welfare
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Floats, Instance, sealed
from fairopt.solving.engines.point import FURTHEST, Point, divided, fitted, in_range

NEARER = 4
"""most times that the optimum is searched again from the point found"""
EXACT = 1e-10
"""error of an answer below which it is not polished, and others are no better"""
RARE = 590.0
"""log of the money of a limit, above that of all rows, from which it is computed from the share"""
AT = 1e-9
"""a user that has all but this part of its limit is at its limit"""
COMPILED = "compiled"
"""under which a step says what of it was compiled"""
L = TypeVar("L", bound="Best")


@dataclass(frozen=True)
class Rung(Generic[L]):
    """One thing that a ladder may try.

    name : what readers of `steps` find where it failed.
    when : whether it is worth trying, asked when the ladder comes to it.
    run : tries it, and says whether nothing after it is to be tried (None: no).
    """

    name: str
    when: Callable[[L], bool]
    run: Callable[[L], bool | None]


class LadderVerdict(Protocol):
    """What a judge says of an answer; `certified` is asked of judges of whole answers alone."""

    @property
    def gap(self) -> float:
        """How much larger the objective may be, relatively."""

    @property
    def residual(self) -> float:
        """How far the worst user's share is proved to be off."""

    @property
    def certified(self) -> bool:
        """Whether every share is proved."""


class Seen(NamedTuple):
    """The verdict of a judge that is asked for the numbers alone."""

    gap: float
    residual: float
    certified: bool = False


@dataclass(frozen=True, eq=False)
class Tried:
    """An answer that was recorded and is not judged yet: its entry among the steps, and itself,
    made when it is first asked for."""

    step: dict[str, Any]
    make: Callable[[], Allocation]

    @cached_property
    def alloc(self) -> Allocation:
        """The answer."""
        return self.make()


class Best:
    """The answers tried for one problem, and the one that the judge finds best.

    Parameters
    ----------
    score : (N, I) of the notion's criterion.
    gap : the error of an answer that is enough; never above that of "certified".

    `error` is the larger of gap and residual of the best answer; inf before the first. `inner` is
    the instance that the engines see, where they see fewer servers than the judge. `divides` says
    whether every server divided by weight is an answer where time is over and nothing was found.
    """

    divides = False

    def __init__(self, instance: Instance, notion: Any, score: Floats, gap: float) -> None:
        self.instance, self.notion, self.score = instance, notion, score
        self.inner = instance
        self.gap = min(gap, TOLERANCE)
        self.best: Allocation | None = None
        self.error, self.rank = np.inf, (True, np.inf, np.inf)
        self.steps: list[dict[str, Any]] = []
        self.failures: list[str] = []

    def climb(self, rungs: Iterable[Rung[Any]]) -> Allocation:
        """Try the rungs in turn until one is enough; the best answer, and all that was tried.

        Raises
        ------
        MissingExtra : the solver named is not installed.
        SolverFailure : no rung gave an answer.
        """
        try:
            for rung in rungs:
                if rung.when(self) and self._tried(rung):
                    break
            if self.best is None:
                clock.tick()
        except clock.OutOfTime as late:
            self.late(late)
        if self.best is None:
            raise SolverFailure("no solver gave an answer: " + "; ".join(self.failures))
        return self.found(self.best)

    def found(self, best: Allocation) -> Allocation:
        """What is handed back of the best answer: the answer, with every step tried."""
        return best.with_(steps=tuple(self.steps))

    def _tried(self, rung: Rung[Any]) -> bool:
        try:
            return bool(rung.run(self))
        except clock.OutOfTime:
            raise
        except SolverFailure as failure:
            self.failures.append(str(failure))
            self.steps.append({"step": rung.name, "status": f"failed: {failure}"})
            return False

    def short(self) -> bool:
        """Whether no answer yet is enough."""
        return self.error > self.gap

    def enough(self) -> bool:
        """Whether no other way needs to be tried."""
        return not self.short()

    def verdict(self, alloc: Allocation, once: bool) -> LadderVerdict:
        """What the family's judge says (`once`: by one search at most)."""
        return Seen(*measure(alloc, once, self.gap))

    def late(self, why: clock.OutOfTime) -> None:
        """The time is over: the best so far, or where nothing was found each server divided."""
        if self.best is None and not self.divides:
            raise why
        if self.best is None:
            alloc = Allocation(self.instance, self.notion, divided(self.instance), score=self.score)
            step = {"step": "every server divided by weight"}
            self.steps.append(step)
            self.keep(step, with_prices(alloc))
        self.steps.append({"step": "time limit", "status": str(why)})

    def judge(self, label: str, point: Point | None, status: str = "") -> None:
        """Record the step; keep the point if it has prices and is better than all before."""
        self.compare(self.record(label, point, status))

    def record(
        self, label: str, point: Point | None, status: str = "", compiled: Iterable[str] = ()
    ) -> Tried | None:
        """Record the step, and which loops of it were compiled; its answer, if it has prices, to be
        judged by `compare`."""
        step: dict[str, Any] = {"step": label, **({"status": status} if status else {})}
        if compiled:
            step[COMPILED] = ", ".join(sorted(compiled))
        self.steps.append(step)
        if point is None:
            step["status"] = "found nothing"
            return None
        p, mu = point.prices(self.inner)
        if not (p.any() or mu.any()):
            step["status"] = "no prices"
            return None

        def made() -> Allocation:
            tasks = point.tasks(self.inner)
            # made for this answer alone: sealed as it is, with 0.0 for -0.0, it is not copied
            np.add(tasks, 0.0, out=tasks)
            return self.priced(sealed(tasks), p, mu)

        return Tried(step, made)

    def priced(self, tasks: Floats, p: Floats, mu: Floats) -> Allocation:
        """The answer with these prices."""
        return priced(self.instance, self.notion, tasks, p, mu, self.score)

    def keep(self, step: dict[str, Any], alloc: Allocation, once: bool = False) -> None:
        """Keep an answer if the certificate finds it better than all before."""
        self.compare(Tried(step, lambda: alloc), once)

    def compare_until(self, enough: float, tried: list[Tried | None]) -> None:
        """Judge answers until one is enough, the best at first sight before the others; where the
        last, which went on from the others, is enough at first sight, those are not looked at."""

        def order(one: Tried) -> float:
            return sight(one.alloc)

        some = [one for one in tried if one is not None]
        done = bool(some) and order(some[-1]) <= enough
        for one in reversed(some) if done else sorted(some, key=order):
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
        with fast.noted() as compiled:
            seen = self.verdict(tried.alloc, once)
        if compiled:
            before = (tried.step[COMPILED] + "; ") if COMPILED in tried.step else ""
            tried.step[COMPILED] = f"{before}judge: " + ", ".join(sorted(compiled))
        tried.step["gap"], tried.step["residual"] = seen.gap, seen.residual
        # residuals above 1 do not tell answers apart: then the gap decides
        rank = not seen.certified, max(seen.gap, min(seen.residual, 1.0)), seen.gap
        if self.best is None or rank < self.rank:
            self.best, self.error, self.rank = tried.alloc, max(seen.gap, seen.residual), rank

    def near(self) -> bool:
        """Whether the best answer is near enough to an optimum for a search."""
        return self.best is not None and sight(self.best) <= FAR

    def nearer(self, enough: float, once: bool = False) -> None:
        """The point at which the judge finds the optimum proved, where it finds one; again from
        there, while that is closer, or elsewhere for once, and not close enough. With `once` by one
        search each."""
        here, tries = self.best, 1
        for _ in range(NEARER):
            before = self.rank
            near = here is not None and self.near()
            found = self.searched(here, once) if near and here is not None else None
            if found is None or here is None:
                return
            step: dict[str, Any] = {"step": "nearby"}
            self.steps.append(step)
            moved = self.moved(found)
            self.keep(step, moved, once)
            tries -= not self.rank < before
            if self.error <= enough or tries < 0 or (tries < 1 and not _elsewhere(here, moved)):
                return
            here = moved

    def searched(self, best: Allocation, once: bool) -> dict[str, Floats] | None:
        """The point at which the judge finds the optimum proved; None where it finds none."""
        return nearer(best, once)

    def moved(self, found: dict[str, Floats]) -> Allocation:
        """The answer at the point that the judge found; where it found no prices, with those of
        the best."""
        assert self.best is not None
        p, mu = self.best.prices, self.best.limit_prices
        assert p is not None and mu is not None
        tasks = fitted(self.instance, found["tasks"])
        return self.priced(tasks, found.get("prices", p), found.get("limit_prices", mu))


def _elsewhere(here: Allocation, moved: Allocation) -> bool:
    """Whether anybody's share is another by more than is certified."""
    apart = np.abs(moved.shares - here.shares) > TOLERANCE * np.abs(here.shares)
    return bool(apart.any())


def _within_floats(p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    top = max(float(p.max()), float(mu.max()))
    return p / top, mu / top


def priced(
    instance: Instance, notion: Any, tasks: Floats, p: Floats, mu: Floats, score: Floats
) -> Allocation:
    """An answer with its prices within the range of floats, of the sum that is promised."""
    p, mu = _within_floats(p, mu)
    if np.isfinite(instance.limit).any():
        p, mu = within_reach(Allocation(instance, notion, tasks, p, mu, score=score))
    p, mu = normalised(instance, p, mu)
    return Allocation(instance, notion, tasks, p, mu, score=score)


def normalised(inst: Instance, p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Prices scaled to sum count p c + sum mu limit = sum phi (docs/maths/alpha-fairness.md)."""
    limit = np.where(mu > 0, inst.limit, 0.0)
    money = float((p * inst.pool).sum() + mu @ limit)
    factor = float(inst.weight.sum()) / money
    return p * factor, mu * factor


def within_reach(alloc: Allocation, always: bool = False) -> tuple[Floats, Floats]:
    """Prices (I, R) and of limits (N,), the latter from the shares where they are far larger."""
    assert alloc.prices is not None and alloc.limit_prices is not None
    p, mu, inst = alloc.prices, alloc.limit_prices, alloc.instance
    alpha = welfare.alpha_of(alloc.notion) or 0.0
    stopped, rows = alloc.totals >= inst.limit * (1 - AT), float((p * inst.pool).sum())
    dear = float((mu * np.where(stopped, inst.limit, 0.0)).max()) > rows * np.exp(RARE)
    if alpha == 0 or not stopped.any() or not (dear or always):
        return p, mu
    given = p, mu
    with np.errstate(all="ignore"):
        if stopped.all():
            p, log_t = np.zeros_like(p), 0.0  # nobody pays for a resource
        else:
            log_t = log_scale(alloc)
        inside = bool(alloc.kind["parameters"].get("weight_inside", False))
        log_w = welfare.log_weight(inst.weight, alpha, inside)
        log_value = log_w - alpha * np.log(np.maximum(alloc.shares, 0.0)) - log_t
        cost = np.where(inst.eligible, task_cost(inst, p, slice(None)) / alloc.score, np.inf)
        best = np.where(inst.eligible, alloc.score, 0.0).max(axis=1)
        above = np.log(-np.expm1(np.minimum(np.log(cost.min(axis=1)) - log_value, 0.0)))
        money = np.where(stopped, log_value + above + np.log(best * inst.limit), -np.inf)
        base = -FURTHEST if stopped.all() else np.log(rows)
        paid = np.exp(in_range(money, float(base)))
    if not np.isfinite(paid).all() or not (rows > 0 or stopped.all()):
        return given
    return p, np.where(stopped, paid / np.where(stopped, inst.limit, 1.0), mu)
