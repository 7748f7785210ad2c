"""What an answer file says of modes, ceilings, quotas, floors and rounds, as arrays.

The names of groups and ceilings are those of the instance, so this is read after it was built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation.fields import ROUND
from fairopt.instance import Floats, Instance
from fairopt.instance.reading import (
    FINITE,
    Faults,
    by_name,
    known_keys,
    listed,
    nearest,
    number,
    shown,
    table,
    tables_by_name,
)

KEYS = ("bound_prices", "node_prices", "floor_prices", "rule_prices", "limit_on_prices", "rounds")
_PRICES = ("prices", "limit_prices", *KEYS[:5])


def read_rules(inst: Instance, data: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The arguments of Allocation for instances with quotas or modes, those that are there."""
    found: dict[str, Any] = dict(_priced(inst, {k: data.get(k) for k in KEYS[:5]}, "", faults))
    if data.get("rounds") is not None:
        rows = listed(data["rounds"], "rounds", faults)
        found["rounds"] = [_round(inst, row, f"rounds[{k}]", faults) for k, row in enumerate(rows)]
    if inst.modes:
        found["tasks"], found["way_tasks"] = None, _way_tasks(inst, data.get("tasks"), faults)
    return found


def _way_tasks(inst: Instance, given: Any, faults: Faults) -> Floats:
    """(K, I) tasks of each way: {user: {server: {mode: x}}}, of a user without modes no mode."""
    ways = inst.ways
    found = np.zeros((len(ways), len(inst.servers)))
    servers = {name: i for i, name in enumerate(inst.servers)}
    first = np.searchsorted(ways.owner, np.arange(len(inst.users))).tolist()
    at = dict(zip(inst.users, first, strict=True))
    for user, rows in table(given, "tasks", faults).items():
        here = f"tasks.{user}"
        if user not in at:
            continue  # told with the users that are known
        if inst.modes and user in inst.modes:
            own = {mode.name: at[user] + k for k, mode in enumerate(inst.modes[user])}
            kinds = ("server", servers), ("mode", own)
            cells = tables_by_name(rows, *kinds, here, faults, FINITE)
            for server, row in cells.items():
                for mode, x in row.items():
                    found[own[mode], servers[server]] = x
        else:
            for server, x in by_name(rows, servers, "server", here, faults, FINITE).items():
                found[at[user], servers[server]] = x
    return found


def _round(inst: Instance, given: Any, place: str, faults: Faults) -> dict[str, Any]:
    """A round with arrays in place of names; the numbers are checked by the allocation."""
    row = table(given, place, faults)
    known_keys(row, ROUND, place, faults)
    prices = table(row.get("prices", {}), f"{place}.prices", faults)
    known_keys(prices, _PRICES, f"{place}.prices", faults)
    arrays = _priced(inst, prices, f"{place}.prices.", faults)
    return {**{key: row[key] for key in row if key in ROUND}, "prices": arrays}


def _priced(
    inst: Instance, given: Mapping[str, Any], place: str, faults: Faults
) -> dict[str, Floats]:
    """Arrays of the prices that are there, by their name."""
    n, i, r = ({name: k for k, name in enumerate(names)} for names in inst.names.values())
    found: dict[str, Floats] = {}
    for key, value in given.items():
        # files may leave out prices of 0, so every array begins with zeros
        here = f"{place}{key}"
        if value is None or key not in _PRICES:
            continue
        if key == "prices":
            rows = tables_by_name(value, ("server", i), ("resource", r), here, faults)
            array = np.zeros((len(i), len(r)))
            for server, row in rows.items():
                for resource, price in row.items():
                    array[i[server], r[resource]] = price
            found[key] = array
        elif key == "limit_on_prices":
            rows = tables_by_name(value, ("user", n), ("server", i), here, faults)
            array = np.zeros((len(n), len(i)) if inst.limit_on is not None else (0, 0))
            for user, row in rows.items():
                for server, price in row.items():
                    if not array.size:
                        faults.add(f"{here}.{user}.{server}", f"{price:g}", "none: no limit_on")
                        continue
                    array[n[user], i[server]] = price
            found[key] = array
        elif key == "bound_prices":
            found[key] = _bounds(inst, value, here, faults)
        elif key == "node_prices":
            found[key] = _nodes(inst, value, here, faults)
        elif key == "rule_prices":
            own = {row.name: j for j, row in enumerate(inst.own_rows)}
            prices = by_name(value, own, "rule", here, faults, FINITE)
            found[key] = np.array([prices.get(name, 0.0) for name in own])
        else:
            prices = by_name(value, n, "user", here, faults)
            found[key] = np.array([prices.get(user, 0.0) for user in n])
    return found


def _bounds(inst: Instance, given: Any, place: str, faults: Faults) -> Floats:
    """(B,) from rows {member, resource, flavor, price}."""
    bounds = inst.quotas.bounds if inst.quotas is not None else ()
    at: dict[Any, int] = {(b.member, b.resource, b.flavor): k for k, b in enumerate(bounds)}
    found = np.zeros(len(at))
    seen: set[Any] = set()
    for k, row in enumerate(listed(given, place, faults)):
        here = f"{place}[{k}]"
        row = table(row, here, faults)
        known_keys(row, ("member", "resource", "flavor", "price"), here, faults)
        key = row.get("member"), row.get("resource"), row.get("flavor")
        price = number(row.get("price"), f"{here}.price", faults)
        if not _known(key, at) or key in seen:
            faults.add(here, _told(key, seen), "a ceiling of the instance, each once")
            continue
        seen.add(key)
        found[at[key]] = price
    return found


def _nodes(inst: Instance, given: Any, place: str, faults: Faults) -> Floats:
    """(Q, M) from rows {resource, flavor, prices: {node: price}}."""
    quotas = inst.tree.quotas
    at: dict[Any, int] = {(inst.resources[q.resource], q.flavor): k for k, q in enumerate(quotas)}
    nodes = {name: k for k, name in enumerate(inst.tree.nodes)}
    found = np.zeros((len(at), len(nodes)))
    seen: set[Any] = set()
    for k, row in enumerate(listed(given, place, faults)):
        here = f"{place}[{k}]"
        row = table(row, here, faults)
        known_keys(row, ("resource", "flavor", "prices"), here, faults)
        key = row.get("resource"), row.get("flavor")
        prices = table(row.get("prices", {}), f"{here}.prices", faults)
        if not _known(key, at) or key in seen:
            faults.add(here, _told(key, seen), "a quota of the instance, each once")
            continue
        seen.add(key)
        for name, price in prices.items():
            if name not in nodes:
                wanted = nearest(name, list(nodes)[1:])
                faults.add(f"{here}.prices.{name}", "an unknown group or user", wanted)
            else:
                found[at[key], nodes[name]] = number(price, f"{here}.prices.{name}", faults)
    return found


def _known(key: tuple[Any, ...], at: Mapping[Any, int]) -> bool:
    return all(part is None or isinstance(part, str) for part in key) and key in at


def _told(key: tuple[Any, ...], seen: set[Any]) -> str:
    words = ", ".join("no name" if part is None else shown(part) for part in key)
    return f"{words} a second time" if _known(key, dict.fromkeys(seen, 0)) else words
