"""A notion solved as it is stated, by general solvers: one program, levels, or patterns.

The status of a solver is not relied on: every answer is judged, and the best is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import certify, judged
from fairopt.errors import UsageError
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Levels, OneProgram, Patterns
from fairopt.solving import infeasible, ruled
from fairopt.solving.best import Best, Rung
from fairopt.solving.engines import units
from fairopt.solving.engines.point import AlphaQuestion, How
from fairopt.solving.engines.programs import conic, sequence
from fairopt.solving.engines.programs import linear as search
from fairopt.solving.engines.quotas import naming


class Stated(Best):
    """The answers of general solvers to one program."""

    def verdict(self, alloc: Allocation, once: bool) -> Certificate:
        """For the scores of the answer, which may be those of an unreduced problem."""
        if self.notion.judgeless:
            return certify(alloc)
        return judged(alloc, *self.notion.slope(alloc.instance, alloc.tasks))


def one_program(
    instance: Instance, notion: Any, score: Floats, way: OneProgram, how: How
) -> Allocation:
    """The answer of a notion's program: solvers are tried in turn until an answer is certified.

    If the notion has no judge, the first answer is returned.

    Raises
    ------
    SolverFailure : no solver gave an answer.
    UsageError : the solver named cannot solve the program.
    """
    if not instance.plain:
        infeasible.check(instance, lower(instance, score), np.zeros(instance.shape[0]))
    unit = units.max_min(AlphaQuestion.of(instance, score, 1.0, False))
    program = way.program(instance, score, unit)
    conic.convex(program)  # somebody's own may be none
    named = how.solver != "auto"
    settings = conic.ladder(how.solver, linear=True) if named else conic.able(program)
    best = Stated(instance, notion, score, how.gap)
    best.failures = [] if settings else ["none of ours can state the program"]

    def tried(ladder: Stated, rung: conic.Settings) -> bool:
        found, status = _point(program, instance, rung)
        step = {"step": rung.label, "status": status}
        ladder.steps.append(step)
        ladder.keep(step, Allocation(instance, notion, **found, score=score))
        return bool(notion.judgeless)

    return best.climb(
        Rung(rung.label, Stated.short, partial(tried, rung=rung)) for rung in settings
    )


def _point(program: Any, instance: Instance, rung: conic.Settings) -> tuple[dict[str, Any], str]:
    """Tasks, and prices unless all are 0, where one solver ended, and the status it reports."""
    if not instance.plain:
        low = program.space.low
        x, price, status = conic.run_ruled(program, rung)
        prices: dict[str, Any] = naming.priced(low, price) if price.any() else {}
        return {**ruled.tasks(instance, low, x), **prices}, status
    point, status = conic.run(program, instance, rung)
    tasks, (p, mu) = point.tasks(instance), point.prices(instance)
    priced = {"prices": p, "limit_prices": mu} if p.any() or mu.any() else {}
    return {"tasks": tasks, **priced}, status


def levels(instance: Instance, notion: Any, score: Floats, way: Levels, how: How) -> Allocation:
    """The answer by one program a level; then the second sequence, if the notion has one."""
    settings = conic.EXACT if how.solver in ("auto", "highs") else _first(how.solver)
    found = sequence.programs(instance, way.heights, score, settings, how.progress)
    steps = found.steps
    if way.rest is not None:
        rest = way.rest(instance, found.tasks)
        ones = rest.instance.eligible.astype(np.float64)
        second = sequence.programs(rest.instance, rest.heights, ones, settings)
        steps = (*steps, rest.told(second.tasks.sum(axis=1)))
    return Allocation(instance, notion, found.tasks, score=score, steps=steps)


def _first(solver: str) -> conic.Settings:
    return conic.ladder(solver, linear=True)[0]


def patterns(instance: Instance, notion: Any, score: Floats, way: Patterns, how: How) -> Allocation:
    """The answer by a mixed-integer program: its pattern, then the linear program of that pattern.

    Raises
    ------
    SolverFailure : no pattern was found within the bound on nodes, or no tasks fit the one found.
    UsageError : the solver named cannot solve programs with integers.
    """
    if how.solver not in ("auto", "highs"):
        raise UsageError(
            f"solver: {how.solver} has no integers; {notion.name} is a mixed-integer program, "
            "wanted highs"
        )
    tasks = search.best(instance, way, way.gain)
    step = {"step": "highs", "program": "mixed-integer, then its pattern"}
    return Allocation(instance, notion, tasks, score=score, steps=(step,))
