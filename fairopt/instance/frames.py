"""An instance from two tables, as spreadsheets and the CSV folder hold them."""

from __future__ import annotations

import math
from typing import Any

from fairopt.errors import BadInput, Fault
from fairopt.instance.labels import nearest

NAME, PAIR = "name", ("user", "server")
USER = {"weight": 1.0, "limit": math.inf}
SERVER = {"count": 1.0}
"""columns that are no resource, with what an empty cell means"""


def arguments(users: Any, servers: Any, placement: Any = None) -> dict[str, Any]:
    """What `Instance` takes, from a frame of users and one of servers.

    See `Instance.from_frames`. pandas is not imported: any object with columns, an index and
    columns by name will do.

    Raises
    ------
    BadInput : no frame, columns that are neither a resource nor known, cells that are no numbers.
    """
    faults: list[Fault] = []
    for place, given in (("users", users), ("servers", servers)):
        if not all(hasattr(given, part) for part in ("columns", "index", "__getitem__")):
            faults.append(Fault(place, f"a {type(given).__name__}", "a frame (pandas.DataFrame)"))
    if faults:
        raise BadInput(faults)
    resources = [c for c in map(str, servers.columns) if c not in {NAME, *SERVER}]
    if not resources:
        faults.append(Fault("servers", "no column of a resource", "one column a resource"))
    known = [NAME, *USER, *resources]
    for column in map(str, users.columns):
        if column not in known:
            faults.append(Fault(f"users.{column}", "an unknown column", nearest(column, known)))
    found: dict[str, Any] = {
        "users": _names(users),
        "servers": _names(servers),
        "resources": resources,
        "demand": _matrix(users, "users", resources, faults),
        "capacity": _matrix(servers, "servers", resources, faults),
    }
    for place, frame, extra in (("users", users, USER), ("servers", servers, SERVER)):
        for column, empty in extra.items():
            if column in frame.columns:
                found[column] = _column(frame, place, column, empty, faults)
    if faults:
        raise BadInput(faults)
    return found if placement is None else {**found, "placement": _allowed(placement)}


def _allowed(placement: Any) -> Any:
    """The placement; rows of a user and a server become the list of each user's servers."""
    if not {PAIR[0], PAIR[1]} <= set(getattr(placement, "columns", ())):
        return placement
    found: dict[str, list[str]] = {}
    for user, server in zip(placement[PAIR[0]], placement[PAIR[1]], strict=True):
        found.setdefault(str(user), []).append(str(server))
    return found


def _names(frame: Any) -> list[str]:
    """The column "name", or else the index."""
    rows = frame[NAME] if NAME in frame.columns else frame.index
    return [str(name) for name in rows]


def _matrix(frame: Any, place: str, resources: list[str], faults: list[Fault]) -> list[list[float]]:
    """Rows by resources; a resource without a column is 0."""
    size = len(frame.index)
    columns = [
        _column(frame, place, name, 0.0, faults) if name in frame.columns else [0.0] * size
        for name in resources
    ]
    return [[column[k] for column in columns] for k in range(size)]


def _column(frame: Any, place: str, name: str, empty: float, faults: list[Fault]) -> list[float]:
    """The numbers of a column; an empty cell is `empty`."""
    found = []
    names = _names(frame)
    for k, value in enumerate(frame[name]):
        try:
            number = empty if value is None or value == "" else float(value)
        except (TypeError, ValueError):
            faults.append(Fault(f"{place}.{names[k]}.{name}", repr(value), "a number"))
            number = empty
        found.append(empty if math.isnan(number) else number)
    return found


__all__ = ["arguments"]
