"""The answer beside constraints of one's own: solved beside tangents until no curve is missed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import UNPROVED
from fairopt.certificates import RULED, certify
from fairopt.certificates.ruled.answer import given_tasks
from fairopt.errors import NotCertified, UsageError
from fairopt.formulas import families, welfare
from fairopt.formulas.penalties import NAME
from fairopt.instance import Floats, Instance
from fairopt.instance.rules import Rule
from fairopt.notions import Notion
from fairopt.notions.alpha_fair import g as welfare_of
from fairopt.solving.constraints.judged import KEPT, judged
from fairopt.solving.constraints.space import Curve, Given, Space, read
from fairopt.solving.engines import units
from fairopt.solving.engines.point import AlphaQuestion

ENOUGH = 1e-10
"""part of its size by which a curve is missed at which no further tangent is added"""
MOST_ROUNDS = 400
"""most times that tangents are added"""
ALIKE = 3
"""times that tangents are added where the curves are missed least by the shares found"""
INWARD = 4
"""times that the general solver's point is moved inwards by ten times what may be missed"""
FINE = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
"""tolerances of Clarabel, as close as it can"""


def answer(
    instance: Instance,
    notion: Notion,
    score: Floats,
    given: Given,
    solve: Callable[[Instance], Allocation],
    uncertified: str = "raise",
) -> Allocation:
    """The answer beside constraints, with those as rules of its instance.

    Parameters
    ----------
    solve : the answer of an instance with rules.

    Raises
    ------
    NotCertified : no answer is proved, or a convex constraint is still missed after MOST_ROUNDS
        rounds of tangents; unless `uncertified` is "return".
    """
    instance.only_linear("constraints")
    space = Space.of(instance, score)
    rules, curves = read(given, space)
    own = [*(instance.rules or ()), *rules]
    steps: list[dict[str, Any]] = []
    points = {curve.name: [_begin(instance, notion, score, space, given)] for curve in curves}
    tangents = [curve.tangent(points[curve.name][0], 1) for curve in curves]
    steps += [
        _told(rule, points[curve.name][0]) for rule, curve in zip(tangents, curves, strict=True)
    ]
    for k in range(MOST_ROUNDS):
        every = [*own, *tangents]
        alloc = solve(instance.replace(rules=every) if every else instance)
        missed, tasks = 0, given_tasks(alloc)
        alike = k < ALIKE and bool(curves) and alloc.rounds is None
        if alike:
            there = _there(alloc, notion, points[curves[0].name][-1], curves)
            if there is not None:
                alloc = there
                break
            tasks = _least(alloc, points[curves[0].name][-1], curves, space, given)
        for curve in curves:
            if alike or curve.at(tasks)[0] > ENOUGH * curve.size(tasks):
                missed += 1
                points[curve.name].append(tasks)
                tangents.append(curve.tangent(tasks, len(points[curve.name])))
                steps.append(_told(tangents[-1], tasks))
        if not missed:
            break
    alloc = alloc.with_(steps=(*steps, *alloc.steps))
    alloc = alloc.with_(certificate=judged(alloc, curves, alloc.certificate))
    assert alloc.certificate is not None
    # a feasible answer of a notion without a judge is returned as unproved
    nobody = notion.judgeless and alloc.certificate.verdict == UNPROVED
    if uncertified == "raise" and not alloc.certificate.certified and not nobody:
        broken = [check.name for check in alloc.certificate.checks if not check.holds]
        raise NotCertified(
            f"{notion.name}: {alloc.certificate.verdict}, not within tolerance: "
            f"{', '.join(broken)}",
            alloc,
        )
    return alloc


def _there(
    alloc: Allocation, notion: Notion, tasks: Floats, curves: list[Curve]
) -> Allocation | None:
    """A general solver's own point with the prices found beside its tangents, if that is right:
    of the many places of the same shares it is one that keeps the curves. None if it is not."""
    for _ in range(INWARD):
        held: dict[str, Any] = {"tasks": tasks}
        if alloc.instance.modes is not None:
            held = {"tasks": alloc.instance.ways.running(tasks), "way_tasks": tasks}
        found = alloc.with_(**held, certificate=None)
        verdict = judged(found, curves, certify(found, _slope(notion, found)))
        if verdict.certified:
            return found.with_(
                certificate=verdict,
                steps=(
                    *alloc.steps,
                    {
                        "step": "tasks of the general solver",
                        "gap": verdict.gap,
                        "residual": verdict.residual,
                    },
                ),
            )
        tasks = tasks * (1 - 10 * KEPT)
    return None


