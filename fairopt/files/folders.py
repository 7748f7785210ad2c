"""Large instances as a folder: model.toml, users.csv, servers.csv, placement.csv, demand.csv.

Groups, quotas and modes: `fairopt.files.promises`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.errors import BadInput
from fairopt.files import columns, own_rules, promises, quotas
from fairopt.files.cells import LARGEST_TABLE, amounts, cell, named, pairs, value
from fairopt.files.folder_writing import RESERVED, write_folder
from fairopt.files.quotas import read_modes
from fairopt.instance.fields import CURVES
from fairopt.instance.reading import AMOUNT, LIMIT, WHOLE, Faults, nearest


def read_folder(
    folder: Path, resources: Mapping[str, int], faults: Faults, flavors: Any = None
) -> dict[str, Any]:
    """The arrays and names of a folder of CSV files, as Instance takes them.

    Parameters
    ----------
    flavors : that table of model.toml; None if there is none.
    """
    for k, name in enumerate(resources):
        if name in RESERVED:
            faults.add(
                f"resources[{k}]", f"the name {name!r}", "a name that is no column of its own"
            )
    found = _quickly(folder, resources) if not faults and flavors is None else None
    if found is not None:
        return found
    return _carefully(folder, resources, faults, flavors)


def _quickly(folder: Path, resources: Mapping[str, int]) -> dict[str, Any] | None:
    """The same, column by column; None if anything is unusual."""
    numbers: dict[str, tuple[float, columns.Good]] = {
        name: (0.0, lambda x: (x >= 0) & (x < np.inf)) for name in resources
    }
    whole = (1.0, lambda x: (x >= 1) & (x < 2**53) & (x == np.floor(x)))
    weights, limits = (1.0, lambda x: (x > 0) & (x < np.inf)), (math.inf, lambda x: x > 0)
    known = (*_CURVED, "limit_on.csv", *promises.FILES, *own_rules.FILES)
    if any(storage.there(folder / name) for name in known):
        return None
    try:
        texts = {
            stem: storage.read_text(folder / f"{stem}.csv", LARGEST_TABLE, "a CSV file in UTF-8")
            for stem in ("servers", "users", "placement", "demand")
            if stem in ("servers", "users") or storage.there(folder / f"{stem}.csv")
        }
    except BadInput:
        return None
    rows = columns.table(texts["servers"], {"count": whole, **numbers}, "servers")
    kinds = {"weight": weights, "limit": limits, **numbers}
    people = columns.table(texts["users"], kinds, "users")
    if rows is None or people is None:
        return None
    servers = {name: k for k, name in enumerate(rows[0])}
    users = {name: k for k, name in enumerate(people[0])}
    placement = np.ones((len(users), len(servers)), dtype=bool)
    if "placement" in texts:
        allowed = columns.pairs(texts["placement"], users, servers, {})
        if allowed is None:
            return None
        placement[:] = False
        placement[allowed[:2]] = True
    demand = np.stack([people[1][name] for name in resources], axis=1)
    if "demand" in texts:
        own = columns.pairs(texts["demand"], users, servers, numbers)
        if own is None:
            return None
        demand = np.repeat(demand[:, None, :], len(servers), axis=1)
        demand[own[:2]] = np.stack([own[2][name] for name in resources], axis=1)
    return {
        "demand": demand,
        "capacity": np.stack([rows[1][name] for name in resources], axis=1),
        "placement": placement,
        "weight": people[1]["weight"],
        "limit": people[1]["limit"],
        "count": rows[1]["count"],
        "users": people[0],
        "servers": rows[0],
        "resources": list(resources),
    }


def _carefully(
    folder: Path, resources: Mapping[str, int], faults: Faults, flavors: Any
) -> dict[str, Any]:
    """The same, cell by cell, reporting every fault."""
    server_rows = named(folder, "servers", ("count",), resources, faults)
    extra = [name for name in promises.COLUMNS if name not in resources]
    user_rows = named(
        folder, "users", ("weight", "limit", *_start(resources), *extra), resources, faults
    )
    servers = {name: k for k, name in enumerate(server_rows)}
    users = {name: k for k, name in enumerate(user_rows)}
    size = len(users), len(servers), len(resources)
    capacity, count = np.zeros(size[1:]), np.ones(size[1])
    for i, (name, row) in enumerate(server_rows.items()):
        here = f"servers.{name}"
        amounts(capacity[i], row, resources, f"{here}.capacity", faults)
        count[i] = cell(row.get("count", ""), f"{here}.count", faults, WHOLE, 1.0)
    tables = promises.tables(folder, flavors, user_rows, resources, faults)
    promised, zero = quotas.read_groups(tables, resources, faults), quotas.said(tables)
    ways = {
        name: read_modes(given, f"users.{name}.modes", servers, resources, faults)
        for name, given in promises.modes(folder, users, resources, faults).items()
    }
    demand, weight, limit = np.zeros((size[0], size[2])), np.ones(size[0]), np.full(size[0], np.inf)
    for n, (name, row) in enumerate(user_rows.items()):
        here = f"users.{name}"
        amounts(demand[n], row, resources, f"{here}.demand", faults)
        given = value(row.get("weight", ""))
        heavy = {} if given is None else {"weight": given}
        weight[n] = quotas.weight_of(promised, heavy, name, zero)
        quotas.read_user(promised, tables["users"][name], name, resources)
        limit[n] = cell(row.get("limit", ""), f"{here}.limit", faults, LIMIT, math.inf)
    had = None
    if _start(resources) and any(row.get("start") for row in user_rows.values()):
        had = np.array(
            [
                cell(row.get("start", ""), f"users.{name}.start", faults, AMOUNT, 0.0)
                for name, row in user_rows.items()
            ]
        )
    placement = np.ones(size[:2], dtype=bool)
    if storage.there(folder / "placement.csv"):
        placement[:] = False
        for n, i, _, _ in pairs(folder, "placement", users, servers, {}, faults):
            placement[n, i] = True
    limit_on: Any = None
    if storage.there(folder / "limit_on.csv"):
        limit_on = np.full(size[:2], math.inf)
        for n, i, place, row in pairs(folder, "limit_on", users, servers, {"limit": 0}, faults):
            place = place.replace("demand_on", "limit_on")
            limit_on[n, i] = cell(row.get("limit", ""), place, faults, LIMIT, math.inf)
    everywhere: Any = demand
    if storage.there(folder / "demand.csv"):
        everywhere = np.repeat(demand[:, None, :], size[1], axis=1)
        for n, i, place, row in pairs(folder, "demand", users, servers, resources, faults):
            everywhere[n, i] = 0.0
            amounts(everywhere[n, i], row, resources, place, faults)
    curves = {}
    for key, plain in CURVES.items():
        if not storage.there(folder / f"{key}.csv"):
            continue
        curves[key] = np.full(demand.shape, plain)
        for name, row in named(folder, key, (), resources, faults).items():
            if name in users:
                amounts(
                    curves[key][users[name]], row, resources, f"users.{name}.{key}", faults, plain
                )
            else:
                faults.add(f"{key}.csv", f"the unknown user {name!r}", nearest(name, users))
    return {
        **curves,
        "demand": everywhere,
        "capacity": capacity,
        "placement": placement,
        "weight": weight,
        "limit": limit,
        "count": count,
        "users": list(users),
        "servers": list(servers),
        "resources": list(resources),
        "quotas": promised.made(),
        "modes": ways or None,
        "limit_on": limit_on,
        "start": had,
        "rules": own_rules.read_files(folder, faults),
    }


def _start(resources: Mapping[str, int]) -> tuple[str, ...]:
    """The column of shares already had, where no resource is called so."""
    return () if "start" in resources else ("start",)


_CURVED = tuple(f"{name}.csv" for name in CURVES)

__all__ = ["RESERVED", "read_folder", "write_folder"]
