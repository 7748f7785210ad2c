r"""Constraints of one's own in cvxpy, `solve(..., constraints=f)`: rows, and tangents.

An affine constraint is a rule: its value and gradient at 0 are all of it, and nothing of it is
trusted. Of a convex one, g(x) <= 0, the tangent at any point z

.. math:: \nabla g(z) \cdot x \le \nabla g(z) \cdot z - g(z)

is a rule that every x with g(x) <= 0 keeps. So an answer that is best beside tangents, and itself
keeps g, is best beside g, as far as g is convex and these are its tangents. Tangents are added
where an answer breaks g, until none does (Kelley 1960); the first is at the optimum of a general
solver.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.allocation.check import REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates import RULED, certify
from fairopt.certificates.ruled.answer import given_tasks
from fairopt.errors import BadInput, Fault, MissingExtra, NotCertified, SolverFailure, UsageError
from fairopt.formulas import families, welfare
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.instance.rules import Rule
from fairopt.notions import Notion
from fairopt.notions.alpha_fair import g as welfare_of
from fairopt.solving.engines import units
from fairopt.solving.engines.point import Question

KEPT = 1e-9
"""part of its size by which a convex constraint may be missed, as any rule"""
ENOUGH = 1e-10
"""the same at which no further tangent is added"""
MOST = 200
"""most times that tangents are added"""
INWARD = 4
"""times that the general solver's point is moved inwards by ten times what may be missed"""
FINE = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
"""tolerances of Clarabel, as close as it can"""
Given = Callable[["Space"], Mapping[str, Any]]


@dataclass(frozen=True)
class Space:
    """What constraints are written in: cvxpy expressions tasks (N, I), running tasks, 0 where a
    user may not run, and share (N,). `variable` (K, I) has a row for each way (`Instance.ways`)."""

    instance: Instance
    tasks: Any
    share: Any
    variable: Any
    by_way: Any

    def mode(self, user: str, name: str) -> Any:
        """(I,) running tasks of a user in one of its modes.

        Raises
        ------
        BadInput : no such user or mode.
        """
        ways, users = self.instance.ways, self.instance.users
        known = [(users[n], mode) for n, mode in zip(ways.owner.tolist(), ways.name, strict=True)]
        if (user, name) not in known:
            own = ", ".join([mode for who, mode in known if who == user and mode])
            raise BadInput(
                [Fault("mode", f"{user!r}, {name!r}", f"a user and its mode {own}".strip())]
            )
        return self.by_way[known.index((user, name))]

    @classmethod
    def of(cls, instance: Instance, score: Floats) -> Space:
        """The space of an instance under these scores (N, I)."""
        try:
            import cvxpy as cp
        except ImportError as error:
            raise MissingExtra("constraints need cvxpy: pip install 'fairopt[cvxpy]'") from error
        ways = instance.ways
        x = cp.Variable(ways.eligible.shape, nonneg=True, name="tasks")
        by_way = cp.multiply(ways.eligible.astype(float), x)
        of_user = (ways.owner == np.arange(instance.shape[0])[:, None]).astype(float)
        worth = np.where(ways.eligible, score[ways.owner] * ways.speed[:, None], 0.0)
        tasks = by_way if instance.modes is None else of_user @ by_way
        share = of_user @ cp.sum(cp.multiply(worth, x), axis=1)
        return cls(instance, tasks, share, x, by_way)


@dataclass(frozen=True)
class Curve:
    """An entry of a convex constraint: name, the cvxpy expression g, and which entry of it, over
    tasks (K, I) by way."""

    name: str
    expression: Any
    space: Space
    entry: int

    def at(self, tasks: Floats) -> tuple[float, Floats]:
        """g and its gradient (N, I)."""
        variable = self.space.variable
        variable.value = np.asarray(tasks)
        value = np.asarray(self.expression.value, dtype=np.float64).ravel(order="F")[self.entry]
        slope = self.expression.grad[variable]
        if slope is None:
            raise SolverFailure(f"constraint {self.name}: no gradient at the answer")
        column = _dense(slope).reshape(tasks.size, -1)[:, self.entry]
        return float(value), column.reshape(tasks.shape, order="F")

    def size(self, tasks: Floats) -> float:
        """What a part of it that is missed is measured against."""
        value, slope = self.at(tasks)
        return float(np.abs(slope * tasks).sum() + abs((slope * tasks).sum() - value)) or 1.0

    def tangent(self, tasks: Floats, k: int) -> Rule:
        """The tangent at these tasks, as a rule."""
        value, slope = self.at(tasks)
        name = f"{self.name} (tangent{'' if k == 1 else f' {k}'})"
        return _rule(self.space.instance, name, slope, most=float((slope * tasks).sum() - value))


