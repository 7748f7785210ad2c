"""Changes of a cluster as they are typed: weight.vision=2, three more machines, a user less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.files.tables import arrays_of, tables_of
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance
from fairopt.instance.labels import nearest
from fairopt.instance.reading import Faults, build
from fairopt.instance.rules.records import SENSES

SLACK = 1e-12
"""part of its share by which a user may miss what is due, as both numbers are rounded"""


def fewest(system: Lowered, held: Floats, due: Floats) -> tuple[float, Floats] | None:
    """(tasks moved, tasks (P,) of each column afterwards); None if what is due does not fit.

    Parameters
    ----------
    held : (P,) tasks of each column today. due : (N,) shares.
    """
    from scipy.sparse import hstack

    columns = system.columns
    rules, flows = system.matrix[:, :columns], system.matrix[:, columns:]
    # columns for more tasks than today, then for fewer of them
    moved = replace(
        system,
        owner=np.tile(system.owner, 2),
        server=np.tile(system.server, 2),
        way=np.tile(system.way, 2),
        score=np.concatenate([system.score, -system.score]),
        matrix=hstack([rules, -rules, flows], format="csr"),
        rhs=system.rhs - rules @ held,
    )
    asked = np.where(due > 0, due * (1 - SLACK) - system.of_user() @ held, -np.inf)
    found = LinearProgram(moved).most(
        np.full(2 * columns, -0.5),
        asked,
        within=np.concatenate([np.full(columns, np.inf), held]),
        unit=np.where(due > 0, due, 1.0),
    )
    if found is None:
        return None
    change = found.x[:columns] - found.x[columns:]
    return float(np.abs(change).sum() / 2), np.maximum(held + change, 0.0)


NUMBERS = {
    "weight": ("users", "groups"),
    "limit": ("users",),
    "priority": ("users",),
    "guarantee_tasks": ("users",),
    "count": ("servers",),
}
"""fields with one number, and the tables whose rows have them"""
AMOUNTS = {
    "demand": ("users",),
    "capacity": ("servers",),
    **dict.fromkeys(("guarantee", "nominal", "borrow", "lend", "most"), ("groups", "users")),
}
"""fields with an amount for each resource"""
WANTED = "FIELD.NAME=NUMBER or FIELD.NAME.RESOURCE=NUMBER, such as weight.vision=2"


def changed(
    instance: Instance,
    settings: Iterable[str] = (),
    servers: Iterable[str] = (),
    dropped: Iterable[str] = (),
    users: Mapping[str, Mapping[str, Any]] | None = None,
) -> Instance:
    """The instance with changes made, checked as a new one.

    Parameters
    ----------
    settings : "weight.vision=2", "limit.vision=8", "capacity.node.gpu=16", "nominal.team.gpu=4",
        and on one flavor "nominal.team.a100.gpu=4"; the amount of a rule, "rule.carbon=25".
    servers : "a100-node=3": that many more machines like those of the row.
    dropped : names of users, servers or groups that go (a group with everybody in it).
    users : rows of new users, as in a model file.

    Raises
    ------
    BadInput : with every fault of the changes, and of the instance they make.
    """
    faults = Faults("changes")
    data = {"resources": list(instance.resources), **tables_of(instance)}
    settings, servers, dropped = list(settings), list(servers), list(dropped)
    _twice([text.partition("=")[0].strip() for text in settings], faults)
    _twice([text.rpartition("=")[0] for text in servers], faults)
    _twice([f"drop {name}" for name in dropped], faults)
    # what is dropped is gone, so that nothing can be set of it, and no row of it be added
    before = _names(data)
    for name in dropped:
        _drop(data, name, faults)
    gone = before - _names(data)
    for text in settings:
        _set(data, text, gone, faults)
    for text in servers:
        _add(data, text, gone, faults)
    for name, row in (users or {}).items():
        if name in _names(data):
            faults.add(f"add {name}", "a name that there is", "a new name")
        data["users"][name] = dict(row)
    faults.stop()
    return build(faults, **arrays_of(data, faults))


def typed(change: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The `change` of a model's case, {set, add_server, drop}, as settings, servers, dropped."""
    return (
        tuple([f"{key}={value}" for key, value in change.get("set", {}).items()]),
        tuple([f"{name}={count}" for name, count in change.get("add_server", {}).items()]),
        tuple(change.get("drop", ())),
    )


def _twice(places: list[str], faults: Faults) -> None:
    """Refuse the same change a second time: only one of the two could be made."""
    for place in dict.fromkeys(places):
        if places.count(place) > 1:
            faults.add(place, "this change a second time", "every change once")


def _names(data: Mapping[str, Any]) -> set[str]:
    """The names of users, servers and groups."""
    return {name for table in ("users", "servers", "groups") for name in data.get(table, {})}


