"""What users hold today, from a CSV or JSON table, or from an answer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.allocation.writing import SCHEMA
from fairopt.files import cells
from fairopt.instance import Floats, Instance, sealed
from fairopt.instance.reading import AMOUNT, Faults, known_keys, nearest, number, shown, table

LARGEST_HELD = 256 * storage.MEBIBYTE
"""most bytes of a table of what is held"""
WANTED = "a table of user, server, tasks in CSV or JSON, or an answer of fairopt"
_COLUMNS = ("user", "server", "mode", "tasks")
_NAMES = ("user", "server")
"""columns that `plan` calls team and node"""
Row = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class HeldTasks:
    """What is held: `way_tasks` (K, I) running tasks by way (user and mode) and server, and
    `pending` (N,), tasks that wait and run nowhere; None if the table does not say what waits."""

    way_tasks: Floats
    pending: Floats | None


def read_held(path: str | os.PathLike[str], instance: Instance) -> HeldTasks:
    """Read what the users of an instance hold.

    Parameters
    ----------
    path : a CSV file with the columns user, server, tasks (and mode, of a user that has modes), or
        team, node, tasks; a JSON list of such rows, or {user: {server: tasks}}, or {"held":
        either}; an answer of fairopt; "-" for standard input. A row without a server counts tasks
        that wait: with such rows nobody is thought to want more than it holds and waits for.

    Raises
    ------
    BadInput : with every fault of the table, each with its place.
    """
    content = storage.read_text(path, LARGEST_HELD, WANTED)
    faults = Faults(storage.source_name(path))
    rows = _json(content, faults) if content.lstrip()[:1] in ("[", "{") else _csv(content, faults)
    return _filled(rows, instance, faults)


def held_of(given: Any, instance: Instance, place: str = "held") -> HeldTasks:
    """The same from plain data: {user: {server: tasks}} or a list of rows.

    Raises
    ------
    BadInput : with every fault.
    """
    faults = Faults(place)
    return _filled(_rows(given, place, faults), instance, faults)


def _csv(content: str, faults: Faults) -> Iterator[Row]:
    text = cells.CsvText(content, "", faults)
    text.header = header = cells.renamed(text.header, _NAMES)
    for name in ("user", "tasks"):
        if name not in header:
            faults.add("line 1", f"no column {name}", "the columns user, server, tasks")
    for name in header:
        if name not in _COLUMNS or header.count(name) > 1:
            wanted = nearest(name, _COLUMNS) if name not in _COLUMNS else "every column once"
            faults.add("line 1", f"the column {name!r}", wanted)
    if faults:
        return
    for line, row in text.rows():
        place = f"line {line}"
        yield place, {**row, "tasks": _number(row["tasks"], f"{place}, tasks", faults)}


def _number(cell: str, place: str, faults: Faults) -> float:
    found = cells.value(cell)
    if isinstance(found, float):
        return found
    faults.add(place, f"the text {cell[:40]!r}", AMOUNT)
    return 0.0


def _json(content: str, faults: Faults) -> Iterator[Row]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "nested too deeply"
        faults.add("file", f"text that is not JSON ({why})", WANTED)
        return iter(())
    return _rows(data, "", faults)


def _rows(data: Any, place: str, faults: Faults) -> Iterator[Row]:
    """The rows of plain data, each with its place."""
    if isinstance(data, Mapping) and data.get("schema") == SCHEMA:
        data = data.get("tasks", {})
    elif isinstance(data, Mapping) and set(data) == {"held"}:
        data = data["held"]
    if isinstance(data, list | tuple):
        for k, row in enumerate(data):
            here = f"{place}[{k}]"
            row = table(row, here, faults)
            row = dict(zip(cells.renamed(list(row), _NAMES), row.values(), strict=True))
            known_keys(row, _COLUMNS, here, faults)
            for key in ("user", "tasks"):
                if key not in row:
                    faults.add(here, f"no {key}", "user, server, tasks")
            yield here, row
        return
    for user, by_server in table(data, place or "file", faults).items():
        for server, given in table(by_server, f"{place}.{user}".strip("."), faults).items():
            here = f"{place}.{user}.{server}".strip(".")
            if isinstance(given, Mapping):
                for mode, tasks in given.items():
                    yield (
                        f"{here}.{mode}",
                        {"user": user, "server": server, "mode": mode, "tasks": tasks},
                    )
            else:
                yield here, {"user": user, "server": server, "tasks": given}


def _filled(rows: Iterator[Row], instance: Instance, faults: Faults) -> HeldTasks:
    """The rows as arrays; every name known, every (user, server, mode) once."""
    ways = instance.ways
    users = {name: n for n, name in enumerate(instance.users)}
    servers = {name: i for i, name in enumerate(instance.servers)}
    way = {(instance.users[n], ways.name[k]): k for k, n in enumerate(ways.owner.tolist())}
    found = np.zeros((len(ways), len(servers)))
    pending: Floats | None = None
    seen: set[tuple[str, str, str]] = set()
    for place, row in rows:
        user, server, mode = (_name(row, key, place, faults) for key in _COLUMNS[:3])
        tasks = number(row.get("tasks", 0.0), f"{place}.tasks", faults, AMOUNT)
        if user not in users:
            faults.add(place, f"the unknown user {user[:40]!r}", nearest(user, users))
            continue
        if (user, server, mode) in seen:
            what = f"{user} on {server}" if server else f"tasks of {user} that wait"
            faults.add(place, f"{what} a second time", "one row each")
        seen.add((user, server, mode))
        if not server:
            pending = np.zeros(len(users)) if pending is None else pending
            pending[users[user]] += tasks
        elif server not in servers:
            faults.add(place, f"the unknown server {server[:40]!r}", nearest(server, servers))
        elif (user, mode) not in way:
            own = [name for person, name in way if person == user and name]
            wanted = f"the mode, one of {', '.join(own)}" if own else "no mode"
            faults.add(place, f"the mode {mode[:40]!r}" if mode else "no mode", wanted)
        else:
            found[way[user, mode], servers[server]] = tasks
    faults.stop()
    return HeldTasks(sealed(found), pending)


def _name(row: Mapping[str, Any], key: str, place: str, faults: Faults) -> str:
    value = row.get(key, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        faults.add(f"{place}.{key}", shown(value), "a name")
        return ""
    return value
