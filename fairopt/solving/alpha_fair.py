"""Alpha-fairness: engines are tried in turn, polished and judged, until an answer is certified."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.alpha_fair import measure, nearer, normalised
from fairopt.certificates.at_limit import at_limit
from fairopt.certificates.prices import TOLERANCE, Duality, own_scale, residual
from fairopt.errors import SolverFailure, UsageError
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import AlphaFair
from fairopt.solving.engines import units
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.compact import method as compact
from fairopt.solving.engines.interior import limit_money, pooled
from fairopt.solving.engines.interior import method as interior
from fairopt.solving.engines.point import Point, Question, fitted
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.smoothed import method as smoothed

STEEPEST = 10.0
"""alpha above which the central path goes before general solvers, which then report wrong answers
as optimal"""
EXACT = 1e-10
"""error of an interior answer below which it is not polished"""
SETTLED = 1e-8
"""error of an answer by prices alone (`pooled`, `smoothed`) that needs no other engine"""
NEARLY = 1e-2
"""error of an answer by smoothed prices above which its path is not gone on"""
UNDECIDED = 1e-4
"""part of a share, and of a price above the cheapest, within which a pair may be used or not"""
RARE = 590.0
"""log of the money of a limit, above that of all rows, from which it is computed from the share"""
SMALL = 3_000
"""pairs up to which the polish and the central path go before the general solvers"""


def alpha_fair(instance: Instance, notion: Any, score: Floats, how: How) -> Allocation:
    """The best answer of the engines for each connected part, joined, with prices for all."""
    solver, gap, polished = how.solver, how.gap, how.polish
    if solver == "highs" and notion.alpha > 0:
        raise UsageError("solver: highs states linear programs only; wanted clarabel, ecos or scs")
    tasks = np.zeros(instance.shape[:2])
    p, mu = np.zeros(instance.pool.shape), np.zeros(instance.shape[0])
    steps: list[dict[str, Any]] = []
    scales: list[float] = []
    whole = _Ladder(instance, notion, score, polished, gap)
    if solver in ("auto", "interior") and whole.small():
        # a small cluster: all its parts at once cost hardly more than one of them
        return _of_part(0, *whole.found())
    parts = instance.parts()
    if len(parts) == 1 and len(parts[0][1]) == instance.shape[1]:
        return _of_part(0, *whole.climb(solver))
    for number, (users, servers) in enumerate(parts):
        part, where = instance.select(users, servers), np.ix_(users, servers)
        best, tried = _Ladder(part, notion, score[where], polished, gap).climb(solver)
        steps.extend({"part": number, **step} for step in tried)
        tasks[where] = best.tasks
        dual = Duality.of(best)
        best = dual.alloc  # the scale is that of its prices
        assert best.prices is not None and best.limit_prices is not None
        p[servers], mu[users] = best.prices, best.limit_prices
        scales.append(own_scale(dual))
    finite = [s for s in scales if np.isfinite(s)]
    top = max(finite, default=0.0)
    for (users, servers), scale in zip(parts, scales, strict=True):
        # one common scale of money: exp underflows only where the part's money is below 1e-308
        factor = np.exp(scale - top) if np.isfinite(scale) else 1.0
        p[servers] *= factor
        mu[users] *= factor
    joined = Allocation(instance, notion, tasks, p, mu, score=score, steps=tuple(steps))
    p, mu = normalised(instance, *_within_reach(joined, always=len(finite) < len(scales)))
    return joined.with_(prices=p, limit_prices=mu)


def _of_part(number: int, best: Allocation, tried: list[dict[str, Any]]) -> Allocation:
    return best.with_(steps=tuple({"part": number, **step} for step in tried))


def _within_reach(alloc: Allocation, always: bool = False) -> tuple[Floats, Floats]:
    """Prices (I, R) and of limits (N,), the latter from the shares where they are far larger."""
    alloc = Duality.of(alloc).alloc  # the scale is that of its prices
    assert alloc.prices is not None and alloc.limit_prices is not None
    given, mu, inst = alloc.prices, alloc.limit_prices, alloc.instance
    p = given
    stopped, rows = at_limit(alloc), float((p * inst.pool).sum())
    dear = float((mu * np.where(stopped, inst.limit, 0.0)).max()) > rows * np.exp(RARE)
    if alloc.notion["parameters"].get("alpha") == 0 or not stopped.any() or not (dear or always):
        return p, mu
    with np.errstate(all="ignore"):
        if stopped.all():
            p, log_t = np.zeros_like(p), 0.0  # nobody pays for a resource
        else:
            log_t = own_scale(Duality.of(alloc))
        dual = Duality.of(alloc.with_(prices=p, limit_prices=np.zeros_like(mu)))
        log_value = dual.log_w - dual.alpha * dual.log_share - log_t
        best = np.where(inst.eligible, alloc.score, 0.0).max(axis=1)
        above = np.log(-np.expm1(np.minimum(dual.log_cheapest - log_value, 0.0)))
        money = np.where(stopped, log_value + above + np.log(best * inst.limit), -np.inf)
        base = -limit_money.FURTHEST if stopped.all() else np.log(rows)
        paid = np.exp(limit_money.in_range(money, float(base)))
    if not np.isfinite(paid).all() or not (rows > 0 or stopped.all()):
        return given, mu
    return p, np.where(stopped, paid / np.where(stopped, inst.limit, 1.0), mu)


def polish(question: Question, point: Point) -> Point | None:
    """Newton on the active set; imported here because it loads SciPy's sparse matrices."""
    from fairopt.solving.engines.polish.tasks import polish as active_set

    if point.x.ndim == 2:
        point = Point(point.x[question.pairs], point.rows, point.limits)
    return active_set(question, point)


