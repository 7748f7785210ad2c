"""Groups, quotas and modes of a folder: groups.csv, quotas.csv, modes.csv, columns of users.csv.

They are read into the tables that a model file has, so that everything is checked in one place
(`fairopt.files.quotas`, `fairopt.files.quotas`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairopt import storage
from fairopt.files import cells, quotas
from fairopt.instance import Instance
from fairopt.instance.quotas.plain import tables_by_member
from fairopt.instance.reading import Faults, nearest

FILES = ("groups.csv", "quotas.csv", "modes.csv")
COLUMNS = ("group", "priority", "guarantee_tasks")
"""columns of users.csv, where no resource is called so"""
_QUOTA = ("member", "flavor", "resource")
_MODE = ("user", "mode", "speed", "servers")


def tables(
    folder: Path,
    flavors: Any,
    users: Mapping[str, Mapping[str, str]],
    resources: Mapping[str, int],
    faults: Faults,
) -> dict[str, Any]:
    """The tables `flavors`, `groups` and `users` (their keys for quotas) of a folder.

    Parameters
    ----------
    flavors : that table of model.toml; None if there is none. users : the rows of users.csv.
    """
    groups: dict[str, dict[str, Any]] = {}
    if storage.there(folder / "groups.csv"):
        lines = cells.named(folder, "groups", ("parent", "weight"), {}, faults)
        for name, line in lines.items():
            parent = {"parent": line["parent"]} if line.get("parent") else {}
            groups[name] = {**parent, **_given(line, "weight")}
    people: dict[str, dict[str, Any]] = {}
    for name, row in users.items():
        group = {"group": row["group"]} if row.get("group") and "group" not in resources else {}
        rank = {} if "priority" in resources else _given(row, "priority")
        if isinstance(rank.get("priority"), float) and rank["priority"].is_integer():
            rank["priority"] = int(rank["priority"])
        own = {} if "guarantee_tasks" in resources else _given(row, "guarantee_tasks")
        people[name] = {**group, **rank, **own}
    if storage.there(folder / "quotas.csv"):
        _put_amounts(folder, groups, people, resources, faults)
    found: dict[str, Any] = {"users": people}
    if groups:
        found["groups"] = groups
    return found if flavors is None else {**found, "flavors": flavors}


def _put_amounts(
    folder: Path,
    groups: dict[str, dict[str, Any]],
    people: dict[str, dict[str, Any]],
    resources: Mapping[str, int],
    faults: Faults,
) -> None:
    """The rows of quotas.csv, into the tables of their members."""
    seen = set()
    needed = ("member", "resource")
    for line, row in cells.rows(folder, "quotas", needed, (*_QUOTA, *quotas.AMOUNTS), faults):
        here = f"quotas.csv line {line}"
        member, resource, flavor = row["member"], row["resource"], row.get("flavor", "")
        own = groups.get(member, people.get(member))
        if own is None:
            found = f"the unknown group or user {member!r}"
            faults.add(here, found, nearest(member, [*groups, *people]))
        if resource not in resources:
            found = f"the unknown resource {resource!r}"
            faults.add(here, found, nearest(resource, resources))
        if (member, resource, flavor) in seen:
            faults.add(here, "a second row", "one for each member, flavor and resource")
        seen.add((member, resource, flavor))
        if own is None or resource not in resources:
            continue
        if flavor:
            own = own.setdefault("on", {}).setdefault(flavor, {})
        for kind in quotas.AMOUNTS:
            for value in _given(row, kind).values():
                own.setdefault(kind, {})[resource] = value


def modes(
    folder: Path, users: Mapping[str, int], resources: Mapping[str, int], faults: Faults
) -> dict[str, list[dict[str, Any]]]:
    """The rows of modes.csv as tables, by user."""
    found: dict[str, list[dict[str, Any]]] = {}
    if not storage.there(folder / "modes.csv"):
        return found
    for k, name in enumerate(resources):
        if name in _MODE:
            wanted = "a name that is no column of modes.csv"
            faults.add(f"resources[{k}]", f"the name {name!r}", wanted)
            return found
    for line, row in cells.rows(folder, "modes", ("user", "mode"), (*_MODE, *resources), faults):
        here = f"modes.csv line {line}"
        if row["user"] not in users:
            found_name = f"the unknown user {row['user']!r}"
            faults.add(here, found_name, nearest(row["user"], users))
            continue
        demand = {name: _given(row, name)[name] for name in resources if _given(row, name)}
        mode: dict[str, Any] = {"name": row["mode"], **_given(row, "speed")}
        if demand:
            mode["demand"] = demand
        if row.get("servers", "").strip():
            try:
                mode["servers"] = json.loads(row["servers"])
            except (ValueError, RecursionError):
                faults.add(f"{here} servers", repr(row["servers"]), 'a list such as ["s1", "s2"]')
        found.setdefault(row["user"], []).append(mode)
    return found


def _given(row: Mapping[str, str], column: str) -> dict[str, Any]:
    """{column: the number in its cell, or the text if it is none}; {} for an empty cell."""
    value = cells.value(row.get(column, ""))
    return {} if value is None else {column: value}


# -- writing ----------------------------------------------------------------------------------


def user_cells(inst: Instance) -> Iterator[list[Any]]:
    """The cells of COLUMNS, for the head and each user."""
    assert inst.quotas is not None
    yield list(COLUMNS)
    for user in inst.users:
        # a weight of 0 is taken only where something is said of quotas
        rank = {"priority": 0} if user in inst.quotas.last else {}
        yield [getattr(inst.quotas, key).get(user, rank.get(key, "")) for key in COLUMNS]


def contents(inst: Instance) -> Iterator[tuple[str, Iterator[list[Any]]]]:
    """Name and rows of each of FILES that is needed."""
    if inst.quotas is not None and inst.quotas.groups:
        yield "groups.csv", _group_rows(inst)
    if inst.quotas is not None:
        members = tables_by_member(inst.quotas)
        if members:
            yield "quotas.csv", _quota_rows(members)
    if inst.modes:
        yield "modes.csv", _mode_rows(inst)


def _group_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["name", "parent", "weight"]
    assert inst.quotas is not None
    for group in inst.quotas.groups:
        weight = 0.0 if group.name in inst.quotas.last else group.weight
        yield [group.name, group.parent or "", repr(weight)]


def _quota_rows(members: Mapping[str, Mapping[str, Any]]) -> Iterator[list[Any]]:
    yield [*_QUOTA, *quotas.AMOUNTS]
    for member, own in members.items():
        for flavor, part in [("", own), *own.get("on", {}).items()]:
            kinds = {kind: part.get(kind, {}) for kind in quotas.AMOUNTS}
            for resource in dict.fromkeys(name for rows in kinds.values() for name in rows):
                amounts = [rows.get(resource, "") for rows in kinds.values()]
                yield [member, flavor, resource, *map(_cell, amounts)]


def _mode_rows(inst: Instance) -> Iterator[list[Any]]:
    yield [*_MODE, *inst.resources]
    for user, own in (inst.modes or {}).items():
        for mode in own:
            where = "" if mode.servers is None else json.dumps(mode.servers, ensure_ascii=False)
            demand = mode.demand or [""] * len(inst.resources)
            yield [user, mode.name, repr(mode.speed), where, *map(_cell, demand)]


def _cell(amount: Any) -> str:
    return "" if amount == "" else repr(float(amount))
