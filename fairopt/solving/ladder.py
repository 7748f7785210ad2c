"""Which engine is tried in which order, for one connected part, until an answer is certified."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from fairopt import clock, fast
from fairopt.certificates.proof import SURE, sight
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair
from fairopt.solving.best import EXACT, Best, Rung, Tried
from fairopt.solving.engines import units
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.interior import pooled
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.smoothed import newton as smoothed
from fairopt.solving.undecided import undecided

STEEP = 5.0
"""alpha above which users of next to no money may be answered once more, after all others"""
EXACT_OF_MANY = 1e-7
"""error of an answer of many pairs below which no other is asked for: that takes as long again"""
NEARLY = 1e-2
"""error of an answer by smoothed prices above which its path is not gone on"""
MANY_PAIRS = 1_000_000
"""pairs from which an answer is gone on with before it is judged: that costs a tenth of it"""
LINEAR = 5_000
"""users up to which a simplex method is faster at alpha 0: at 20,000 the path takes 0.7 times as
long, at 100,000 a quarter"""
SMALL = 3_000
"""pairs up to which the polish goes before the general solvers"""


def polish(question: AlphaQuestion, point: Point) -> Point | None:
    """Newton on the active set; imported here because it loads SciPy's sparse matrices."""
    from fairopt.solving.engines.polish.tasks import polish as active_set

    if point.x.ndim == 2:
        point = Point(point.x[question.pairs], point.rows, point.limits)
    return active_set(question, point)


