"""Answers where users had something already (`Instance.start`): those of the instance before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation import Allocation, objective
from fairopt.formulas import families
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower
from fairopt.formulas.started import before, held, real_ways, ruled
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import infeasible, quotas
from fairopt.solving.engines.point import How


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of a notion of the families max-min or alpha-fair.

    Raises
    ------
    UsageError : of another notion, or with what a start is not known beside. Infeasible :
        guarantees or rules that do not fit, whatever was had.
    """
    kind = families.member(notion.plain())
    if kind["name"] not in quotas.KNOWN:
        instance.only_plain(notion.name)
    whole, scores = before(instance, score, kind)
    # what is asked is told as it was given
    infeasible.check(instance, lower(instance, score), entitled(instance, score, kind).floor)
    found = quotas.answer(whole, notion, scores, how)
    mine = Allocation(
        instance,
        notion,
        **_tasks(instance, found, scores),
        score=score,
        steps=found.steps,
        **_prices(instance, found.__dict__),
        rounds=None
        if found.rounds is None
        else [{**one, "prices": _prices(instance, one["prices"])} for one in found.rounds],
    )
    return mine.with_(**objective.worth(mine))


def _tasks(instance: Instance, found: Allocation, score: Floats) -> dict[str, Any]:
    """Tasks of an answer where all that was had counts first, with the same shares.

    Where a user has room left on the server of what was had, its last tasks elsewhere could as well
    run there. They have to: its limit does not count what was had, and it could be above it. Where
    limits are rules tasks stay.
    """
    by_way = found.tasks if found.way_tasks is None else found.way_tasks
    ours = by_way[real_ways(instance, found.instance), :-1]
    if not ruled(instance):
        had = held(instance, score[:, :-1])
        share = (found.output * score)[:, :-1].sum(axis=1)
        room = np.maximum(had - found.output[:, -1], 0.0) * score[:, -1]
        kept = np.divide(share - room, share, out=np.zeros_like(share), where=share > room)
        ours = ours * kept[instance.ways.owner][:, None]
    if instance.modes is None:
        return {"tasks": ours}
    return {"tasks": instance.ways.running(ours), "way_tasks": ours}


def _prices(instance: Instance, told: Mapping[str, Any]) -> dict[str, Any]:
    """Prices of the servers there are, by the names that an answer has for them."""
    size, rules = instance.shape[1], len(instance.rules or ())
    found = {name: told.get(name) for name in KEPT}
    for name, last in (("prices", np.s_[:size]), ("limit_on_prices", np.s_[:, :size])):
        price = told.get(name)
        found[name] = None if price is None else price[last]
    if instance.limit_on is None:
        del found["limit_on_prices"]
    if ruled(instance) and told.get("rule_prices") is not None:
        price = told["rule_prices"]
        limits = np.zeros(len(instance.users))
        limits[np.isfinite(instance.limit)] = price[rules:]
        found |= {"rule_prices": price[:rules] if rules else None, "limit_prices": limits}
    return {name: price for name, price in found.items() if price is not None}


KEPT = ("limit_prices", "bound_prices", "node_prices", "floor_prices")
"""prices of rows that are the same without what was had"""
