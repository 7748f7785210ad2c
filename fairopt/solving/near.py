"""Of all optimal answers, the one nearest to tasks that run: matched by name, and judged again."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.certificates.proof import searched_beside
from fairopt.certificates.rounds_verdict import due_as
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import BadInput, Fault, SolverFailure, UsageError
from fairopt.formulas import families, welfare
from fairopt.formulas.blocked import task_cost
from fairopt.formulas.lowered import CAPACITY, LIMIT, Lowered, lower
from fairopt.formulas.parameters import words
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion, on_its_own
from fairopt.solving.engines.point import fitted
from fairopt.solving.engines.programs.nearest import Face, nearest

ALIKE = 1e-9
"""a pair that costs its user at most this part more than its cheapest is one of the cheapest"""
PRICED = 1e-9
"""part of all money above which a row's price says that it is full"""
FOUND = 1e-9
"""part of its share from which a pair has tasks"""
TRACE, DUST = 1e-7, 1e-6
"""part of the answer given that is added where the judge begins to search: from it the judge knows
what is worth its price, most often in a tenth of the time; and part of a user's tasks below which
what is held counts as nothing"""
SHARP = 1e-9
"""a gap or residual up to here is not worse than another"""
KNOWN = ("alpha-fair", "max-min")


def checked(near: Any, instance: Instance, notion: Notion) -> Floats:
    """(N, I) the tasks held of the users and servers that the instance has, by name.

    Parameters
    ----------
    near : the last Allocation; or (N, I) tasks, as an array in the order of the instance, or a
        frame by user and server.

    Raises
    ------
    BadInput : something else, or numbers that are not tasks.
    UsageError : a notion, or an instance, that has no such question.
    """
    family = families.member(notion.plain())["name"] if notion.family else None
    if family not in KNOWN or on_its_own(notion):
        raise UsageError(
            f"near: found {notion.name}; wanted max-min or alpha-fairness, whose answers are those "
            "of one set of shares"
        )
    if not instance.linear or len(instance.ways) != instance.shape[0]:
        raise UsageError("near: found modes or demand that is not linear; wanted tasks of one kind")
    users, servers, _ = instance.shape
    if isinstance(near, Allocation):
        return _placed(near.tasks, near.instance.users, near.instance.servers, instance)
    if hasattr(near, "index") and hasattr(near, "columns"):
        names = [str(name) for name in near.index], [str(name) for name in near.columns]
        return _placed(_numbers(near), *names, instance)
    held = _numbers(near)
    if held.shape != (users, servers):
        raise BadInput([Fault("near", f"shape {held.shape}", f"({users}, {servers}) tasks")])
    return held


def _numbers(near: Any) -> Floats:
    try:
        held = np.array(near, dtype=np.float64)
    except (TypeError, ValueError):
        wanted = "a fairopt.Allocation, the last answer, or (N, I) tasks"
        raise BadInput([Fault("near", words(near), wanted)]) from None
    if held.ndim != 2 or not np.isfinite(held).all() or (held < 0).any():
        raise BadInput([Fault("near", "numbers below 0 or not finite", "(N, I) tasks >= 0")])
    return held


def _placed(tasks: Floats, users: Any, servers: Any, instance: Instance) -> Floats:
    """The tasks of the users and servers that are in both, in the instance's order."""
    held = np.zeros(instance.shape[:2])
    row = {name: k for k, name in enumerate(instance.users)}
    column = {name: k for k, name in enumerate(instance.servers)}
    mine = [(k, row[name]) for k, name in enumerate(users) if name in row]
    theirs = [(k, column[name]) for k, name in enumerate(servers) if name in column]
    if mine and theirs:
        (a, b), (c, d) = zip(*mine, strict=True), zip(*theirs, strict=True)
        held[np.ix_(b, d)] = np.maximum(tasks[np.ix_(a, c)], 0.0)
    return held


def answer(
    alloc: Allocation, score: Floats, held: Floats, gap: float, beside: bool = False
) -> Allocation:
    """The nearest answer with the same shares and prices, judged; the one given if that is better.

    The step "near" says how many tasks stop and start, of the answer given too, and the least that
    any answer with these shares must stop and start together.

    Parameters
    ----------
    beside : whether what was proved of the answer given may prove this one. Who keeps it, or writes
        it, asks for a proof that it has by itself.
    """
    inst = alloc.instance
    step: dict[str, Any] = {"step": "near", "status": "used"}
    step["before"] = float(np.abs(alloc.tasks - held).sum())
    system = lower(inst, score)
    there = held[system.owner, system.server]
    now = np.where(there > DUST * held.sum(axis=1)[system.owner], there, 0.0)
    face = _face(alloc, system, score)
    try:
        found = nearest(face, now)
    except SolverFailure as fault:
        return _told(alloc, held, {**step, "status": f"not used: {fault}"})
    tasks = np.zeros(inst.shape[:2])
    tasks[system.owner, system.server] = found.tasks
    other = _with(alloc, tasks)
    if inst.plain and welfare.alpha_of(alloc.notion):
        searched_beside(other, _with(alloc, tasks + TRACE * (alloc.tasks - tasks)))
    if beside:
        due_as(other, alloc)
    other = other.with_(certificate=certify(other, tolerance=max(gap, TOLERANCE)))
    old, new = alloc.certificate, other.certificate
    assert old is not None and new is not None
    step["gap"], step["residual"] = new.gap, new.residual
    # what runs where no task is allowed any more stops whatever is done
    lost, traces = float(held.sum() - there.sum()), float(there.sum() - now.sum())
    bound = max(found.bound + lost - traces, 0.0)
    worst = max(new.gap, new.residual)
    kept = (new.certified or not old.certified) and worst <= max(old.gap, old.residual, SHARP, gap)
    if not kept:
        status = f"not used: its gap or residual is {worst:.2g}"
        return _told(alloc, held, {**step, "status": status, "bound": bound})
    return _told(other, held, {**step, "bound": bound})


