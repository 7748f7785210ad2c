"""Answers where users had something already, as answers of the instance before (`formulas`).

An answer keeps its own rows, whatever was had: those are judged as they are given. What it is due
is judged beside all that was had, by its own prices: a task on the server of what was had costs as
much for its share as where that is cheapest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import REFUTED, Certificate
from fairopt.certificates.ruled import feasible
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.ruled.prices import told
from fairopt.certificates.ruled.walk import path
from fairopt.formulas import welfare
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import PRICES
from fairopt.formulas.started import before, held, real_ways
from fairopt.formulas.started import ruled as limits_are_rules
from fairopt.instance import Bools, Floats, Instance

ROWS = ("bound_prices", "node_prices", "floor_prices")
"""prices of rows that are the same with what was had"""


def whole(alloc: Allocation) -> Allocation:
    """The answer with all that was had beside it, and its prices.

    Its shares are start + share, and so is what is proved of each user to a millionth.
    """
    inst = alloc.instance
    instance, score = before(inst, alloc.score, alloc.kind)
    had = held(inst, alloc.score)
    own: dict[str, Any] = {"tasks": np.column_stack([alloc.tasks, had])}
    if inst.modes is not None:
        own["way_tasks"] = _by_way(alloc, instance, had)
    found = Allocation(instance, dict(alloc.notion), **own, score=score)
    ruled = Ruled(alloc)
    if alloc.prices is not None:
        told_of = {name: getattr(alloc, name, None) for name in _EVERY}
        found = found.with_(**_beside(ruled, instance, told_of, True))
    if alloc.rounds is not None:
        found = found.with_(rounds=_rounds(found, alloc, ruled))
    return found


def _rounds(found: Allocation, alloc: Allocation, ruled: Ruled) -> list[dict[str, Any]] | None:
    """The rounds with prices of what was had, where somebody is due that much; None where they say
    nothing, so that the judge finds its own."""
    given = [{**one, "prices": {}} for one in alloc.rounds or ()]
    start = ruled.inst.start
    assert start is not None
    stops, wrong = path(
        found.with_(rounds=given), entitled(found.instance, found.score, found.kind)
    )
    if wrong:
        return None
    dues = iter(stops)
    told_of = []
    for one in alloc.rounds or ():
        full = np.zeros(len(ruled.inst.users), dtype=bool)
        if one["users"]:
            full = next(dues).due >= start * (1 - TIE)
        told_of.append({**one, "prices": _beside(ruled, found.instance, one["prices"], full)})
    return told_of


TIE = 1e-9
"""part by which what is due by a round may be less than what was had"""
_EVERY = (*PRICES, "floor_prices")


def _by_way(alloc: Allocation, instance: Instance, had: Floats) -> Floats:
    """(K, I + 1) running tasks: what was had is in the last way of its user."""
    real, ways = real_ways(alloc.instance, instance), instance.ways
    found = np.zeros((len(ways), len(instance.servers)))
    assert alloc.way_tasks is not None
    found[real, :-1] = alloc.way_tasks
    last = np.searchsorted(ways.owner, np.arange(len(had)), side="right") - 1
    found[last, -1] = had
    return found


def _beside(
    ruled: Ruled, instance: Instance, given: Mapping[str, Any], full: Bools | bool
) -> dict[str, Any]:
    """Prices of an answer, or of a round of it, with those of what was had where that is full."""
    inst, score = ruled.inst, ruled.score
    users, servers, resources = inst.shape
    prices = told(SimpleNamespace(instance=inst, **_all(given)))  # type: ignore[arg-type]
    cost = ruled.cost(prices)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(ruled.eligible, cost / score, np.inf).min(axis=1)
    cheapest = np.full(users, np.inf)
    np.minimum.at(cheapest, ruled.owner, unit)
    cheapest = np.minimum(cheapest, _worth(ruled, cheapest))
    best = np.where(inst.eligible, ruled.alloc.score, 0.0).max(axis=1)
    limits = np.zeros(users) if limits_are_rules(inst) else prices.limits
    places = np.zeros((users, servers + 1))
    if inst.limit_on is not None:
        places[:, :-1] = prices.places
    assert inst.start is not None
    places[:, -1] = np.where(
        (inst.start > 0) & full, np.maximum(cheapest * best - limits, 0.0), 0.0
    )
    found = {name: given[name] for name in ROWS if given.get(name) is not None}
    found["prices"] = np.vstack([prices.capacity, np.zeros(resources)])
    found["limit_on_prices"] = places
    if not limits_are_rules(inst):
        return found | {"limit_prices": prices.limits}
    own = given.get("rule_prices")
    own = np.zeros(len(inst.rules or ())) if own is None else own
    return found | {"rule_prices": np.append(own, prices.limits[np.isfinite(inst.limit)])}


def _worth(ruled: Ruled, cheapest: Floats) -> Floats:
    """(N,) what a unit more is worth to each at what it had, of alpha-fairness, where that is all
    that it has: less than what it costs. Money is what the user who pays most pays at its cheapest
    price (N,); inf of others."""
    alloc, start, kind = ruled.alloc, ruled.inst.start, ruled.alloc.kind
    assert start is not None
    given = kind["parameters"]
    none = (alloc.shares <= TIE * start) & (start > 0)
    alpha = float(given.get("alpha", 0.0))
    if kind["name"] != "alpha-fair" or not alpha or not none.any():
        return np.full(len(start), np.inf)
    weight = entitled(ruled.inst, alloc.score, kind).weight
    with np.errstate(all="ignore"):
        log_t = np.log(alloc.shares + start)
        log_w = welfare.log_weight(weight, alpha, bool(given.get("weight_inside", False)))
        log_value = log_w - alpha * log_t
        log_money = np.where(~none & (cheapest > 0), log_value + log_t, -np.inf)
        most = int(np.argmax(log_money))
        unit = log_value[most] - np.log(cheapest[most])
        return np.where(none & np.isfinite(unit), np.exp(log_value - unit), np.inf)


def _all(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given.get(name) for name in _EVERY}


def broken(alloc: Allocation) -> Certificate | None:
    """Refuted, if a row that was given is not kept; else None. Beside all that was had, a part of a
    row or guarantee could be too small to be seen."""
    floor = entitled(alloc.instance, alloc.score, alloc.kind).floor
    checks = feasible.checks(Ruled(alloc), floor)
    if all(check.holds for check in checks):
        return None
    return Certificate(REFUTED, np.inf, np.inf, alloc.instance.users, checks)


__all__ = ["broken", "whole"]
