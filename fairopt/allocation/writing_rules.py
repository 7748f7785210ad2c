"""Groups, quotas and modes of an instance, and what an answer says of them, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation.amounts import Amounts
from fairopt.instance import Floats, Instance
from fairopt.instance.quotas.plain import group_tables, mode_table, user_tables
from fairopt.instance.rules.records import rule_tables


def instance_rules(inst: Instance) -> dict[str, Any]:
    """The keys groups, flavors, quotas, modes and rules of an instance, those that are not empty.

    `quotas` has the keys that users have in a model file, a weight of 0 among them.
    """
    modes = {
        user: [mode_table(mode, inst.resources) for mode in own]
        for user, own in (inst.modes or {}).items()
    }
    found = {
        **group_tables(inst.quotas),
        "quotas": user_tables(inst.quotas, inst.users),
        "modes": modes,
        "rules": rule_tables(inst.rules),
    }
    return {key: value for key, value in found.items() if value}


def tasks_by_mode(alloc: Amounts) -> dict[str, Any]:
    """{user: {server: tasks}}, or {server: {mode: tasks}} of users with modes; zeros left out."""
    assert alloc.way_tasks is not None
    inst = alloc.instance
    found: dict[str, Any] = {}
    for k, n in enumerate(inst.ways.owner.tolist()):
        own: dict[str, Any] = found.setdefault(inst.users[n], {})
        for i in np.flatnonzero(alloc.way_tasks[k]).tolist():
            x, server = float(alloc.way_tasks[k, i]), inst.servers[i]
            if inst.ways.name[k]:
                own.setdefault(server, {})[inst.ways.name[k]] = x
            else:
                own[server] = x
    return {user: rows for user, rows in found.items() if rows}


def priced_rules(inst: Instance, given: Mapping[str, Any]) -> dict[str, Any]:
    """Prices of an answer or of a round, by name, those that are there; zeros left out."""
    found: dict[str, Any] = {}
    prices, limits = given.get("prices"), given.get("limit_prices")
    if prices is not None:
        rows = {s: _row(p, inst.resources) for s, p in zip(inst.servers, prices, strict=True)}
        found["prices"] = {server: row for server, row in rows.items() if row}
    if limits is not None:
        found["limit_prices"] = _row(limits, inst.users)
    bounds, nodes = given.get("bound_prices"), given.get("node_prices")
    if bounds is not None:
        named = inst.quotas.bounds if inst.quotas is not None else ()
        found["bound_prices"] = [
            {"member": b.member, **_what(b.resource, b.flavor), "price": float(price)}
            for b, price in zip(named, bounds, strict=True)
            if price
        ]
    if nodes is not None:
        found["node_prices"] = [
            {**_what(inst.resources[q.resource], q.flavor), "prices": _row(row, inst.tree.nodes)}
            for q, row in zip(inst.tree.quotas, nodes, strict=True)
            if row.any()
        ]
    if given.get("rule_prices") is not None:
        own = tuple([row.name for row in inst.own_rows])
        found["rule_prices"] = _row(given["rule_prices"], own)
    places = given.get("limit_on_prices")
    if places is not None:
        rows = dict(zip(inst.users, (_row(p, inst.servers) for p in places), strict=False))
        found["limit_on_prices"] = {user: row for user, row in rows.items() if row}
    if given.get("floor_prices") is not None:
        found["floor_prices"] = _row(given["floor_prices"], inst.users)
    return found


def told_rounds(alloc: Amounts) -> list[dict[str, Any]]:
    """The rounds; a jump or priority of 0 is left out."""
    found = []
    for each in alloc.rounds or ():
        rest = {key: each[key] for key in ("jump", "priority") if each[key]}
        prices = priced_rules(alloc.instance, each["prices"])
        found.append({"t": each["t"], **rest, "users": list(each["users"]), "prices": prices})
    return found


def _what(resource: str, flavor: str | None) -> dict[str, str]:
    return {"resource": resource, **({} if flavor is None else {"flavor": flavor})}


def _row(row: Floats, names: tuple[str, ...]) -> dict[str, float]:
    return {names[k]: float(row[k]) for k in np.flatnonzero(row)}
