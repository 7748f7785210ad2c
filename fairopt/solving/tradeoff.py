"""The ladder for the trade-off (16) of kesidis2016: our method, then the program, then judge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from fairopt import clock, fast
from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import PRICES
from fairopt.certificates.tradeoff import keeps_equalities, measure
from fairopt.errors import SolverFailure, UsageError
from fairopt.formulas.lowered import lower
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, Tradeoff
from fairopt.solving import infeasible, quotas, ruled
from fairopt.solving.best import Best, Rung, Seen
from fairopt.solving.engines import units
from fairopt.solving.engines.penalties import absolute as interior
from fairopt.solving.engines.point import AlphaQuestion, How
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.quotas import naming
from fairopt.solving.ruled import RuledLadder

NEAR_ROWS = 1e-9
"""an answer closer than this is not moved nearer"""


class Pulled(RuledLadder):
    """The answers tried; one that is certified is moved nearer too, as other engines come closer
    than general solvers."""

    def near(self) -> bool:
        """Whether a nearby point is worth looking for."""
        return self.error > NEAR_ROWS


def answer(instance: Instance, notion: Tradeoff, score: Floats, how: How) -> Allocation:
    """The best answer of the ladder. Without penalties it is alpha-fairness of dominant shares.

    Raises
    ------
    Infeasible : the rules leave somebody nothing.
    SolverFailure : no solver gave an answer.
    UsageError : a solver that cannot state the program.
    """
    terms = Terms.of(notion.plain())
    if not (terms.t_pf or terms.t_drf):
        same = AlphaFair(terms.alpha, "dominant-share", weight_inside=True)
        found = quotas.answer(instance, same, score, how)
        prices = {name: getattr(found, name) for name in PRICES}
        return Allocation(instance, notion, found.tasks, score=score, steps=found.steps, **prices)
    if how.solver in ("interior", "highs"):
        raise UsageError(
            f"solver: found {how.solver!r}; {notion.name} beside rules wanted auto, clarabel, ecos "
            "or scs"
        )
    low = lower(instance, score)
    infeasible.check(instance, low, np.zeros(instance.shape[0]))
    unit = units.max_min(AlphaQuestion.of(instance, score, max(terms.alpha, 1.0), True))
    program = notion.program(instance, score, unit)

    def tried(ladder: Pulled, rung: conic.Settings) -> None:
        x, price, status = conic.run_ruled(program, rung)
        if not price.any():
            raise SolverFailure(f"{rung.label}: no prices")
        given: dict[str, Any] = {**ruled.tasks(instance, low, x), **naming.priced(low, price)}
        found = Allocation(instance, notion, score=score, **given)
        ladder.closely({"step": rung.label, "status": status}, found)

    def moved(best: Allocation, found: dict[str, Floats]) -> Allocation:
        return best.with_(**found)

    rungs = [
        Rung(each.label, RuledLadder.short, partial(tried, rung=each))
        for each in conic.ladder(how.solver, linear=False)
    ]
    return Pulled(instance, notion, score, how.gap, moved).climb(rungs)


NEAR_ENOUGH = 1e-7
"""an answer closer than this is not mended"""


def tradeoff(instance: Instance, notion: Tradeoff, score: Floats, how: How) -> Allocation:
    """The best answer of the ladder, with prices for the whole.

    Raises
    ------
    Infeasible : the hard forms leave nothing but zero.
    SolverFailure : no step gave an answer.
    UsageError : a solver that cannot state the program.
    """
    ladder = TradeoffLadder(instance, notion, score, how)
    if ladder.hard == (True, True):
        from fairopt.solving.engines.penalties.equalities import usable

        # servers that the equalities empty are left out: a method from inside cannot reach them
        ladder.within(usable(instance))
    return ladder.climb(rungs(ladder, how.solver))


class TradeoffLadder(Best):
    """The steps tried for one problem, and the best answer so far."""

    def __init__(self, instance: Instance, notion: Tradeoff, score: Floats, how: How) -> None:
        super().__init__(instance, notion, score, how.gap)
        self.terms, self.how = Terms.of(notion.plain()), how
        self.hard = bool(self.terms.equal_across), bool(self.terms.equal_within)
        self.divides = not any(self.hard)  # every server divided would break a hard form

    @property
    def plain(self) -> bool:
        """Whether (16) is alpha-fairness of F, with no penalty and no equality."""
        return not (self.terms.t_pf or self.terms.t_drf or any(self.hard))

    def within(self, usable: Any) -> None:
        """Solve on these servers (I,) alone; the judge still sees all of them."""
        if not usable.all():
            self.inner = self.instance.replace(placement=self.instance.placement & usable)

    def verdict(self, alloc: Allocation, once: bool) -> Seen:
        """Gap and residual; an answer that leaves an equality is as far off as can be."""
        gap, residual = measure(alloc)
        return Seen(gap, residual if keeps_equalities(alloc) else max(residual, 1.0))

    def near(self) -> bool:
        """Whether a nearby point may help: where the objective is curved."""
        return self.error > NEAR_ENOUGH and bool(self.terms.alpha)

    def small(self) -> None:
        """The method for small instances."""
        with fast.noted() as compiled:
            point = interior.follow(self.inner, self._score(), self.terms)
        self.compare(self.record("interior, small", point, compiled=compiled))

    def relative(self) -> None:
        """The method in relative terms."""
        from fairopt.solving.engines.penalties import relative

        for point in relative.follow(self.inner, self._score(), self.terms):
            self.judge("relative path", point)

    def nearby(self) -> None:
        """The nearby point."""
        self.nearer(NEAR_ENOUGH)

    def same_as_alpha_fair(self) -> None:
        """Without penalties it is alpha-fairness of the dominant shares: that ladder's answer."""
        from fairopt.solving.alpha_fair import alpha_fair

        other = AlphaFair(self.terms.alpha, "dominant-share", weight_inside=True)
        found = alpha_fair(self.instance, other, self.score, self.how)
        self.steps.extend(found.steps)
        assert found.prices is not None and found.limit_prices is not None
        step: dict[str, Any] = {"step": ALPHA_FAIR}
        self.steps.append(step)
        self.keep(step, self.priced(found.tasks, found.prices, found.limit_prices))

    def program(self, settings: conic.Settings) -> None:
        """The declarative program by a general solver."""
        from fairopt.solving.engines import units
        from fairopt.solving.engines.point import AlphaQuestion
        from fairopt.solving.engines.programs import compiled

        clock.tick()
        score = self._score()
        unit = units.max_min(AlphaQuestion.of(self.inner, score, max(self.terms.alpha, 1.0), True))
        program = compiled.tradeoff(self.notion, self.inner, score, unit)
        point, status = conic.run(program, self.inner, settings)
        self.judge(settings.label, point, status)

    def _score(self) -> Floats:
        """(N, I) scores on the servers solved for."""
        if self.inner is self.instance:
            return self.score
        return np.where(self.inner.eligible, self.score, 0.0)


