"""Checks of plain data read from files: all faults are collected, each with its place.

Wrong values are replaced by harmless ones, so that reading goes on and finds the other faults;
nothing is made of data with a fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.errors import BadInput, Fault
from fairopt.instance import Instance
from fairopt.instance.labels import nearest

MOST_FAULTS = 100
"""most faults reported; a file of another kind may have millions"""

AMOUNT = "a finite number >= 0"
POSITIVE = "a finite number > 0"
LIMIT = "a number > 0"
UNBOUNDED = "a number >= 0"
FINITE = "a finite number"
WHOLE = "a whole number >= 1"


class Faults:
    """The faults found so far in one input; true if there are any."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Fault] = []
        self.more = 0

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, place: str, found: str, wanted: str) -> None:
        """Add a fault; beyond MOST_FAULTS only their number is kept."""
        if len(self.found) < MOST_FAULTS:
            self.found.append(Fault(place, found, wanted))
        else:
            self.more += 1

    def stop(self) -> None:
        """Raise BadInput with everything found so far, if anything was."""
        if not self.found:
            return
        rest = [Fault("and", f"{self.more} more faults", "none")] if self.more else []
        raise BadInput([*self.found, *rest], self.source)

    def under(self, place: str) -> bool:
        """Whether anything at or below `place` is at fault."""
        return any(
            f.place == place or f.place.startswith((f"{place}.", f"{place}[")) for f in self.found
        )


def shown(value: Any) -> str:
    """A value as words for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= 40 else f"the text {value[:37]!r}..."
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else f"a whole number of {value.bit_length()} bits"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    return "nothing" if value is None else f"the {type(value).__name__} {value}"


def number(value: Any, place: str, faults: Faults, wanted: str = AMOUNT) -> float:
    """`value` as float; if it is not what is `wanted`, a fault is added and 1.0 returned."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.add(place, shown(value), wanted)
        return 1.0
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    good = {
        AMOUNT: 0 <= x < math.inf,
        POSITIVE: 0 < x < math.inf,
        LIMIT: x > 0,
        UNBOUNDED: x >= 0,
        FINITE: math.isfinite(x),
        WHOLE: 1 <= x < 2**53 and x == math.floor(x),
    }[wanted]
    if not good:
        faults.add(place, shown(value), wanted)
        return 1.0
    return x


def table(value: Any, place: str, faults: Faults) -> Mapping[str, Any]:
    """`value` if it is a table; else a fault is added and an empty one returned."""
    if isinstance(value, Mapping):
        return value
    faults.add(place, shown(value), "a table")
    return {}


def listed(value: Any, place: str, faults: Faults) -> Sequence[Any]:
    """`value` if it is a list; else a fault is added and an empty one returned."""
    if isinstance(value, list | tuple):
        return value
    faults.add(place, shown(value), "a list")
    return ()


def text(value: Any, place: str, faults: Faults) -> str:
    """`value` if it is a text; else a fault is added and an empty one returned."""
    if isinstance(value, str):
        return value
    faults.add(place, shown(value), "a text")
    return ""


def known_keys(data: Mapping[str, Any], known: Sequence[str], place: str, faults: Faults) -> None:
    """Refuse unknown keys by name, with the nearest known one."""
    for key in data:
        if key not in known:
            faults.add(
                f"{place}.{key}" if place else str(key), "an unknown key", nearest(key, known)
            )


def by_name(
    value: Any,
    known: Mapping[str, int],
    kind: str,
    place: str,
    faults: Faults,
    wanted: str = AMOUNT,
) -> dict[str, float]:
    """A table of numbers by the names of users, servers or resources, checked."""
    result = {}
    for name, given in table(value, place, faults).items():
        if name not in known:
            faults.add(f"{place}.{name}", f"an unknown {kind}", nearest(name, known))
        else:
            result[name] = number(given, f"{place}.{name}", faults, wanted)
    return result


def tables_by_name(
    value: Any,
    outer: tuple[str, Mapping[str, int]],
    inner: tuple[str, Mapping[str, int]],
    place: str,
    faults: Faults,
    wanted: str = AMOUNT,
) -> dict[str, dict[str, float]]:
    """A checked table of tables of numbers, such as {user: {server: number}}."""
    result = {}
    for name, given in table(value, place, faults).items():
        here = f"{place}.{name}"
        if name not in outer[1]:
            faults.add(here, f"an unknown {outer[0]}", nearest(name, outer[1]))
        else:
            result[name] = by_name(given, inner[1], inner[0], here, faults, wanted)
    return result


def names(value: Any, place: str, faults: Faults) -> dict[str, int]:
    """A list of names, each printable and unique, as {name: position}."""
    found: dict[str, int] = {}
    for k, name in enumerate(listed(value, place, faults)):
        if not isinstance(name, str) or not name or not name.isprintable():
            what = f"the name {name!r}" if isinstance(name, str) else shown(name)
            faults.add(f"{place}[{k}]", what, "a printable text")
        elif name in found:
            faults.add(f"{place}[{k}]", f"the name {name!r} a second time", "every name once")
        else:
            found[name] = len(found)
    if not found and not faults.under(place):
        faults.add(place, "none", "at least one")
    return found


def build(faults: Faults, **arrays: Any) -> Instance:
    """The instance; or BadInput with the faults of the file and those of the instance as a whole.

    That a user is eligible nowhere is not reported if a fault of this user or of the servers may be
    the reason.
    """
    instance = None
    shaky = any(faults.under(k) for k in ("resources", "servers", "placement", "demand", "file"))
    if not shaky and arrays["users"]:
        try:
            instance = Instance(**arrays)
        except BadInput as error:
            at_fault = [
                name for name in arrays["users"] if faults and faults.under(f"users.{name}")
            ]
            for fault in error.faults:
                prefixes = tuple(f"users.{name}." for name in at_fault)
                if not f"{fault.place}.".startswith(prefixes):
                    faults.add(fault.place, fault.found, fault.wanted)
    faults.stop()
    if instance is None:
        raise BadInput([Fault("file", "no instance", "an instance")], faults.source)
    return instance


__all__ = [
    "AMOUNT",
    "FINITE",
    "LIMIT",
    "MOST_FAULTS",
    "POSITIVE",
    "UNBOUNDED",
    "WHOLE",
    "Faults",
    "build",
    "by_name",
    "known_keys",
    "listed",
    "names",
    "nearest",
    "number",
    "shown",
    "table",
    "tables_by_name",
    "text",
]