class AlphaLadder(Best):
    """The steps tried for one connected part, and the best answer so far."""

    divides = True

    def __init__(
        self, instance: Instance, notion: Any, score: Floats, polished: bool, gap: float
    ) -> None:
        super().__init__(instance, notion, score, gap)
        self.polished = polished
        self.question = AlphaQuestion.of(
            instance, score, float(notion.alpha), bool(notion.weight_inside)
        )
        self.pooled = False
        self.point: Point | None = None
        self.once: list[Tried] = []
        """answers that were judged by one search alone"""

    def small(self) -> bool:
        """Our method for small instances; whether its answer needs no other step. Where nearly
        everybody can be everywhere, one pool goes before: it takes half the time or less."""
        if self.point is None:
            if pooled.likely(self.question) and self.one_pool():
                return True
            with fast.noted() as compiled:
                self.point = compact.follow(self.question)
            if self.point is None:
                return False
            tried = self.record("interior, small", self.point, compiled=compiled)
            if tried is not None and not self.few() and sight(tried.alloc) > self.gap:
                # another engine takes less than a search from there, which mostly proves nothing
                tried.step["status"] = "judged later"
                self.once.append(tried)
                return False
            self._compare_once(tried)
        return not self.rough() and not self._undecided()

    def rough(self) -> bool:
        """Whether another engine may have more digits, and it is worth its time."""
        return self.error > (EXACT if self.few() else min(EXACT_OF_MANY, self.gap))

    def few(self) -> bool:
        """Whether there are so few pairs that every way may be tried."""
        return self.instance.placement.size <= SMALL or self.question.many <= SMALL

    def one_pool(self) -> bool:
        """One pool of all servers, asked once; whether its answer, if any, is enough."""
        if self.pooled or not pooled.worthwhile(self.question):
            return False
        self.pooled = True
        point, why = pooled.attempt(self.question)
        self.judge("pool", point)
        if why:
            self.steps[-1]["why"] = why
        return self.enough()

    def linear(self) -> bool:
        """Whether a simplex method is faster: the question is linear, and users are not many."""
        return self.question.alpha == 0 and self.instance.shape[0] <= LINEAR

    def interior(self) -> None:
        """Follow the path, and keep its point for the polish. Of many pairs its answer is
        judged by one search, and where that proves too little the point that it found is: that
        takes less than to search again with more digits, and mostly makes that needless."""
        self.point = plain.follow(self.question)
        tried = self.record("interior", self.point)
        if self.few():
            self.compare(tried)
            return
        self._compare_once(tried)
        if self.polished and self.short():
            self.nearer(self.gap, once=True)

    def _compare_once(self, tried: Tried | None) -> None:
        self.compare(tried, once=True)
        self.once += [] if tried is None else [tried]

    def closely(self) -> None:
        """Answers that were judged by one search, or not yet, judged as closely as the others."""
        for tried in self.once:
            tried.step.pop("status", None)
            self.compare(tried)

    def jobs(self) -> bool:
        """Jobs on kinds of machine that the interior method did not finish, by prices alone."""
        enough = self.smoothed()
        self.mended()
        return enough or self.enough()

    def rough_or_undecided(self) -> bool:
        """Whether Newton on the active set may help: of a few users, or where nothing did."""
        users, servers, _ = self.instance.shape
        few = users * servers <= SMALL or self.few() or self.short()
        rough = self.rough() or self._undecided()
        return self.point is not None and self.polished and rough and few

    def polish(self) -> None:
        """The interior path's point, made finer by its own optimality conditions."""
        assert self.point is not None
        self.judge("polish", polish(self.question, self.point))

    def no_other_helps(self) -> bool:
        """Whether it is certified, or what is left takes minutes and is known to have fewer digits
        than the answer: of many pairs, one whose gap is small already, though somebody's share is
        not proved."""
        return self.enough() or (not self.few() and self.rank[2] <= SURE)

    def steep(self) -> bool:
        """Whether money may be spread so far that the path loses users of next to none."""
        return self.near() and self.polished and self.few() and self.question.alpha > STEEP

    def least_last(self) -> None:
        """From the best answer, users of next to no money once more, all others held."""
        best = self.best
        assert best is not None and best.prices is not None and best.limit_prices is not None
        prices = best.prices, best.limit_prices
        self.judge(LEAST_MONEY, plain.least_last(self.question, best.shares, *prices))
        self.mended()

    def all_limited(self) -> bool:
        """Whether all that anybody can want is its limit: where no answer is enough, and money of
        limits is too far apart for the path, everybody may still have that."""
        question = self.question
        limited = bool(np.isfinite(self.instance.limit).all())
        return self.short() and limited and question.alpha > 0 and question.one_score

    def at_limits(self) -> bool:
        """Everybody at its limit, if there is room; whether that is enough."""
        from fairopt.solving.engines.programs import linear

        self.judge(LIMITS, linear.at_limits(self.question))
        return self.enough()

    def mended(self) -> None:
        """Of an answer that is close but not proved, the point from which it was judged."""
        if self.polished and self.short():
            self.nearer(self.gap)

    def smoothed(self) -> bool:
        """Prices smoothed, and whether that is enough; where it stalls once more, warily, which is
        far less than to begin with the interior method; where users of little money are not right
        yet, closer.

        To go closer takes less than to search for the optimum nearby, and mostly makes that
        needless. So where the judge would have to search, both answers are there before it does;
        of very many pairs it always would, and the path goes there at once.
        """
        many = self.question.many >= MANY_PAIRS
        if many:
            self.judge("prices, smoothed", *_said(smoothed.follow(self.question, straight=True)))
            if self.enough():
                return True
        for wary in (False, True):
            found = smoothed.follow(self.question, wary=wary)
            label = "prices, smoothed warily" if wary else "prices, smoothed"
            first = self.record(label, *_said(found))
            ended = found is not None and found.ended
            later = first is not None and ended and (many or sight(first.alloc) > self.gap)
            if not later:
                self.compare(first)
            if found is not None and ended and (later or (self.short() and self.right())):
                second = self.record(
                    "prices, closer", *_said(smoothed.closer(self.question, found))
                )
                self.compare_until(self.gap, [first, second] if later else [second])
            if self.best is not None and self.short() and self.right():
                self.nearer(self.gap)
            if self.enough():
                return True
        return False

    def right(self) -> bool:
        """Whether the best answer is nearly right, or known to be but for users of little money."""
        return self.error < NEARLY or self.rank[2] <= SURE

    def simplex(self) -> bool:
        """The simplex method, refined for users of small gain; whether that is enough."""
        from fairopt.solving.engines.programs import linear

        self.judge(SIMPLEX, linear.solve(self.question))
        return self.enough()

    def _undecided(self) -> bool:
        """Whether a polish may still decide a pair; asked of small parts alone."""
        users, servers, _ = self.instance.shape
        few = users * servers <= SMALL
        return few and self.best is not None and undecided(self.best, self.error)

    def program(self, settings: conic.Settings) -> None:
        """The notion's program by a general solver, polished."""
        clock.tick()
        point, status = self._program(settings, self.question)
        self.judge(settings.label, point, status)
        if self.polished and self.error > 0:
            self.judge("polish", polish(self.question, point))
        self.mended()

    def _program(self, settings: conic.Settings, question: AlphaQuestion) -> tuple[Point, str]:
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

    def _proportional_unit(self, settings: conic.Settings, question: AlphaQuestion) -> Floats:
        """Shares of the proportionally fair answer: the unit for alpha < 1."""
        point, _ = self._program(settings, question.at(1.0, question.log_w))
        polished = polish(question.at(1.0, question.log_w), point) if self.polished else None
        n, _ = question.pairs
        share = np.bincount(
            n, (polished or point).x * question.share_per_task, self.instance.shape[0]
        )
        return np.maximum(share, 1e-12 * units.alone(question))