def _rule(instance: Instance, name: str, counts: Floats, **amount: Any) -> Rule:
    """The rule of what tasks (K, I) by way count."""
    if instance.modes is None:
        return Rule.of(name, counts, **amount)
    ways, users, servers = instance.ways, instance.users, instance.servers
    told = {
        (users[ways.owner[k]], servers[i], *([ways.name[k]] if ways.name[k] else [])): counts[k, i]
        for k, i in np.argwhere(counts).tolist()
    }
    return Rule.of(name, told, **amount)


def _dense(matrix: Any) -> Floats:
    full = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.asarray(full, dtype=np.float64)


def read(given: Given, space: Space) -> tuple[list[Rule], list[Curve]]:
    """The affine constraints as rules, and the convex ones entry by entry.

    Raises
    ------
    BadInput : with every constraint that is not convex, has variables of its own or is another
        cone, by its name.
    """
    import cvxpy as cp

    told = given(space)
    if not isinstance(told, Mapping):
        raise BadInput([Fault("constraints", words(told), "a dict of cvxpy constraints by name")])
    rules: list[Rule] = []
    curves: list[Curve] = []
    faults: list[Fault] = []
    for name, constraint in told.items():
        here = f"constraints.{name}"
        kinds = (cp.constraints.Inequality, cp.constraints.Equality)
        if not isinstance(constraint, (*kinds, cp.constraints.Zero, cp.constraints.NonPos)):
            wanted = "a cvxpy constraint with <=, >= or =="
            faults.append(Fault(here, f"a {type(constraint).__name__}", wanted))
            continue
        other = [each.name() for each in constraint.variables() if each is not space.variable]
        if other:
            wanted = "tasks and share of the space alone"
            faults.append(Fault(here, f"the variable {other[0]} of its own", wanted))
        elif not constraint.is_dcp():
            faults.append(
                Fault(
                    here,
                    "a constraint that is not convex by cvxpy's rules (DCP)",
                    "an affine or convex one",
                )
            )
        elif constraint.expr.is_affine():
            equal = isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero)
            rules += _affine(name, constraint.expr, space, "equal" if equal else "most")
        else:
            size = int(constraint.expr.size)
            curves += [
                Curve(name if size == 1 else f"{name} {k + 1}", constraint.expr, space, k)
                for k in range(size)
            ]
    if faults:
        raise BadInput(faults)
    return rules, curves


def _affine(name: str, expression: Any, space: Space, sense: str) -> list[Rule]:
    """A rule for each entry, from value and gradient at 0."""
    shape = space.variable.shape
    space.variable.value = np.zeros(shape)
    value = np.asarray(expression.value, dtype=np.float64).ravel(order="F")
    found = expression.grad.get(space.variable) if expression.variables() else None
    slope = np.zeros((shape[0] * shape[1], len(value))) if found is None else _dense(found)
    slope = slope.reshape(shape[0] * shape[1], len(value))
    many = len(value) > 1
    amounts: list[dict[str, Any]] = [{sense: -float(b) + 0.0} for b in value]
    return [
        _rule(
            space.instance,
            f"{name} {k + 1}" if many else name,
            slope[:, k].reshape(shape, order="F"),
            **amounts[k],
        )
        for k in range(len(value))
    ]


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
    NotCertified : no answer is proved, or a convex constraint is still missed after MOST rounds of
        tangents; unless `uncertified` is "return".
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
    for k in range(MOST):
        every = [*own, *tangents]
        alloc = solve(instance.replace(rules=every) if every else instance)
        if k == 0 and curves:
            there = _there(alloc, notion, points[curves[0].name][0], curves)
            if there is not None:
                alloc = there
                break
        missed = 0
        tasks = given_tasks(alloc)
        for curve in curves:
            if curve.at(tasks)[0] > ENOUGH * curve.size(tasks):
                missed += 1
                points[curve.name].append(tasks)
                tangents.append(curve.tangent(tasks, len(points[curve.name])))
                steps.append(_told(tangents[-1], tasks))
        if not missed:
            break
    alloc = alloc.with_(steps=(*steps, *alloc.steps))
    alloc = alloc.with_(certificate=_judged(alloc, curves, alloc.certificate))
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
    """The general solver's own point with the prices found beside its tangents, if that is right:
    of the many places of the same shares it is one that keeps the curves. None if it is not."""
    if alloc.rounds is not None:
        return None
    for _ in range(INWARD):
        held: dict[str, Any] = {"tasks": tasks}
        if alloc.instance.modes is not None:
            held = {"tasks": alloc.instance.ways.running(tasks), "way_tasks": tasks}
        found = alloc.with_(**held, certificate=None)
        verdict = _judged(found, curves, certify(found, _slope(notion, found)))
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

    ways, kind = instance.ways, families.member(notion.plain())
    alpha = None if kind["name"] == families.OWN else welfare.alpha_of(notion.plain())
    x, top = space.variable, float(instance.alone.max())
    demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
    used = [
        cp.sum(cp.multiply(demand[:, :, r] * ways.eligible, x), axis=0) <= instance.pool[:, r]
        for r in range(instance.shape[2])
    ]
    limited = np.flatnonzero(np.isfinite(instance.limit))
    limits = [cp.sum(space.tasks[n]) <= instance.limit[n] for n in limited.tolist()]
    constraints = [*used, *limits, *given(space).values()]
    if kind["name"] == families.OWN:
        unit = np.maximum(units.max_min(Question.of(instance, score, 1.0, False)), 1e-9 * top)
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
    problem = cp.Problem(cp.Maximize(goal), constraints)
    try:
        with warnings.catch_warnings():  # that it stopped short of its tolerance is no harm
            warnings.simplefilter("ignore")
            problem.solve(solver="CLARABEL", **FINE)
        found = x.value
    except (cp.SolverError, ValueError):
        found = None
    if found is None or not np.isfinite(found).all():
        return np.where(ways.eligible, 1e-3 * top, 0.0)
    return np.where(ways.eligible, np.maximum(found, 0.0), 0.0)


