"""Answers where there are groups, guarantees, ceilings, quotas, priorities or modes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation, objective
from fairopt.allocation.by_rows import listed_prices
from fairopt.certificates import judged
from fairopt.certificates.scaled_prices import log_scale
from fairopt.errors import Infeasible
from fairopt.formulas import families, welfare
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.formulas.lowered import Lowered, lower
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import by_class, by_rounds, infeasible, renamed
from fairopt.solving.best import Rung
from fairopt.solving.engines import path, units
from fairopt.solving.engines.point import How
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.quotas import conflict, naming, stated
from fairopt.solving.engines.quotas.sharpened import kept
from fairopt.solving.ruled import INTERIOR, RuledLadder, settings, tasks

LARGEST_LOG = 700.0
"""log of the most that a unit of share is worth: more than any price"""
KNOWN = ("max-min", "alpha-fair")


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of a notion of the families max-min or alpha-fair.

    Raises
    ------
    Infeasible : guarantees that do not fit, with who stands against whom; for alpha-fairness also
        a user that can run nothing.
    UsageError : another notion.
    """
    kind = families.member(notion.plain())
    if kind["name"] not in KNOWN:
        instance.only_plain(notion.name)
    asked = entitled(instance, score, kind)
    low = lower(instance, score)
    infeasible.check(instance, low, asked.floor)
    if kind["name"] == "max-min":
        return by_rounds.answer(instance, notion, score, asked, low, how)
    if len(np.unique(asked.rank)) == 1:
        return _fair(instance, notion, score, asked, low, how)
    by_class.check(instance, notion, score, low)
    if asked.one_by_one and how.solver != "interior":
        found = by_rounds.answer(instance, notion, score, asked, low, how)
        if judged(found).certified:
            return found
    return by_class.answer(instance, notion, score, asked, low, how)


def _fair(
    instance: Instance, notion: Notion, score: Floats, asked: Entitled, low: Lowered, how: How
) -> Allocation:
    """Alpha-fairness by the path over any linear rules."""
    given = families.member(notion.plain())["parameters"]
    alpha, inside = float(given["alpha"]), bool(given.get("weight_inside", False))
    log_w = welfare.log_weight(asked.weight, alpha, inside)
    unit = np.maximum(units.expected(low, log_w, alpha), asked.floor)
    terms = low, log_w, alpha, asked.floor, asked.added, unit
    active, told = np.ones(low.shape[0], bool), None
    if alpha:
        active, told = _active(instance, notion, low, asked)
    if not active.any():  # the guarantees fill everything
        return by_rounds.answer(instance, notion, score, replace(asked, added=True), low, how)

    def answered(x: Floats, price: Floats, nu: Floats) -> Allocation:
        return _priced(instance, notion, score, asked, low, x, price, nu, told)

    def moved(best: Allocation, found: dict[str, Floats]) -> Allocation:
        x, price = _moved(best, low, found, float(log_w.max()))
        rent = _beyond(low, price, log_w, alpha, asked)
        return answered(x, price, np.where(active & (asked.floor == 0), 0.0, rent))

    def interior(ladder: RuledLadder) -> None:
        found = path.solve(*terms, active)
        nu = np.where(active, found.nu, _beyond(low, found.price, log_w, alpha, asked))
        step = {"step": INTERIOR, "steps": found.steps, "error": found.left}
        ladder.closely(step, answered(found.x, found.price, nu))

    def general(ladder: RuledLadder, settings: conic.Settings) -> None:
        x, price, nu, status = stated.fair(*terms, settings)
        if not alpha and instance.rules is not None:
            x = kept(x, low)
        ladder.closely({"step": settings.label, "status": status}, answered(x, price, nu))

    def begun(ladder: RuledLadder) -> None:
        assert how.start is not None
        x, price = renamed.point(how.start, instance, low, log_w, alpha, asked.floor)
        step = {"step": "start", "status": "used"}
        nu = np.where(active & (asked.floor == 0), 0.0, _beyond(low, price, log_w, alpha, asked))
        ladder.begun(step, answered(x, price, nu))

    rungs: list[Rung[RuledLadder]] = []
    if how.start is not None and how.solver == "auto" and alpha > 0:
        rungs.append(Rung("start", RuledLadder.short, begun))
    if how.solver in ("auto", "interior") and alpha > 0:
        rungs.append(Rung(INTERIOR, RuledLadder.short, interior))
    if how.solver != "interior":
        chosen = settings(notion, how.solver, linear=alpha == 0)
        rungs.append(Rung(chosen.label, RuledLadder.short, partial(general, settings=chosen)))
    return RuledLadder(instance, notion, score, how.gap, moved if alpha else None).climb(rungs)


