"""Conversion between the tables [servers] and [users] of a model file and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.files import own_rules, quotas, whole
from fairopt.instance import Instance
from fairopt.instance.fields import CURVES
from fairopt.instance.quotas import plain
from fairopt.instance.quotas.records import Mode
from fairopt.instance.reading import (
    LIMIT,
    WHOLE,
    Faults,
    by_name,
    known_keys,
    names,
    nearest,
    number,
    table,
)
from fairopt.instance.rules.records import rule_tables

_USER = (
    "demand",
    "weight",
    "limit",
    "servers",
    "demand_on",
    *CURVES,
    "modes",
    "limit_on",
    "start",
    *quotas.USER_KEYS,
    *whole.KEYS,
)
_SERVER = ("capacity", "count")


def arrays_of(data: Mapping[str, Any], faults: Faults, by_server: bool = False) -> dict[str, Any]:
    """The arguments of Instance from the keys resources, servers and users of a model file.

    Parameters
    ----------
    data : the file's tables.
    faults : the collection to report in.
    by_server : give demand the shape (N, I, R) even if no user has a `demand_on`.
    """
    for key in ("resources", "servers", "users"):
        if key not in data:
            faults.add(key, "none", "at least one")
    resources = names(data["resources"], "resources", faults) if "resources" in data else {}
    rows = table(data.get("servers", {}), "servers", faults)
    people = table(data.get("users", {}), "users", faults)
    for key, given in (("servers", rows), ("users", people)):
        if key in data and not given and not faults.under(key):
            faults.add(key, "none", "at least one")
    servers = {key: k for k, key in enumerate(rows)}
    capacity = np.zeros((len(servers), len(resources)))
    count = np.ones(len(servers))
    for i, (key, row) in enumerate(rows.items()):
        here = f"servers.{key}"
        row = table(row, here, faults)
        known_keys(row, _SERVER, here, faults)
        if "capacity" in row:
            _fill(capacity[i], row["capacity"], resources, f"{here}.capacity", faults)
        else:
            faults.add(f"{here}.capacity", "nothing", "a table of amounts by resource")
        count[i] = number(row.get("count", 1), f"{here}.count", faults, WHOLE)
    promised = quotas.read_groups(data, resources, faults)
    zero = quotas.said(data)
    return {
        **_users(people, servers, resources, promised, zero, by_server),
        "rules": own_rules.read_rules(data.get("rules", {}), faults),
        "capacity": capacity,
        "count": count,
        "users": list(people),
        "servers": list(servers),
        "resources": list(resources),
    }


def _users(
    people: Mapping[str, Any],
    servers: Mapping[str, int],
    resources: Mapping[str, int],
    promised: quotas.Gathered,
    zero: bool,
    by_server_anyway: bool,
) -> dict[str, Any]:
    """The arrays demand, placement, weight and limit of the [users] tables, quotas and quotas.

    What users are promised is added to `promised`, which reports the faults; `zero`: whether a
    weight may be 0.
    """
    faults = promised.faults
    ways: dict[str, list[Mode]] = {}
    size = len(people), len(servers), len(resources)
    demand = np.zeros((size[0], size[2]))
    by_server: np.ndarray[Any, np.dtype[np.float64]] | None = None
    placement = np.ones(size[:2], dtype=bool)
    weight, limit = np.ones(size[0]), np.full(size[0], np.inf)
    limit_on = np.full(size[:2], np.inf) if _any_has(people, "limit_on") else None
    start = np.zeros(size[0]) if _any_has(people, "start") else None
    curves = {name: np.full(demand.shape, usual) for name, usual in CURVES.items()}
    if by_server_anyway or _any_has(people, "demand_on"):
        by_server = np.zeros(size)
    for n, (key, row) in enumerate(people.items()):
        # nothing is raised here: a reader is told the faults of all users at once
        here = f"users.{key}"
        row = table(row, here, faults)
        known_keys(row, _USER, here, faults)
        weight[n] = quotas.weight_of(promised, row, key, zero)
        quotas.read_user(promised, row, key, resources)
        if "modes" in row:
            place = f"{here}.modes"
            ways[key] = quotas.read_modes(row["modes"], place, servers, resources, faults)
        limit[n] = number(row.get("limit", np.inf), f"{here}.limit", faults, LIMIT)
        if start is not None:
            start[n] = number(row.get("start", 0.0), f"{here}.start", faults)
        if limit_on is not None:
            most, place = row.get("limit_on", {}), f"{here}.limit_on"
            for name, amount in by_name(most, servers, "server", place, faults, LIMIT).items():
                limit_on[n, servers[name]] = amount
        if "servers" in row:
            placement[n] = False
            for name in quotas.allowed(row["servers"], servers, f"{here}.servers", faults):
                placement[n, servers[name]] = True
        for name, values in curves.items():
            _fill(values[n], row.get(name, {}), resources, f"{here}.{name}", faults)
        own = table(row.get("demand_on", {}), f"{here}.demand_on", faults)
        if "demand" in row:
            _fill(demand[n], row["demand"], resources, f"{here}.demand", faults)
        elif key not in ways and (
            not own or any(name not in own for name, i in servers.items() if placement[n, i])
        ):
            faults.add(f"{here}.demand", "nothing", "a table of amounts by resource")
        if by_server is not None:
            by_server[n] = demand[n]
        for server, amounts in own.items():
            place = f"{here}.demand_on.{server}"
            if server not in servers:
                faults.add(place, "an unknown server", nearest(server, servers))
                continue
            assert by_server is not None
            by_server[n, servers[server]] = 0.0
            _fill(by_server[n, servers[server]], amounts, resources, place, faults)
    return {
        "demand": demand if by_server is None else by_server,
        "placement": placement,
        "weight": weight,
        "limit": limit,
        **{name: values for name, values in curves.items() if (values != CURVES[name]).any()},
        "quotas": promised.made(),
        "modes": ways or None,
        "limit_on": limit_on,
        "start": start,
    }


def _any_has(people: Mapping[str, Any], key: str) -> bool:
    return any(isinstance(row, Mapping) and key in row for row in people.values())


def _fill(into: Any, given: Any, resources: Mapping[str, int], place: str, faults: Faults) -> None:
    for name, amount in by_name(given, resources, "resource", place, faults).items():
        into[resources[name]] = amount


def tables_of(inst: Instance) -> dict[str, Any]:
    """The tables of an instance, without numbers that are 0 or the default."""
    inst.only_known("write")
    servers: dict[str, Any] = {}
    for i, name in enumerate(inst.servers):
        count = {"count": int(inst.count[i])} if inst.count[i] != 1 else {}
        servers[name] = {**count, "capacity": _amounts(inst.capacity[i], inst.resources)}
    users: dict[str, Any] = {}
    promised = plain.user_tables(inst.quotas, inst.users)
    for n, name in enumerate(inst.users):
        row: dict[str, Any] = {}
        if inst.weight[n] != 1:
            row["weight"] = float(inst.weight[n])
        if np.isfinite(inst.limit[n]):
            row["limit"] = float(inst.limit[n])
        if inst.start is not None and inst.start[n]:
            row["start"] = float(inst.start[n])
        if inst.limit_on is not None and np.isfinite(inst.limit_on[n]).any():
            row["limit_on"] = _amounts(inst.limit_on[n], inst.servers, np.inf)
        if not inst.placement[n].all():
            row["servers"] = [
                s for s, on in zip(inst.servers, inst.placement[n], strict=True) if on
            ]
        row.update(promised.get(name, {}))
        ways = inst.modes.get(name, ()) if inst.modes else ()
        base = inst.demand[n] if inst.demand.ndim == 2 else inst.demand[n, 0]
        # where every mode has its own demand, the user's is that of the first mode and need not be
        # written; that of the first user tells that demand depends on the server
        own_demand = not ways or any(mode.demand is None for mode in ways)
        if own_demand or (n == 0 and inst.demand.ndim == 3):
            row["demand"] = _amounts(base, inst.resources)
        own = {s: _amounts(inst.demand[n, i], inst.resources) for i, s in _own_demand(inst, n)}
        for key, usual in CURVES.items():
            curve = getattr(inst, key)[n]
            if (curve != usual).any():
                row[key] = _amounts(curve, inst.resources, usual)
        users[name] = {**row, **({"demand_on": own} if own else {})}
        if ways:
            users[name]["modes"] = [plain.mode_table(mode, inst.resources) for mode in ways]
    own = rule_tables(inst.rules)
    rules = {"rules": own} if own else {}
    return {"servers": servers, **plain.group_tables(inst.quotas), "users": users, **rules}


def _amounts(row: Any, names: tuple[str, ...], plain: float = 0.0) -> dict[str, float]:
    """{name: amount}, those at `plain` left out."""
    return {name: float(x) for name, x in zip(names, row, strict=True) if x != plain}


def _own_demand(inst: Instance, n: int) -> list[tuple[int, str]]:
    """Servers where user n's demand differs from that on the first server; at least one for user 0.

    Without that one, demand by server that is the same everywhere would be read back with shape
    (N, R).
    """
    if inst.demand.ndim == 2:
        return []
    differs = (inst.demand[n] != inst.demand[n, 0]).any(axis=1)
    differs[0] |= n == 0
    return [(i, s) for i, s in enumerate(inst.servers) if differs[i]]
