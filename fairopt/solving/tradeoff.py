"""The ladder for the trade-off (16) of kesidis2016: our method, then the program, then judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.proof import nearer
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.certificates.tradeoff import keeps_equalities, measure
from fairopt.errors import SolverFailure, UsageError
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, Tradeoff
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.penalties import method as interior
from fairopt.solving.engines.point import Point, divided, fitted
from fairopt.solving.prices import normalised

NEAR = 1e-7
"""an answer closer than this is not mended"""


def tradeoff(instance: Instance, notion: Tradeoff, score: Floats, how: How) -> Allocation:
    """The best answer of the ladder, with prices for the whole.

    Raises
    ------
    Infeasible : the hard forms leave nothing but zero.
    SolverFailure : no step gave an answer.
    UsageError : a solver that cannot state the program.
    """
    solver = how.solver
    ladder = _Ladder(instance, notion, score, min(how.gap, TOLERANCE))
    if ladder.terms.equal_across and ladder.terms.equal_within:
        from fairopt.solving.engines.penalties.equalities import usable

        # servers that the equalities empty are left out: a method from inside cannot reach them
        ladder.within(usable(instance))
    if solver in ("auto", "interior"):
        ladder.own()
        ladder.nearer()
        if ladder.error > ladder.gap and ladder.plain:
            ladder.same_as_alpha_fair(how)
    if ladder.error > ladder.gap and solver != "interior":
        ladder.programs(solver)
        ladder.nearer()
        if solver not in ("auto", "highs") and ladder.error > ladder.gap and ladder.plain:
            ladder.same_as_alpha_fair(how)
    if ladder.best is None and clock.over():
        ladder.late()
    if ladder.best is None:
        raise SolverFailure("no solver gave an answer: " + "; ".join(ladder.failures))
    return ladder.best.with_(steps=tuple(ladder.steps))


class _Ladder:
    """The steps tried for one problem, and the best answer so far."""

    def __init__(self, instance: Instance, notion: Tradeoff, score: Floats, gap: float) -> None:
        self.instance, self.notion, self.gap = instance, notion, gap
        self.terms = Terms.of(notion.plain())
        self.score = score
        self.inner = instance
        self.best: Allocation | None = None
        self.error = np.inf
        self.steps: list[dict[str, Any]] = []
        self.failures: list[str] = []

    @property
    def plain(self) -> bool:
        """Whether (16) is alpha-fairness of F, with no penalty and no equality."""
        terms = self.terms
        return not (terms.t_pf or terms.t_drf or terms.equal_across or terms.equal_within)

    def within(self, usable: Any) -> None:
        """Solve on these servers (I,) alone; the judge still sees all of them."""
        if not usable.all():
            self.inner = self.instance.replace(placement=self.instance.placement & usable)

    def own(self) -> None:
        self._judge("interior, small", interior.follow(self.inner, self._score(), self.terms))
        if self.error > self.gap:
            from fairopt.solving.engines.penalties import relative

            for point in relative.follow(self.inner, self._score(), self.terms):
                self._judge("relative path", point)

    def nearer(self) -> None:
        """The point at which the judge finds the optimum proved."""
        if self.best is None or self.error <= NEAR or not self.terms.alpha:
            return
        found = nearer(self.best)
        if found is not None:
            tasks = fitted(self.instance, found["tasks"])
            p, mu = self.best.prices, self.best.limit_prices
            assert p is not None and mu is not None
            self._keep(
                {"step": "nearby"}, tasks, found.get("prices", p), found.get("limit_prices", mu)
            )

    def same_as_alpha_fair(self, how: How) -> None:
        from fairopt.solving.alpha_fair import alpha_fair

        other = AlphaFair(self.terms.alpha, "dominant-share", weight_inside=True)
        try:
            found = alpha_fair(self.instance, other, self.score, how)
        except SolverFailure as failure:
            self.failures.append(str(failure))
            return
        self.steps.extend(found.steps)
        assert found.prices is not None and found.limit_prices is not None
        self._keep({"step": "alpha-fair"}, found.tasks, found.prices, found.limit_prices)

    def programs(self, solver: str) -> None:
        """Rungs of the program until certified."""
        from fairopt.solving.engines import units
        from fairopt.solving.engines.point import Question
        from fairopt.solving.engines.programs import compiled, conic

        linear = self.terms.alpha == 0 and not (self.terms.t_pf or self.terms.t_drf)
        if solver == "highs" and not linear:
            raise UsageError(
                "solver: highs states linear programs only; wanted clarabel, ecos or scs"
            )
        score = self._score()
        unit = units.max_min(Question.of(self.inner, score, max(self.terms.alpha, 1.0), True))
        for settings in conic.ladder(solver, linear):
            if clock.over():
                return
            try:
                program = compiled.tradeoff(self.notion, self.inner, score, unit)
                point, status = conic.run(program, self.inner, settings)
            except SolverFailure as failure:
                self.failures.append(str(failure))
                self.steps.append({"step": settings.label, "status": "failed"})
                continue
            self._judge(settings.label, point, status)
            if self.error <= self.gap:
                break

    def late(self) -> None:
        """The time is over and nothing was found: every server divided, if no form is hard."""
        if not (self.terms.equal_across or self.terms.equal_within):
            tasks = divided(self.instance)
            alloc = with_prices(Allocation(self.instance, self.notion, tasks, score=self.score))
            assert alloc.prices is not None and alloc.limit_prices is not None
            step = {"step": "time limit", "status": "every server divided by weight"}
            self._keep(step, tasks, alloc.prices, alloc.limit_prices)

    def _score(self) -> Floats:
        """(N, I) scores on the servers solved for."""
        if self.inner is self.instance:
            return self.score
        return np.where(self.inner.eligible, self.score, 0.0)

    def _judge(self, label: str, point: Point | None, status: str = "") -> None:
        step: dict[str, Any] = {"step": label, **({"status": status} if status else {})}
        if point is None:
            self.steps.append({**step, "status": "found nothing"})
            return
        p, mu = point.prices(self.inner)
        if not (p.any() or mu.any()):
            self.steps.append({**step, "status": "no prices"})
            return
        self._keep(step, point.tasks(self.inner), p, mu)

    def _keep(self, step: dict[str, Any], tasks: Floats, p: Floats, mu: Floats) -> None:
        """Keep the answer if the certificate finds it better than all before."""
        p, mu = normalised(self.instance, p, mu)
        alloc = Allocation(self.instance, self.notion, tasks, p, mu, score=self.score)
        step["gap"], step["residual"] = measure(alloc)
        self.steps.append(step)
        error = max(step["gap"], step["residual"])
        if not keeps_equalities(alloc):
            error = max(error, 1.0)
        if self.best is None or error < self.error:
            self.best, self.error = alloc, error
