"""Answers as JSON, fairopt/allocation/v1: the instance, the notion, the tasks and the prices.

Numbers read back are equal bit for bit. Zeros, infinite limits and defaults are left out. Times,
paths and versions are never written, so that equal answers give equal bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt import criteria, storage
from fairopt.allocation.amounts import Amounts
from fairopt.formulas import parameters
from fairopt.instance import Floats, Instance
from fairopt.instance.fields import CURVES
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
        rows = {s: _of_row(p, inst.resources) for s, p in zip(inst.servers, prices, strict=True)}
        found["prices"] = {server: row for server, row in rows.items() if row}
    if limits is not None:
        found["limit_prices"] = _of_row(limits, inst.users)
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
            {
                **_what(inst.resources[q.resource], q.flavor),
                "prices": _of_row(row, inst.tree.nodes),
            }
            for q, row in zip(inst.tree.quotas, nodes, strict=True)
            if row.any()
        ]
    if given.get("rule_prices") is not None:
        own = tuple([row.name for row in inst.own_rows])
        found["rule_prices"] = _of_row(given["rule_prices"], own)
    places = given.get("limit_on_prices")
    if places is not None:
        rows = dict(zip(inst.users, (_of_row(p, inst.servers) for p in places), strict=False))
        found["limit_on_prices"] = {user: row for user, row in rows.items() if row}
    if given.get("floor_prices") is not None:
        found["floor_prices"] = _of_row(given["floor_prices"], inst.users)
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


def _of_row(row: Floats, names: tuple[str, ...]) -> dict[str, float]:
    return {names[k]: float(row[k]) for k in np.flatnonzero(row)}


SCHEMA = "fairopt/allocation/v1"


def save(alloc: Amounts, path: str | os.PathLike[str]) -> None:
    """Write an answer to a file, completely or not at all; "-" is standard output."""
    storage.write_text(path, dumps(alloc))


def dumps(alloc: Amounts) -> str:
    """An answer as JSON text, one line for each key and each user, ending in a newline."""
    plain = to_dict(alloc)
    lines = []
    for key, value in plain.items():
        if key in ("instance", "tasks", "prices", "score") and isinstance(value, dict) and value:
            inner = ",\n".join(f"    {_json(k)}: {_json(v)}" for k, v in value.items())
            lines.append(f"  {_json(key)}: {{\n{inner}\n  }}")
        else:
            lines.append(f"  {_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


# -- to plain data ----------------------------------------------------------------------------


def to_dict(alloc: Amounts) -> dict[str, Any]:
    """The answer as plain data of the schema fairopt/allocation/v1."""
    inst = alloc.instance
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "instance": instance_plain(inst),
        "notion": _plain(alloc.notion),
        **proof(alloc),
    }
    for key in ("objective", "equivalent"):
        if getattr(alloc, key) is not None:
            found[key] = _plain(getattr(alloc, key))
    if alloc.certificate is not None:
        found["certificate"] = _plain(alloc.certificate.to_dict())
    if alloc.steps:
        found["steps"] = _plain(alloc.steps)
    return found


def proof(alloc: Amounts) -> dict[str, Any]:
    """Tasks, prices and scores as plain data: what a judge needs beside instance and notion."""
    inst = alloc.instance
    by_mode = alloc.way_tasks is not None
    rows = tasks_by_mode(alloc) if by_mode else _rows(alloc.tasks, inst.users, inst.servers)
    found: dict[str, Any] = {"tasks": rows, **priced_rules(inst, vars(alloc))}
    if alloc.level_prices is not None:
        found["level_prices"] = [_rows(p, inst.servers, inst.resources) for p in alloc.level_prices]
    if not _score_follows(alloc):
        found["score"] = _rows(alloc.score, inst.users, inst.servers)
    if alloc.rounds is not None:
        found["rounds"] = told_rounds(alloc)
    return found


def _score_follows(alloc: Amounts) -> bool:
    """Whether the scores follow from the notion's criterion and so need not be written."""
    name = parameters.criterion_of(alloc.notion)
    if name not in criteria.CRITERIA:
        return False
    return np.array_equal(alloc.score, criteria.score(alloc.instance, name))


def instance_plain(inst: Instance) -> dict[str, Any]:
    """The instance as plain data, without zeros, infinite limits and defaults."""
    inst.only_known("write")
    n, i, _ = inst.shape
    base = inst.demand if inst.demand.ndim == 2 else inst.demand[:, 0]
    plain: dict[str, Any] = {
        "users": list(inst.users),
        "servers": list(inst.servers),
        "resources": list(inst.resources),
        "demand": _rows(base, inst.users, inst.resources, every=True),
        "capacity": _rows(inst.capacity, inst.servers, inst.resources, every=True),
    }
    if inst.demand.ndim == 3:
        # kept even when empty: its presence says that demand depends on the server
        own = {
            inst.users[k]: {
                inst.servers[j]: _row(inst.demand[k, j], inst.resources)
                for j in range(i)
                if (inst.demand[k, j] != inst.demand[k, 0]).any()
            }
            for k in range(n)
        }
        plain["demand_on"] = {user: rows for user, rows in own.items() if rows}
    if (inst.count != 1).any():
        plain["count"] = {
            inst.servers[k]: int(inst.count[k]) for k in np.flatnonzero(inst.count != 1)
        }
    some = np.flatnonzero(~inst.placement.all(axis=1))
    if len(some):
        plain["placement"] = {
            inst.users[k]: [inst.servers[j] for j in np.flatnonzero(inst.placement[k])]
            for k in some
        }
    if (inst.weight != 1).any():
        plain["weight"] = {
            inst.users[k]: float(inst.weight[k]) for k in np.flatnonzero(inst.weight != 1)
        }
    limited = np.flatnonzero(np.isfinite(inst.limit))
    if len(limited):
        plain["limit"] = {inst.users[k]: float(inst.limit[k]) for k in limited}
    if inst.start is not None:
        plain["start"] = {inst.users[k]: float(inst.start[k]) for k in np.flatnonzero(inst.start)}
    if inst.limit_on is not None:
        most = np.where(np.isfinite(inst.limit_on), inst.limit_on, 0.0)
        plain["limit_on"] = _rows(most, inst.users, inst.servers)
    for key, usual in CURVES.items():
        bent = getattr(inst, key)
        rows = (
            [
                {inst.resources[r]: float(row[r]) for r in np.flatnonzero(row != usual)}
                for row in bent
            ]
            if not inst.linear
            else []
        )
        if any(rows):
            plain[key] = {name: row for name, row in zip(inst.users, rows, strict=True) if row}
    return {**plain, **instance_rules(inst)}


def _row(row: Floats, names: tuple[str, ...]) -> dict[str, float]:
    return {names[k]: float(row[k]) for k in np.flatnonzero(row)}


def _rows(
    array: Floats, outer: tuple[str, ...], inner: tuple[str, ...], every: bool = False
) -> dict[str, dict[str, float]]:
    """{row: {column: number}} without zeros, and without rows of zeros unless `every`."""
    rows = {name: _row(row, inner) for name, row in zip(outer, array, strict=True)}
    return rows if every else {name: row for name, row in rows.items() if row}


def _plain(value: Any) -> Any:
    """The value as plain JSON data: NumPy scalars and arrays, tuples, infinite numbers."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


__all__ = ["SCHEMA", "dumps", "instance_plain", "proof", "save", "to_dict"]