ALPHA_FAIR = "alpha-fair"
NEARBY = Rung("nearby", TradeoffLadder.near, TradeoffLadder.nearby)
SAME_AS_ALPHA_FAIR = Rung(
    ALPHA_FAIR, lambda ladder: ladder.plain and ladder.short(), TradeoffLadder.same_as_alpha_fair
)
OURS: tuple[Rung[TradeoffLadder], ...] = (
    Rung("interior, small", lambda ladder: True, TradeoffLadder.small),
    Rung("relative path", TradeoffLadder.short, TradeoffLadder.relative),
    NEARBY,
    SAME_AS_ALPHA_FAIR,
)
"""our own engines, the fastest first"""


def rungs(ladder: TradeoffLadder, solver: str) -> Iterator[Rung[TradeoffLadder]]:
    """What is tried: ours first, unless a general solver was named.

    Raises
    ------
    UsageError : a solver that cannot state the program.
    """
    if solver in ("auto", "interior"):
        yield from OURS
    if solver == "interior" or ladder.enough():
        return
    linear = ladder.terms.alpha == 0 and not (ladder.terms.t_pf or ladder.terms.t_drf)
    if solver == "highs" and not linear:
        raise UsageError("solver: highs states linear programs only; wanted clarabel, ecos or scs")
    for settings in conic.ladder(solver, linear):
        yield Rung(
            settings.label, TradeoffLadder.short, partial(TradeoffLadder.program, settings=settings)
        )
    yield NEARBY
    if solver not in ("auto", "highs"):
        yield SAME_AS_ALPHA_FAIR