def _said(found: smoothed.SmoothedFound | None) -> tuple[Point | None, str]:
    """The point that prices ended at, and how they came there."""
    return (None, "") if found is None else (found.point, found.told)


SIMPLEX, LIMITS = "simplex, refined", "everybody at the limit"
LEAST_MONEY = "least money last"
OURS: tuple[Rung[AlphaLadder], ...] = (
    Rung("interior, small", lambda part: True, AlphaLadder.small),
    Rung("pool", AlphaLadder.rough, AlphaLadder.one_pool),
    Rung(
        "prices, smoothed",
        lambda part: part.rough() and smoothed.worthwhile(part.question),
        AlphaLadder.smoothed,
    ),
    Rung(
        "interior",
        lambda part: part.rough() and not part.linear(),
        AlphaLadder.interior,
    ),
    Rung("judged closely", AlphaLadder.short, AlphaLadder.closely),
    Rung("nearby", AlphaLadder.short, AlphaLadder.mended),
    Rung(LEAST_MONEY, lambda part: part.short() and part.steep(), AlphaLadder.least_last),
    Rung(
        "prices, smoothed",
        lambda part: (
            part.short()
            and part.question.timed
            and smoothed.applies(part.question)
            and not smoothed.worthwhile(part.question)
        ),
        AlphaLadder.jobs,
    ),
    Rung("polish", AlphaLadder.rough_or_undecided, AlphaLadder.polish),
    Rung(LIMITS, AlphaLadder.all_limited, AlphaLadder.at_limits),
    Rung("certified, or no other helps", AlphaLadder.no_other_helps, lambda part: True),
    Rung(SIMPLEX, lambda part: part.question.alpha == 0, AlphaLadder.simplex),
)
"""our own engines, the fastest first"""


def rungs(part: AlphaLadder, solver: str) -> Iterator[Rung[AlphaLadder]]:
    """What is tried for one part: ours first, unless a general solver was named."""
    if solver in ("auto", "interior"):
        yield from OURS
    if solver != "interior":
        for settings in conic.ladder(solver, part.question.alpha == 0):
            yield Rung(
                settings.label, AlphaLadder.short, partial(AlphaLadder.program, settings=settings)
            )