def _with(alloc: Allocation, tasks: Floats) -> Allocation:
    """The answer with other tasks, made to fit."""
    fit = fitted(alloc.instance, tasks, 0.0 if alloc.instance.plain else 1e-12)
    return alloc.with_(tasks=fit, way_tasks=None, objective=None, equivalent=None)


def _told(alloc: Allocation, held: Floats, step: dict[str, Any]) -> Allocation:
    """The answer, with the step that says what moves."""
    change = alloc.tasks - held
    step["stopped"], step["started"] = (
        float(np.maximum(-change, 0.0).sum()),
        float(np.maximum(change, 0.0).sum()),
    )
    return alloc.with_(steps=(*alloc.steps, step))


def _face(alloc: Allocation, system: Lowered, score: Floats) -> Face:
    """The optimal answers: those with the same shares; of throughput those that pay every price.

    Of plain answers pairs that cost more than they are worth at the proved prices stay at 0.
    """
    inst = alloc.instance
    tasks = alloc.tasks[system.owner, system.server]
    columns = np.ones(len(tasks), bool)
    full = np.zeros(len(system.rhs), bool)
    alpha = welfare.alpha_of(alloc.notion)
    keeps = alpha != 0
    if inst.plain and alloc.level_prices is not None:
        columns = _of_levels(alloc, score)[system.owner, system.server]
    if not inst.plain or alpha is None or alloc.prices is None:
        return Face(system, tasks, columns, True, full)
    mu = np.zeros(inst.shape[0]) if alloc.limit_prices is None else alloc.limit_prices
    columns = _cheapest(alloc, system, score, mu, keeps)
    full = _full(inst, system, alloc.prices, mu)
    return Face(system, tasks, columns, keeps, full)


def _of_levels(alloc: Allocation, score: Floats) -> Bools:
    """(N, I) pairs that at no level's prices cost more than what their user pays for its share.

    Whoever is at or below a level pays the least for each unit, and whoever is above pays nothing.
    """
    inst = alloc.instance
    assert alloc.level_prices is not None
    share = np.where(alloc.shares > 0, alloc.shares, 1.0)
    part = np.where(inst.eligible, alloc.tasks * score, 0.0) / share[:, None]
    found = np.ones(inst.shape[:2], bool)
    each = np.where(inst.eligible, score, 1.0)
    for prices in alloc.level_prices:
        dear = np.flatnonzero((prices > 0).any(axis=1))
        if len(dear):
            need = inst.demand if inst.demand.ndim == 2 else inst.demand[:, dear]
            columns = need if need.ndim == 3 else need[:, None, :]
            cost = (columns * prices[dear]).sum(axis=2) / each[:, dear]
            paid = (cost * part[:, dear]).sum(axis=1)
            found[:, dear] &= cost <= paid[:, None] * (1 + ALIKE)
    return found | (part > FOUND)


def _cheapest(alloc: Allocation, system: Lowered, score: Floats, mu: Floats, keeps: bool) -> Bools:
    """(P,) pairs on which a unit of share costs its user least, or that have tasks."""
    inst = alloc.instance
    assert alloc.prices is not None
    cost = np.full(score.shape, np.inf)
    np.divide(task_cost(inst, alloc.prices, slice(None), mu), score, out=cost, where=inst.eligible)
    least = cost.min(axis=1)
    if not keeps:  # throughput: a unit of share is worth the same weight to all answers
        held = np.where(alloc.tasks > 0, cost, np.inf).min(axis=1)
        least = np.where(np.isfinite(held), np.minimum(held, least), least)
        paid = float((alloc.prices * inst.pool).sum() + mu @ np.where(mu > 0, inst.limit, 0.0))
        worth = inst.weight * paid / float(inst.weight @ alloc.shares)
        least = np.minimum(least, worth)
    part = alloc.tasks * score > FOUND * alloc.shares[:, None]
    found: Bools = (cost <= least[:, None] * (1 + ALIKE)) | part
    return found[system.owner, system.server]


def _full(inst: Instance, system: Lowered, prices: Floats, mu: Floats) -> Bools:
    """(M,) rows with a price, which every optimal answer fills."""
    money = np.zeros(len(system.rhs))
    own = system.kind == CAPACITY
    money[own] = (prices * inst.pool)[system.one[own], system.two[own]]
    own = system.kind == LIMIT
    money[own] = (mu * np.where(mu > 0, inst.limit, 0.0))[system.one[own]]
    found: Bools = money > PRICED * money.sum()
    return found