def _least(
    alloc: Allocation, tasks: Floats, curves: list[Curve], space: Space, given: Given
) -> Floats:
    """Where everybody has the shares found beside tangents and the curves are missed least: of the
    many places of the same shares the one that keeps them if any does. The tasks found where a
    general solver knows none."""
    import cvxpy as cp

    missed = [cp.vec(each.expression, order="F")[each.entry] / each.size(tasks) for each in curves]
    constraints = [*_rows(alloc.instance, space), space.share == alloc.shares]
    constraints += [each for each in given(space).values() if each.expr.is_affine()]
    found = _solved(cp.Minimize(cp.maximum(*missed, -1.0)), constraints, space)
    return given_tasks(alloc) if found is None else found


def _slope(notion: Notion, alloc: Allocation) -> Floats | None:
    """The gradient (N, I) that a notion of one's own tells of an answer."""
    told = notion.slope(alloc.instance, alloc.tasks)
    return told[0] if told else None


def _told(rule: Rule, at: Floats) -> dict[str, Any]:
    return {"step": "tangent", "rule": rule.name, "at": np.array(at).tolist()}


def _begin(instance: Instance, notion: Notion, score: Floats, space: Space, given: Given) -> Floats:
    """Where the first tangents are: at a general solver's optimum, of max-min of its lowest level
    alone; half of what everybody has there where the solver fails."""
    import cvxpy as cp

    kind = families.member(notion.plain())
    stated = kind["name"] in (families.OWN, NAME)
    alpha = None if stated else welfare.alpha_of(notion.plain())
    top = float(instance.alone.max())
    constraints = [*_rows(instance, space), *given(space).values()]
    if stated:
        unit = np.maximum(units.max_min(AlphaQuestion.of(instance, score, 1.0, False)), 1e-9 * top)
        program = notion.program(instance, score, unit)
        constraints += [*program.problem().constraints, program.tasks(instance) == space.tasks]
        goal: Any = program.objective
    elif alpha is None:
        goal = cp.min(cp.multiply(1.0 / instance.weight, space.share))
    else:
        inside = bool(kind["parameters"].get("weight_inside", False))
        log_w = welfare.log_weight(instance.weight, alpha, inside)
        gain, definition = welfare_of(space.share, alpha)
        goal = np.exp(log_w - log_w.max()) @ gain
        constraints += definition
    found = _solved(cp.Maximize(goal), constraints, space)
    return np.where(instance.ways.eligible, 1e-3 * top, 0.0) if found is None else found


def _rows(instance: Instance, space: Space) -> list[Any]:
    """Capacities and limits."""
    import cvxpy as cp

    ways = instance.ways
    demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
    used = [
        cp.sum(cp.multiply(demand[:, :, r] * ways.eligible, space.variable), axis=0)
        <= instance.pool[:, r]
        for r in range(instance.shape[2])
    ]
    limited = np.flatnonzero(np.isfinite(instance.limit))
    return [*used, *[cp.sum(space.tasks[n]) <= instance.limit[n] for n in limited.tolist()]]


def _solved(goal: Any, constraints: list[Any], space: Space) -> Floats | None:
    """The tasks (K, I) that a general solver finds; None where it fails."""
    import cvxpy as cp

    problem = cp.Problem(goal, constraints)
    try:
        with warnings.catch_warnings():  # that it stopped short of its tolerance is no harm
            warnings.simplefilter("ignore")
            problem.solve(solver="CLARABEL", **FINE)
        found = space.variable.value
    except (cp.SolverError, ValueError):
        return None
    if found is None or not np.isfinite(found).all():
        return None
    return np.where(space.instance.ways.eligible, np.maximum(found, 0.0), 0.0)


def refused(notion: Notion) -> None:
    """Raise UsageError of a notion that knows no rules."""
    if families.member(notion.plain())["name"] not in (*RULED, families.OWN, NAME):
        raise UsageError(
            f"{notion.name}: found constraints; wanted a notion that knows rules: max-min, "
            "alpha-fair, the trade-off, or one of your own"
        )