def _priced(
    instance: Instance,
    notion: Notion,
    score: Floats,
    asked: Entitled,
    low: Lowered,
    x: Floats,
    price: Floats,
    nu: Floats,
    told: Any,
) -> Allocation:
    """The answer with tasks (P,) and prices of rows (M,) and floors (N,), of the promised sum."""
    money = float(low.budget(price)) - float(nu @ asked.floor)
    factor = float(asked.weight.sum()) / money
    prices: dict[str, Any] = {**naming.priced(low, price * factor)}
    alloc = Allocation(
        instance,
        notion,
        **tasks(instance, low, x),
        score=score,
        floor_prices=nu * factor,
        **prices,
        rounds=told,
    )
    return alloc.with_(**objective.worth(alloc))


def _moved(
    alloc: Allocation, low: Lowered, moved: dict[str, Floats], top: float
) -> tuple[Floats, Floats]:
    """Tasks (P,) and prices (M,) of the point from which an answer was judged, in the unit of the
    objective over exp(top)."""
    known = {k: v for k, v in moved.items() if "tasks" in k or getattr(alloc, k) is not None}
    near = alloc.with_(**known)
    stated = near.by_way
    scale = float(np.exp(np.clip(log_scale(near) - top, -600.0, 600.0)))
    return stated[low.way, low.server], listed_prices(near, low) * scale


def _beyond(low: Lowered, price: Floats, log_w: Floats, alpha: float, asked: Entitled) -> Floats:
    """(N,) what floors of users that cannot rise cost beyond what these would pay themselves."""
    cost = np.full(low.shape[0], np.inf)
    np.minimum.at(cost, low.owner, low.cost(price) / low.score)
    if asked.added:
        return cost
    floor = np.where(asked.floor > 0, asked.floor, 1.0)  # others can rise
    own: Floats = np.exp(np.minimum(log_w - log_w.max() - alpha * np.log(floor), LARGEST_LOG))
    return np.asarray(np.maximum(cost - own, 0.0))


def _nothing(instance: Instance, low: Lowered, users: Bools, why: str) -> dict[str, str]:
    """Users (N,) for whom nothing is left -> the rules that keep all their tasks at 0, in words;
    `why` where that takes several rules together."""
    by, found = low.shutting, dict[str, str]()
    for n in np.flatnonzero(users).tolist():
        rows = np.unique(by[low.owner == n]).tolist()
        words = (
            [naming.row(instance, low, m) for m in rows] if min(rows, default=-1) >= 0 else [why]
        )
        found[instance.users[n]] = ", ".join(words)
    return found


def _active(
    instance: Instance, notion: Notion, low: Lowered, asked: Entitled
) -> tuple[Bools, tuple[dict[str, Any], ...] | None]:
    """(N,) who can have more than its floor; others hold it, whatever they are worth. And, where
    what is above floors is divided, the rounds at level 0 that prove it.

    Raises
    ------
    Infeasible : nothing is left for somebody without a floor.
    """
    found = conflict.stuck(low, asked.floor, units.beside_rules(low))
    nothing = found.users & (asked.floor == 0)
    if nothing.any():
        users = infeasible.named(instance, nothing)
        why = ", ".join(naming.rows(instance, low, found.price)[:6])
        raise Infeasible(
            f"{notion.name}: nothing is left for {naming.listed(users)}: {why}",
            nothing=_nothing(instance, low, nothing, why),
        )
    told = [
        {
            "t": 0.0,
            "jump": 0.0,
            "priority": 0,
            "users": infeasible.named(instance, stopped),
            "prices": naming.priced(low, price),
        }
        for stopped, price in found.rounds
    ]
    return ~found.users, tuple(told) if told and asked.added else None
