"""A notion solved as it is stated, by general solvers: one program, levels, or patterns.

The status of a solver is not relied on: every answer is judged, and the best is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import certify, judged
from fairopt.errors import SolverFailure, UsageError
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Levels, OneProgram, Patterns
from fairopt.program import RuledSet
from fairopt.solving import quotas
from fairopt.solving.engines import units
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.point import Question
from fairopt.solving.engines.programs import conic, sequence
from fairopt.solving.engines.programs import patterns as search
from fairopt.solving.engines.quotas import naming


def _judged(alloc: Allocation, notion: Any) -> Certificate:
    """The certificate for the scores of the answer, which may be those of an unreduced problem."""
    if notion.judgeless:
        return certify(alloc)
    return judged(alloc, *notion.slope(alloc.instance, alloc.tasks))


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
        quotas.fits(instance, lower(instance, score), np.zeros(instance.shape[0]))
    unit = units.max_min(Question.of(instance, score, 1.0, False))
    program = way.program(instance, score, unit)
    conic.convex(program)  # somebody's own may be none
    named = how.solver != "auto"
    settings = conic.ladder(how.solver, linear=True) if named else conic.able(program)
    best: Allocation | None = None
    error, failures = np.inf, list[str]()
    steps: list[dict[str, Any]] = []
    for rung in settings:
        try:
            found, status = _point(program, instance, rung)
        except SolverFailure as failure:
            steps.append({"step": rung.label, "status": "failed"})
            failures.append(str(failure))
            continue
        alloc = Allocation(instance, notion, **found, score=score)
        certificate = _judged(alloc, notion)
        wrong = max(certificate.gap, certificate.residual)
        steps.append(
            {
                "step": rung.label,
                "status": status,
                "gap": certificate.gap,
                "residual": certificate.residual,
            }
        )
        if best is None or wrong < error:
            best, error = alloc, wrong
        if error <= how.gap or notion.judgeless:
            break
    if best is None:
        clock.tick()
        failures = failures or ["none of ours can state the program"]
        raise SolverFailure("no solver gave an answer: " + "; ".join(failures))
    return best.with_(steps=tuple(steps))


def _point(program: Any, instance: Instance, rung: conic.Settings) -> tuple[dict[str, Any], str]:
    """Tasks, and prices unless all are 0, where one solver ended, and the status it reports."""
    if isinstance(program.space, RuledSet):
        low = program.space.low
        x, price, status = conic.run_ruled(program, rung)
        prices: dict[str, Any] = naming.priced(low, price) if price.any() else {}
        return {**quotas.tasks(instance, low, x), **prices}, status
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