class _Ladder:
    """The steps tried for one connected part, and the best answer so far."""

    def __init__(
        self, instance: Instance, notion: Any, score: Floats, polished: bool, gap: float,
        exact: float = EXACT,
    ) -> None:  # fmt: skip
        self.instance, self.notion, self.score = instance, notion, score
        self.polished, self.gap, self.exact = polished, min(gap, TOLERANCE), exact
        self.question = Question.of(
            instance, score, float(notion.alpha), bool(notion.weight_inside)
        )
        self.best: Allocation | None = None
        self.error, self.rank = np.inf, (np.inf, np.inf)
        self.tried = False
        self.point: Point | None = None
        self.steps: list[dict[str, Any]] = []

    def climb(self, solver: str) -> tuple[Allocation, list[dict[str, Any]]]:
        """Try engines until an answer is certified: ours first, unless a general solver was named.

        Raises
        ------
        MissingExtra : the solver named is not installed.
        SolverFailure : no step gave an answer.
        """
        failures: list[str] = []
        if solver in ("auto", "interior") and self._interior():
            return self.found()
        if self.question.alpha == 0 and solver in ("auto", "interior") and self._simplex():
            return self.found()
        # where general solvers are known to give wrong answers, the central path goes first
        steep = self.polished and (
            solver == "interior"
            or self.question.alpha > STEEPEST
            or np.ptp(self.question.log_w) > 14
        )
        if steep and (self._central() or self._rest()):
            return self.found()
        linear, few = self.question.alpha == 0, len(self.question.pairs[0]) <= SMALL
        for settings in () if solver == "interior" else conic.ladder(solver, linear):
            try:
                self._rung(settings)
            except SolverFailure as failure:
                failures.append(str(failure))
                self.steps.append({"step": settings.label, "status": "failed"})
            if self.error <= self.gap:
                break
            # its factorisations fill up: of many pairs it is the last resort
            early = few and self.polished and not steep and not self.tried
            if early and (self._central() or self._rest()):
                break
        if self.error > self.gap and self.polished and not self.tried and self.best is not None:
            self._rest() or self._central()
        if self.best is None:
            raise SolverFailure("no solver gave an answer: " + "; ".join(failures))
        return self.found()

    def found(self) -> tuple[Allocation, list[dict[str, Any]]]:
        """The best answer, and the steps tried."""
        assert self.best is not None
        return self.best, self.steps

    def _rung(self, settings: conic.Settings) -> None:
        point, status = self._program(settings, self.question)
        self._judge(settings.label, point, status)
        if self.polished and self.error > 0:
            self._judge("polish", polish(self.question, point))

    def small(self) -> bool:
        """Our method for small instances; whether its answer needs no other step."""
        if self.point is None:
            self.point = compact.follow(self.question)
            if self.point is None:
                return False
            self._judge("interior, small", self.point)
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
            self._judge("interior", point)
        if point is not None and self.polished and self.error > self.gap:
            self._nearer()
        if self.error > SETTLED and self._jobs():
            return True
        rough = self.error > self.exact or self._undecided()
        if point is not None and self.polished and rough and self._small():
            self._judge("polish", polish(self.question, point))
        return self.error <= self.gap

    def _by_prices(self) -> bool:
        """Very many users: one pool of all servers, else prices smoothed; whether that is enough.

        Where it is not, the interior method begins anew.
        """
        enough = min(self.gap, SETTLED)
        one_pool, many = pooled.worthwhile(self.question), smoothed.worthwhile(self.question)
        if not (one_pool or many):
            return False
        if one_pool:
            self._judge("pool", pooled.follow(self.question))
        if self.error > enough and many:
            self._smoothed()
        return self.error <= enough

    def _jobs(self) -> bool:
        """Jobs on kinds of machine that the interior method did not finish, by prices alone."""
        tried = smoothed.worthwhile(self.question)
        if tried or not (self.question.timed and smoothed.applies(self.question)):
            return False
        self._smoothed()
        if self.best is not None and self.polished and self.error > self.gap:
            self._nearer()
        return self.error <= self.gap

    def _smoothed(self) -> None:
        """Prices smoothed; where that stalls once more, warily, which is far less than to begin
        with the interior method; where users of little money are not right yet, closer."""
        enough = min(self.gap, SETTLED)
        for wary in (False, True):
            found = smoothed.follow(self.question, wary=wary)
            told = "" if found is None else found.told
            label = "prices, smoothed warily" if wary else "prices, smoothed"
            self._judge(label, None if found is None else found.point, told)
            if found is not None and enough < self.error < NEARLY:
                found = smoothed.closer(self.question, found)
                told = "" if found is None else found.told
                self._judge("prices, closer", None if found is None else found.point, told)
            if self.best is not None and enough < self.error < NEARLY:
                self._nearer()
            if self.error <= enough:
                return

    def _nearer(self) -> None:
        """The point at which the judge finds the optimum proved, where it finds one."""
        assert self.best is not None
        found = nearer(self.best)
        if found is None:
            return
        assert found.prices is not None and found.limit_prices is not None
        step: dict[str, Any] = {"step": "nearby"}
        self.steps.append(step)
        self._keep(step, fitted(self.instance, found.tasks), found.prices, found.limit_prices)

    def _simplex(self) -> bool:
        """The simplex method, refined for users of small gain; whether it certified an answer."""
        from fairopt.solving.engines.programs import linear

        try:
            self._judge("simplex, refined", linear.solve(self.question))
        except SolverFailure as failure:
            self.steps.append({"step": "simplex, refined", "status": str(failure)})
        return self.error <= self.gap

    def _rest(self) -> bool:
        """Solve again, alone, for users of too little money, with the capacity that is left."""
        from fairopt.solving import remainder

        if self.best is None:
            return False
        bad = np.flatnonzero(residual(Duality.of(self.best)) > self.gap)
        users = remainder.lighter(self.best, bad) if len(bad) else bad
        if not len(users):
            return False
        if self._joined("the rest, alone", self.best, users):
            return True
        # errors that are small for heavy users may harm light ones: solve for the heavy alone, too
        heavy = np.setdiff1d(np.arange(len(self.instance.users)), users)
        everywhere = np.arange(self.instance.shape[1])
        found = self._alone(self.instance.select(heavy, everywhere), heavy)
        if found is None:
            return False
        held, rest = remainder.beside(self.best, heavy, found, users)
        return self._joined("heavy and light, each alone", held, rest)

    def _alone(self, instance: Instance, users: Ints) -> Allocation | None:
        """The answer for these users alone; None where there is none."""
        ladder = _Ladder(instance, self.notion, self.score[users], True, self.gap, exact=0.0)
        try:
            return ladder.climb("interior")[0]
        except SolverFailure:
            return None

    def _joined(self, label: str, held: Allocation, users: Ints) -> bool:
        """Solve for these users with what the others leave, join both answers and polish them."""
        from fairopt.solving import remainder

        tasks, p, mu = held.tasks, held.prices, held.limit_prices
        if len(users):
            left = remainder.left_for(held, users)
            found = None if left is None else self._alone(left, users)
            if found is None:
                return False
            tasks, p, mu = remainder.joined(held, users, found)
        assert p is not None and mu is not None
        step: dict[str, Any] = {"step": label}
        self.steps.append(step)
        self._keep(step, fitted(self.instance, tasks), p, mu)
        if self.error > self.gap:
            limit = np.where(mu > 0, self.instance.limit, 0.0)
            point = Point(tasks[self.instance.pairs], p * self.instance.pool, mu * limit)
            self._judge("polish", polish(self.question, point))
        return self.error <= self.gap

    def _undecided(self) -> bool:
        """Whether a pair is nearly unused and nearly as cheap as the user's cheapest.

        There the error of an interior answer is as large as the square root of its gap, so of a
        more exact answer fewer pairs are near.
        """
        alloc, inst = self.best, self.instance
        if alloc is None or inst.shape[0] * inst.shape[1] > SMALL:
            return False
        assert alloc.prices is not None
        cost = task_cost(inst, alloc.prices, slice(None), alloc.limit_prices)
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = cost / self.score
        cheapest = np.where(inst.eligible, cost, np.inf).min(axis=1, keepdims=True)
        share = alloc.tasks * self.score
        part = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        width = min(UNDECIDED, 100 * self.error**0.5)
        near = inst.eligible & (cost < cheapest * (1 + width)) & (part < width)
        return bool(near.any())

    def _small(self) -> bool:
        users, servers, _ = self.instance.shape
        few = users * servers <= SMALL or len(self.question.pairs[0]) <= SMALL
        return few or self.error > self.gap

    def _central(self) -> bool:
        """The central path, polished; whether that certified an answer."""
        from fairopt.solving.engines.interior import central

        self.tried = True
        point = central.follow(self.question)
        self._judge("central path", point)
        if point is not None:
            self._judge("polish", polish(self.question, point))
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

    def _judge(self, label: str, point: Point | None, status: str = "") -> None:
        """Record the step; keep the point if it has prices and is better than all before."""
        step: dict[str, Any] = {"step": label, **({"status": status} if status else {})}
        self.steps.append(step)
        if point is None:
            step["status"] = "found nothing"
            return
        p, mu = point.prices(self.instance)
        if not (p.any() or mu.any()):
            step["status"] = "no prices"
            return
        self._keep(step, point.tasks(self.instance), p, mu)

    def _keep(self, step: dict[str, Any], tasks: Floats, p: Floats, mu: Floats) -> None:
        """Keep an answer if the certificate finds it better than all before."""
        p, mu = _within_floats(p, mu)
        if np.isfinite(self.instance.limit).any():
            p, mu = _within_reach(
                Allocation(self.instance, self.notion, tasks, p, mu, score=self.score)
            )
        p, mu = normalised(self.instance, p, mu)
        alloc = Allocation(self.instance, self.notion, tasks, p, mu, score=self.score)
        step["gap"], step["residual"] = gap, worst = measure(alloc)
        # residuals above 1 do not tell answers apart: then the gap decides
        rank = max(gap, min(worst, 1.0)), gap
        if self.best is None or rank < self.rank:
            self.best, self.error, self.rank = alloc, max(gap, worst), rank


def _within_floats(p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    top = max(float(p.max()), float(mu.max()))
    return p / top, mu / top
