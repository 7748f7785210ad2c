"""Answers beside groups, modes and rules in which equal users and servers are solved as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation import Allocation, objective
from fairopt.certificates import judged
from fairopt.errors import FairoptError
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import quotas
from fairopt.solving.engines.point import How
from fairopt.solving.reduce import Reduction, reduce_ruled

BY_SERVER, BY_USER = ("prices",), ("limit_prices", "floor_prices")
TWO = ("node_prices", "limit_on_prices")
ALIKE = ("bound_prices", "rule_prices")
"""prices of what is no single user's and no server's: ceilings of groups, own rules"""


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of the reduced problem, split among the users and servers of the original; the
    answer of the original itself where there is nothing to merge, or that is not certified."""
    small = reduce_ruled(instance, notion, score)
    if not small.steps:
        return quotas.answer(instance, notion, score, how)
    assert small.score is not None
    try:
        found = _split(small, quotas.answer(small.instance, small.notion, small.score, how), notion)
        found = found.with_(score=score)
    except FairoptError:  # it names those who were merged, if anybody: the original says it of all
        return quotas.answer(instance, notion, score, how)
    return found if judged(found).certified else quotas.answer(instance, notion, score, how)


def _split(small: Reduction, found: Allocation, notion: Notion) -> Allocation:
    """The answer of the original: tasks of each way by parts, prices of each row."""
    whole, users, servers = small.original, small.users, small.servers
    ways, first = whole.ways, np.searchsorted(whole.ways.owner, np.arange(len(whole.users)))
    begin = np.searchsorted(small.instance.ways.owner, np.arange(len(users.first)))
    of = users.of[ways.owner]
    like = begin[of] + np.arange(len(ways)) - first[ways.owner]
    tasks = found.by_way[np.ix_(like, servers.of)] * small.server_part
    tasks *= small.user_part[ways.owner, None]
    by_way: dict[str, Any] = {"tasks": tasks}
    if whole.modes is not None:
        by_way = {"tasks": ways.running(tasks), "way_tasks": tasks}
    money = float(whole.weight.sum() / small.instance.weight.sum())
    named = {key: getattr(found, key) for key in (*BY_SERVER, *BY_USER, *ALIKE, *TWO)}
    prices: dict[str, Any] = _priced(small, named, money)
    names: dict[str, list[str]] = {name: [] for name in small.instance.users}
    for n, user in enumerate(whole.users):
        names[small.instance.users[users.of[n]]].append(user)
    told = None
    if found.rounds is not None:
        told = tuple(
            {
                **one,
                "users": [user for name in one["users"] for user in names[name]],
                "prices": _priced(small, one["prices"], 1.0),
            }
            for one in found.rounds
        )
    began = [step for step in found.steps if step["step"] == "start"]
    steps = (*began, *small.steps, *(step for step in found.steps if step not in began))
    alloc = Allocation(whole, notion, **by_way, rounds=told, steps=steps, **prices)
    return alloc.with_(**objective.worth(alloc))


def _priced(small: Reduction, given: Mapping[str, Any], money: float) -> dict[str, Floats]:
    """Prices by name of the original, from those of the reduced problem."""
    groups = len(small.instance.tree.nodes) - len(small.users.first)
    nodes = np.concatenate([np.arange(groups), groups + small.users.of])
    at = {
        **dict.fromkeys(BY_SERVER, (0, small.servers.of)),
        **dict.fromkeys(BY_USER, (0, small.users.of)),
        "node_prices": (1, nodes),
    }
    found = {}
    for key, price in given.items():
        if price is not None:
            axis, where = at.get(key, (0, slice(None)))
            found[key] = (price[where] if axis == 0 else price[:, where]) * money
            if key == "limit_on_prices":
                found[key] = price[np.ix_(small.users.of, small.servers.of)] * money
    return found


__all__ = ["answer"]
