"""What stops a user from getting more where there are groups or modes: resources and rules.

A user is stopped by its limit; on a server, by its limit there; by a full resource that one of its
ways demands; by a full ceiling above it; by a node on its way up the tree that may borrow no more.
Using one more unit lowers what a node has to pass up, but only where the node did not already have
more than it may lend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from fairopt.formulas.blocked import Blocked
from fairopt.formulas.lowered import PRICES
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.quotas.tree import QuotaRow
from fairopt.instance.rules.resolved import RuleRow

FULL = 1e-6
"""a rule of which a smaller part is free counts as full"""


def each_blocked(
    inst: Instance,
    way_tasks: Floats,
    told: Mapping[str, Floats | None] | None = None,
) -> Iterator[Blocked]:
    """What stops each user, in order; rules by whose they are, as in "org's ceiling".

    Parameters
    ----------
    way_tasks : (K, I) of each way of `inst.ways`. told : the prices by name, as of an `Allocation`;
        with prices of resources, those without a price stop nobody.
    """
    told = told or {}
    prices = told.get("prices")
    ways, tree = inst.ways, inst.tree
    used, pool = ways.used(way_tasks), inst.pool
    full = (pool > 0) & (used >= pool * (1 - FULL))
    if prices is not None:
        full &= prices * pool > FULL * (prices * pool).sum(initial=0.0)
    running = ways.running(way_tasks).sum(axis=1)
    at_limit = running >= inst.limit * (1 - FULL)
    there = _at_limit_on(inst, way_tasks)
    demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
    with np.errstate(over="ignore", invalid="ignore"):  # tasks may come from anywhere
        use = way_tasks[:, :, None] * demand
    ceilings = [_full(inst, use, b) for b in range(len(tree.bounds))]
    stopping = [_stopping(inst, use, row) for row in tree.quotas]
    holds = _holds(inst, way_tasks, None if prices is None else told.get("rule_prices"))
    first = np.searchsorted(ways.owner, np.arange(len(inst.users) + 1)).tolist()
    for n, user in enumerate(inst.users):
        own = slice(first[n], first[n + 1])
        if at_limit[n]:
            yield Blocked(user, None, None, _price(told.get("limit_prices"), n))
            continue
        needs = np.asarray((ways.eligible[own, :, None] & (demand[own] > 0)).any(axis=0))
        for i in np.flatnonzero(there[n]).tolist():
            yield Blocked(user, inst.servers[i], None, _price(told.get("limit_on_prices"), n, i))
        needs[there[n]] = False  # whatever else is full there
        for i, r in np.argwhere(needs & full).tolist():
            yield Blocked(user, inst.servers[i], inst.resources[r], _price(prices, i, r))
        path = tree.path(int(tree.leaf[n]))
        for b, is_full in enumerate(ceilings):
            node, r = int(tree.bounds.node[b]), int(tree.bounds.resource[b])
            if is_full and node in path and needs[tree.bounds.servers[b], r].any():
                where = _rule(tree.nodes[node], "ceiling", tree.bounds.flavor[b])
                yield Blocked(user, where, inst.resources[r], _price(told.get("bound_prices"), b))
        for q, (row, (stops, passes)) in enumerate(zip(tree.quotas, stopping, strict=True)):
            if not needs[row.servers, row.resource].any():
                continue
            for node in _up(path, stops, passes):
                where = _rule(tree.nodes[node], "quota", row.flavor)
                price = _price(told.get("node_prices"), q, node)
                yield Blocked(user, where, inst.resources[row.resource], price)
        for j in np.flatnonzero(holds[n]).tolist() if holds.size else []:
            name, price = inst.own_rows[j].name, _price(told.get("rule_prices"), j)
            yield Blocked(user, f"rule {name}", "", price)


def free(inst: Instance, way_tasks: Floats) -> Bools:
    """(N,) who could get more on some server although nobody else gets less."""
    ways, tree = inst.ways, inst.tree
    demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
    needs = np.broadcast_to(demand > 0, (*way_tasks.shape, demand.shape[2]))
    full = ways.used(way_tasks) >= inst.pool * (1 - FULL)
    room = ways.eligible & ~(needs & full).any(axis=2)
    room &= (ways.running(way_tasks).sum(axis=1) < inst.limit * (1 - FULL))[ways.owner, None]
    room &= ~_at_limit_on(inst, way_tasks)[ways.owner]
    with np.errstate(over="ignore", invalid="ignore"):
        use = way_tasks[:, :, None] * demand
    for b in range(len(tree.bounds)):
        if _full(inst, use, b):
            members = np.isin(ways.owner, tree.below(int(tree.bounds.node[b])))
            here = needs[:, :, tree.bounds.resource[b]] & tree.bounds.servers[b]
            room &= ~(here & members[:, None])
    for row in tree.quotas:
        stops, passes = _stopping(inst, use, row)
        stopped = [bool(list(_up(tree.path(leaf), stops, passes))) for leaf in tree.leaf.tolist()]
        here = needs[:, :, row.resource] & row.servers
        room &= ~(here & np.array(stopped)[ways.owner, None])
    for rule in inst.own_rows:
        more, less = _tight(rule, way_tasks)
        room[rule.way, rule.server] &= ~((more & (rule.value > 0)) | (less & (rule.value < 0)))
    found = np.zeros(len(inst.users), dtype=bool)
    found[ways.owner[room.any(axis=1)]] = True
    return found


def _tight(row: RuleRow, way_tasks: Floats) -> tuple[bool, bool]:
    """Whether an own rule allows no more of what it counts, and whether it allows no less."""
    used, size = row.held(way_tasks)
    some = FULL * (abs(row.amount) + size)
    return row.up and used >= row.amount - some, row.down and used <= row.amount + some


def _holds(inst: Instance, way_tasks: Floats, prices: Floats | None) -> Bools:
    """(N, J) whether a rule of one's own holds back some task that the user could run; with
    prices, whether it makes such a task dearer."""
    found = np.zeros((len(inst.users), len(inst.own_rows)), dtype=bool)
    for j, row in enumerate(inst.own_rows):
        more, less = _tight(row, way_tasks)
        stops = (more & (row.value > 0)) | (less & (row.value < 0))
        if prices is not None:
            stops &= (-1.0 if not row.up else 1.0) * float(prices[j]) * row.value > 0
        found[inst.ways.owner[row.way[stops]], j] = True
    return found


def _at_limit_on(inst: Instance, way_tasks: Floats) -> Bools:
    """(N, I) where a user runs all that its limit on the server allows."""
    if inst.limit_on is None:
        return np.zeros(inst.shape[:2], dtype=bool)
    found: Bools = inst.ways.running(way_tasks) >= inst.limit_on * (1 - FULL)
    return found


def _up(path: list[int], stops: Bools, passes: Bools) -> Iterator[int]:
    """The nodes on the way up that stop more use, as far as that is felt."""
    for node in path:
        if stops[node]:
            yield node
        if not passes[node]:
            return


def _full(inst: Instance, use: Floats, b: int) -> bool:
    """Whether nothing is left under a ceiling."""
    tree = inst.tree
    members = np.isin(inst.ways.owner, tree.below(int(tree.bounds.node[b])))
    under = use[:, tree.bounds.servers[b], tree.bounds.resource[b]][members].sum()
    return bool(under >= tree.bounds.amount[b] * (1 - FULL))


def _stopping(inst: Instance, use: Floats, row: QuotaRow) -> tuple[Bools, Bools]:
    """(M,) at which nodes nothing is left, and which pass less up when more is used below."""
    tree = inst.tree
    taken = use[:, row.servers, row.resource].sum(axis=1)
    left = row.nominal.copy()
    np.subtract.at(left, tree.leaf[inst.ways.owner], taken)
    some = FULL * max(float(row.nominal.sum()), float(taken.sum()))
    for node in range(len(left) - 1, 0, -1):  # children come after their parents
        left[tree.parent[node]] += min(row.lend[node], left[node])
    most = row.borrow.copy()
    most[0] = 0.0  # the root borrows from nobody
    return left + most <= some, left <= row.lend + some


def _rule(name: str, kind: str, flavor: str | None) -> str:
    whose = f"{name}'s {kind}" if name else f"the {kind} of all"
    return whose if flavor is None else f"{whose} of {flavor}"


def _price(prices: Floats | None, *where: int) -> float | None:
    return None if prices is None else float(prices[where])


def each_in_rounds(
    inst: Instance, way_tasks: Floats, rounds: Sequence[Mapping[str, Any]]
) -> Iterator[Blocked]:
    """What stops each user, in order, without prices: those of two rounds do not compare.

    A full resource, ceiling or quota without a price in the user's round does not stop it; a user
    for whom nothing is left by that is stopped by all that is full.
    """
    kept: dict[str, list[Blocked]] = {}
    for each in rounds:
        prices = {kind: each["prices"].get(kind) for kind in PRICES}
        members = set(each["users"])
        for stop in each_blocked(inst, way_tasks, prices):
            if stop.user in members and (stop.resource is None or stop.price != 0):
                kept.setdefault(stop.user, []).append(stop._replace(price=None))
    plain = each_blocked(inst, way_tasks)
    for user, stops in groupby(plain, key=lambda stop: stop.user):
        yield from kept.get(user, stops)


__all__ = ["each_blocked", "each_in_rounds", "free"]