def certify_with(
    alloc: Allocation, constraints: Given, gradient: ArrayLike | None = None
) -> Certificate:
    """Judge an answer of `solve(..., constraints=f)`, perhaps read from a file, beside f itself.

    The rules of its instance must be f's affine constraints and tangents of its convex ones, at the
    points that its steps tell; and the answer must keep f.

    Parameters
    ----------
    gradient : (N, I), of a notion of your own alone, as `certify` takes it.

    Raises
    ------
    BadInput : as `solve` does of f.
    """
    inst = alloc.instance
    space = Space.of(inst, alloc.score)
    rules, curves = read(constraints, space)
    wanted = {rule.name: rule for rule in _known(rules, inst)}
    at = {
        step["rule"]: np.asarray(step["at"], dtype=np.float64)
        for step in alloc.steps
        if step.get("step") == "tangent"
    }
    for curve in curves:
        mine = [name for name in at if name.startswith(f"{curve.name} (tangent")]
        for name in mine:
            if at[name].shape == space.variable.shape and np.isfinite(at[name]).all():
                rule = replace(curve.tangent(at[name], 1), name=name)
                wanted[name] = _known([rule], inst)[0]
    forged = [
        rule.name
        for rule in inst.rules or ()
        if "(tangent" in rule.name and not _same(rule, wanted.get(rule.name))
    ]
    missing = [
        rule.name
        for rule in _known(rules, inst)
        if not any(_same(rule, own) for own in inst.rules or ())
    ]
    verdict = _judged(alloc, curves, certify(alloc, gradient))
    wrong = [*forged, *missing]
    check = Check.of(
        "rules are those of the constraints", float(len(wrong)), 0.0, ", ".join(wrong[:4])
    )
    checks = (*verdict.checks, check)
    if wrong and verdict.verdict != REFUTED:
        return replace(verdict, verdict=UNPROVED, checks=checks)
    return replace(verdict, checks=checks)


def _known(rules: list[Rule], inst: Instance) -> list[Rule]:
    """The rules as an instance of these names keeps them."""
    found = inst.replace(rules=rules).rules if rules else None
    return list(found or ())


def _same(one: Rule, two: Rule | None) -> bool:
    """Whether two rules say the same, but for rounding."""
    if two is None or one.name != two.name or one.sense != two.sense:
        return False
    mine, theirs = (
        {(t.users, t.servers, t.modes): t.times for t in rule.terms} for rule in (one, two)
    )
    size = max([abs(one.amount), *map(abs, mine.values())], default=1.0)
    near = KEPT * size
    keys = mine.keys() | theirs.keys()
    return abs(one.amount - two.amount) <= near and all(
        abs(mine.get(key, 0.0) - theirs.get(key, 0.0)) <= near for key in keys
    )


def _judged(alloc: Allocation, curves: list[Curve], verdict: Certificate | None) -> Certificate:
    """The verdict with a check of each convex constraint, and what it rests on."""
    assert verdict is not None
    if not curves:
        return verdict
    checks = list(verdict.checks)
    tasks = given_tasks(alloc)
    for curve in curves:
        missed = max(curve.at(tasks)[0], 0.0) / curve.size(tasks)
        checks.append(Check.of(f"constraint {curve.name}", missed, KEPT, curve.name))
    names = ", ".join(dict.fromkeys(curve.name for curve in curves))
    note = f"as far as {names} is convex and the rules named after it are its tangents"
    kept = all(check.holds for check in checks[len(verdict.checks) :])
    return replace(
        verdict,
        checks=tuple(checks),
        notes=(*verdict.notes, note),
        verdict=verdict.verdict if kept else REFUTED,
    )


def refused(notion: Notion) -> None:
    """Raise UsageError of a notion that knows no rules."""
    if families.member(notion.plain())["name"] not in (*RULED, families.OWN):
        raise UsageError(
            f"{notion.name}: found constraints; wanted a notion that knows rules: max-min, "
            "alpha-fair, or one of your own"
        )


__all__ = ["Space", "answer", "certify_with", "read", "refused"]
