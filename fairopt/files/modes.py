"""The modes of users, from [[users.NAME.modes]] of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.instance.quotas.records import Mode
from fairopt.instance.reading import (
    POSITIVE,
    Faults,
    by_name,
    known_keys,
    listed,
    nearest,
    number,
    shown,
    table,
    text,
)

KEYS = ("name", "servers", "demand", "speed")


def read_modes(
    given: Any, place: str, servers: Mapping[str, int], resources: Mapping[str, int], faults: Faults
) -> list[Mode]:
    """The modes of a user, checked; that their names differ is checked by the instance."""
    found = []
    rows = listed(given, place, faults)
    if not rows and not faults.under(place):
        faults.add(place, "none", "at least one mode, or no such key")
    for k, row in enumerate(rows):
        here = f"{place}[{k}]"
        row = table(row, here, faults)
        known_keys(row, KEYS, here, faults)
        if "name" not in row:
            faults.add(f"{here}.name", "nothing", "a name")
        name = text(row.get("name", ""), f"{here}.name", faults)
        speed = number(row.get("speed", 1), f"{here}.speed", faults, POSITIVE)
        demand = None
        if "demand" in row:
            demand = by_name(row["demand"], resources, "resource", f"{here}.demand", faults)
        where = None
        if "servers" in row:
            where = list(allowed(row["servers"], servers, f"{here}.servers", faults))
        found.append(Mode(name, demand, speed, where))
    return found


def allowed(given: Any, servers: Mapping[str, int], place: str, faults: Faults) -> Sequence[str]:
    """A list of known servers, each once."""
    found: dict[str, None] = {}
    for k, name in enumerate(listed(given, place, faults)):
        if not isinstance(name, str):
            faults.add(f"{place}[{k}]", shown(name), "the name of a server")
        elif name not in servers:
            faults.add(f"{place}[{k}]", f"the unknown server {name!r}", nearest(name, servers))
        elif name in found:
            faults.add(f"{place}[{k}]", f"the name {name!r} a second time", "every name once")
        else:
            found[name] = None
    return list(found)
