"""Which engine is tried in which order, for one connected part, until an answer is certified."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.proof import SURE, sight
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair
from fairopt.solving.best import EXACT, Best, Tried
from fairopt.solving.engines import units
from fairopt.solving.engines.compact import method as compact
from fairopt.solving.engines.interior import method as interior
from fairopt.solving.engines.interior import pooled
from fairopt.solving.engines.point import Point, Question
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.smoothed import method as smoothed
from fairopt.solving.undecided import undecided

STEEPEST = 10.0
"""alpha above which the central path goes before general solvers, which then report wrong answers
as optimal"""
NEARLY = 1e-2
"""error of an answer by smoothed prices above which its path is not gone on"""
MANY = 1_000_000
"""pairs from which an answer is gone on with before it is judged: that costs a tenth of it"""
SMALL = 3_000
"""pairs up to which the polish and the central path go before the general solvers"""


def polish(question: Question, point: Point) -> Point | None:
    """Newton on the active set; imported here because it loads SciPy's sparse matrices."""
    from fairopt.solving.engines.polish.tasks import polish as active_set

    if point.x.ndim == 2:
        point = Point(point.x[question.pairs], point.rows, point.limits)
    return active_set(question, point)


class Ladder(Best):
    """The steps tried for one connected part, and the best answer so far."""

    def __init__(
        self,
        instance: Instance,
        notion: Any,
        score: Floats,
        polished: bool,
        gap: float,
        exact: float = EXACT,
    ) -> None:
        super().__init__(instance, notion, score)
        self.polished, self.gap, self.exact = polished, min(gap, TOLERANCE), exact
        self.question = Question.of(
            instance, score, float(notion.alpha), bool(notion.weight_inside)
        )
        self.tried = self.pooled = False
        self.point: Point | None = None
        self.first: Tried | None = None

    def climb(self, solver: str) -> tuple[Allocation, list[dict[str, Any]]]:
        """Try engines until an answer is certified: ours first, unless a general solver was named.

        Raises
        ------
        MissingExtra : the solver named is not installed.
        SolverFailure : no step gave an answer.
        """
        try:
            self._climb(solver)
        except clock.OutOfTime as late:
            self.late(str(late))
        return self.found()

    def _climb(self, solver: str) -> None:
        failures: list[str] = []
        if solver in ("auto", "interior") and (self._interior() or self._no_other_helps()):
            return
        if self.question.alpha == 0 and solver in ("auto", "interior") and self._simplex():
            return
        # where general solvers are known to give wrong answers, the central path goes first
        steep = self.polished and (
            solver == "interior"
            or self.question.alpha > STEEPEST
            or np.ptp(self.question.log_w) > 14
        )
        if steep and self._central():
            return
        linear, few = self.question.alpha == 0, len(self.question.pairs[0]) <= SMALL
        for settings in () if solver == "interior" else conic.ladder(solver, linear):
            clock.tick()
            try:
                self._rung(settings)
            except SolverFailure as failure:
                failures.append(str(failure))
                self.steps.append({"step": settings.label, "status": "failed"})
            if self.error <= self.gap:
                break
            # its factorisations fill up: of many pairs it is the last resort
            early = few and self.polished and not steep and not self.tried
            if early and self._central():
                break
        if self.error > self.gap and self.polished and not self.tried and self.best is not None:
            self._central()
        if self.best is None:
            clock.tick()
            raise SolverFailure("no solver gave an answer: " + "; ".join(failures))

    def _rung(self, settings: conic.Settings) -> None:
        point, status = self._program(settings, self.question)
        self.judge(settings.label, point, status)
        if self.polished and self.error > 0:
            self.judge("polish", polish(self.question, point))
        self._mended()

    def _mended(self) -> None:
        """Of an answer that is close but not proved, the point from which it was judged."""
        if self.polished and self.best is not None and self.error > self.gap:
            self.nearer(self.gap)

    def small(self) -> bool:
        """Our method for small instances; whether its answer needs no other step. Where nearly
        everybody can be everywhere, one pool goes before: it takes half the time or less."""
        if self.point is None:
            if pooled.likely(self.question) and self._one_pool():
                return True
            self.point = compact.follow(self.question)
            if self.point is None:
                return False
            self.first = self.record("interior, small", self.point)
            self.compare(self.first, once=True)
        return self.error <= self.exact and not self._undecided()

    def _interior(self) -> bool:
        """Our interior method, polished where that may help; whether it certified an answer."""
        if self.small():
            return True
        point = self.point
        if self.error > EXACT and self._by_prices():
            return True
        if self.error > EXACT:
            point = interior.follow(self.question)
            self.judge("interior", point)
        if self.error > self.gap:
            self.compare(self.first)  # as closely as the others
        self._mended()
        if self.error > self.gap and self._jobs():
            return True
        rough = self.error > self.exact or self._undecided()
        if point is not None and self.polished and rough and self._small():
            self.judge("polish", polish(self.question, point))
        return self.error <= self.gap

    def _no_other_helps(self) -> bool:
        """Whether what is left takes minutes and is known to have fewer digits than the answer: of
        many pairs, one whose gap is small already, though somebody's share is not proved."""
        return len(self.question.pairs[0]) > SMALL and self.rank[1] <= SURE

    def _by_prices(self) -> bool:
        """Very many users: one pool of all servers, else prices smoothed; whether that is enough.

        Where it is not, the interior method begins anew.
        """
        enough = self.gap
        if self._one_pool():
            return True
        if smoothed.worthwhile(self.question):
            self._smoothed()
            return self.error <= enough
        return False

    def _one_pool(self) -> bool:
        """One pool of all servers, asked once; whether its answer, if any, is enough."""
        if self.pooled or not pooled.worthwhile(self.question):
            return False
        self.pooled = True
        point, why = pooled.attempt(self.question)
        self.judge("pool", point)
        if why:
            self.steps[-1]["why"] = why
        return self.error <= self.gap

    def _jobs(self) -> bool:
        """Jobs on kinds of machine that the interior method did not finish, by prices alone."""
        tried = smoothed.worthwhile(self.question)
        if tried or not (self.question.timed and smoothed.applies(self.question)):
            return False
        self._smoothed()
        self._mended()
        return self.error <= self.gap

    def _smoothed(self) -> None:
        """Prices smoothed; where that stalls once more, warily, which is far less than to begin
        with the interior method; where users of little money are not right yet, closer.

        To go closer takes less than to search for the optimum nearby, and mostly makes that
        needless. So where the judge would have to search, both answers are there before it does.
        """
        enough = self.gap
        for wary in (False, True):
            found = smoothed.follow(self.question, wary=wary)
            told = "" if found is None else found.told
            label = "prices, smoothed warily" if wary else "prices, smoothed"
            first = self.record(label, None if found is None else found.point, told)
            many = len(self.question.pairs[0]) >= MANY
            later = first is not None and (many or sight(first.alloc) > enough)
            if not later:
                self.compare(first)
            if found is not None and (later or enough < self.error < NEARLY):
                found = smoothed.closer(self.question, found)
                told = "" if found is None else found.told
                second = self.record("prices, closer", None if found is None else found.point, told)
                self.compare_until(enough, [first, second] if later else [second])
            if self.best is not None and enough < self.error < NEARLY:
                self.nearer(self.gap)
            if self.error <= enough:
                return

    def _simplex(self) -> bool:
        """The simplex method, refined for users of small gain; whether it certified an answer."""
        from fairopt.solving.engines.programs import linear

        try:
            self.judge("simplex, refined", linear.solve(self.question))
        except SolverFailure as failure:
            self.steps.append({"step": "simplex, refined", "status": str(failure)})
        return self.error <= self.gap

    def _undecided(self) -> bool:
        """Whether a polish may still decide a pair; asked of small parts alone."""
        users, servers, _ = self.instance.shape
        few = users * servers <= SMALL
        return few and self.best is not None and undecided(self.best, self.error)

    def _small(self) -> bool:
        users, servers, _ = self.instance.shape
        few = users * servers <= SMALL or len(self.question.pairs[0]) <= SMALL
        return few or self.error > self.gap

    def _central(self) -> bool:
        """The central path, polished; whether that certified an answer."""
        from fairopt.solving.engines.interior import central

        self.tried = True
        point = central.follow(self.question)
        self.judge("central path", point)
        if point is not None:
            self.judge("polish", polish(self.question, point))
            self._mended()
        return self.error <= self.gap

    def _program(self, settings: conic.Settings, question: Question) -> tuple[Point, str]:
        """Solve the notion's program; its unit is the proportional answer for 0 < alpha < 1."""
        notion, instance = self.notion, self.instance
        if question is not self.question:
            # W = phi: the weight outside
            w = np.exp(question.log_w - question.log_w.max())
            instance = self.instance.replace(weight=np.maximum(w, 1e-290))
            notion = AlphaFair(question.alpha)
        if question.alpha == 0:
            unit = units.alone(question)
        elif question.alpha < 1:
            unit = self._proportional_unit(settings, question)
        else:
            unit = units.max_min(question)
        return conic.run(notion.program(instance, self.score, unit), instance, settings)

    def _proportional_unit(self, settings: conic.Settings, question: Question) -> Floats:
        """Shares of the proportionally fair answer: the unit for alpha < 1."""
        point, _ = self._program(settings, question.at(1.0, question.log_w))
        polished = polish(question.at(1.0, question.log_w), point) if self.polished else None
        n, _ = question.pairs
        share = np.bincount(
            n, (polished or point).x * question.share_per_task, self.instance.shape[0]
        )
        return np.maximum(share, 1e-12 * units.alone(question))
