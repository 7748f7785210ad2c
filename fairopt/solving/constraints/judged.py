"""The verdict on an answer beside constraints of one's own: its rules are theirs, and it keeps
them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.allocation.check import REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates import certify
from fairopt.certificates.ruled.answer import given_tasks
from fairopt.instance import Instance
from fairopt.instance.rules import Rule
from fairopt.solving.constraints.space import Curve, Given, Space, read

KEPT = 1e-9
"""part of its size by which a convex constraint may be missed, as any rule"""


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
    verdict = judged(alloc, curves, certify(alloc, gradient))
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


def judged(alloc: Allocation, curves: list[Curve], verdict: Certificate | None) -> Certificate:
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