def _set(data: dict[str, Any], text: str, gone: set[str], faults: Faults) -> None:
    key, equals, given = text.partition("=")
    field, _, rest = key.strip().partition(".")
    if field == "rule" and equals:
        _set_rule(data, rest, given, text, faults)
        return
    tables = {**NUMBERS, **AMOUNTS}.get(field)
    if not equals or not rest or tables is None:
        known = nearest(field, [*NUMBERS, *AMOUNTS])
        faults.add(text, "no change", WANTED if tables or not field else f"{WANTED}; {known}")
        return
    value = _number(given)
    if value is None:
        faults.add(text, f"the text {given!r}", "a number")
        return
    for name, row in sorted(
        ((n, r) for t in tables for n, r in data.get(t, {}).items()), key=lambda e: -len(e[0])
    ):
        if field in NUMBERS and rest == name:
            row[field] = value
            return
        if field in AMOUNTS and rest.startswith(f"{name}."):
            last = rest[len(name) + 1 :]
            if last in data["resources"]:
                row[field] = {**row.get(field, {}), last: value}
                return
            flavor, _, resource = last.rpartition(".")
            if flavor in data.get("flavors", {}) and resource in data["resources"]:
                on = row.setdefault("on", {}).setdefault(flavor, {})
                on[field] = {**on.get(field, {}), resource: value}
                return
            faults.add(text, f"the unknown resource {last!r}", nearest(last, data["resources"]))
            return
    for name in gone:
        if rest == name or rest.startswith(f"{name}."):
            faults.add(text, f"{name!r}, which is dropped", "a name that stays, or no drop")
            return
    names = [name for t in tables for name in data.get(t, {})]
    faults.add(text, f"the unknown name {rest!r}", nearest(rest.partition(".")[0], names))


def _set_rule(data: dict[str, Any], name: str, given: str, text: str, faults: Faults) -> None:
    """Set the amount of a rule of one's own."""
    value = _number(given)
    if name not in data.get("rules", {}):
        wanted = nearest(name, data.get("rules", {}))
        faults.add(text, f"the unknown rule {name!r}", wanted)
    elif value is None:
        faults.add(text, f"the text {given!r}", "a number")
    else:
        row = data["rules"][name]
        row.update({sense: value for sense in SENSES if sense in row})


def _add(data: dict[str, Any], text: str, gone: set[str], faults: Faults) -> None:
    name, _, given = text.rpartition("=")
    more = _number(given)
    if not name or more is None or more < 1 or more != int(more):
        faults.add(text, "no number of machines", "SERVER=MACHINES, such as a100-node=3")
    elif name in gone:
        faults.add(text, f"{name!r}, which is dropped", "a name that stays, or no drop")
    elif name not in data["servers"]:
        faults.add(text, f"the unknown server {name!r}", nearest(name, data["servers"]))
    else:
        row = data["servers"][name]
        row["count"] = row.get("count", 1) + int(more)


def _drop(data: dict[str, Any], name: str, faults: Faults) -> None:
    tables = [t for t in ("users", "servers", "groups") if name in data.get(t, {})]
    if not tables:
        names = [*data["users"], *data["servers"], *data.get("groups", {})]
        faults.add(f"drop {name}", "an unknown name", nearest(name, names))
        return
    if len(tables) > 1:
        faults.add(f"drop {name}", f"one of {' and of '.join(tables)}", "a name of one of them")
        return
    if tables == ["groups"]:
        gone = _inside(data["groups"], name)
        for each in [*gone, *(k for k, row in data["users"].items() if row.get("group") in gone)]:
            _drop_from_rules(data, each)
        data["groups"] = {k: v for k, v in data["groups"].items() if k not in gone}
        data["users"] = {k: row for k, row in data["users"].items() if row.get("group") not in gone}
        return
    _drop_from_rules(data, name)
    del data[tables[0]][name]
    if tables == ["servers"]:
        for row in data["users"].values():
            _without(row, name)
            for mode in row.get("modes", ()):
                _without(mode, name)
        for flavor in data.get("flavors", {}).values():
            _without(flavor, name)


def _drop_from_rules(data: dict[str, Any], name: str) -> None:
    """Take a user, server or group out of the terms of rules; terms of nobody else go, and rules
    without terms."""
    for rule in list(data.get("rules", {})):
        kept = []
        for term in data["rules"][rule]["terms"]:
            own = {
                k: [n for n in v if n != name] if k in ("users", "servers") else v
                for k, v in term.items()
            }
            if all(own.get(k) != [] for k in ("users", "servers")):
                kept.append(own)
        data["rules"][rule]["terms"] = kept
        if not kept:
            del data["rules"][rule]


def _without(row: dict[str, Any], server: str) -> None:
    """Take a server out of a row's list and own demands."""
    if "servers" in row:
        row["servers"] = [name for name in row["servers"] if name != server]
    row.get("demand_on", {}).pop(server, None)


def _inside(groups: Mapping[str, Mapping[str, Any]], name: str) -> set[str]:
    """A group and all groups inside it."""
    found = {name}
    while more := {k for k, row in groups.items() if row.get("parent") in found} - found:
        found |= more
    return found


def _number(text: str) -> float | int | None:
    """The number a text says, whole ones as such; None if it says none."""
    for kind in (int, float):
        try:
            return kind(text) if "_" not in text else None
        except ValueError:
            continue
    return None
