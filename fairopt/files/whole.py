"""The keys of a model file that whole tasks need: `cards`, `zones`; `due`, `gang` and so on of a
user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt.exact import exact
from fairopt.instance.reading import WHOLE, Faults, known_keys, names, nearest, number, shown, table

KEYS = ("due", "gang", "per_node", "at_least", "spread")
DUE = "a finite number >= 0, or a fraction in a text such as '5/3'"


@dataclass(frozen=True)
class WholeKeys:
    """What a model says of whole tasks, by user.

    Parameters
    ----------
    due : tasks that users are due, exact; of the others a notion says it.
    gang : tasks that run together or not at all. per_node : most tasks on one node.
    at_least : fewest tasks with which a user runs at all.
    spread : tasks that a zone may have more than another. zones : the servers of each zone.
    cards : resources of which 1 is a card: a task takes part of a single one, or whole ones.
    """

    due: dict[str, Fraction] = field(default_factory=dict)
    gang: dict[str, int] = field(default_factory=dict)
    per_node: dict[str, int] = field(default_factory=dict)
    at_least: dict[str, int] = field(default_factory=dict)
    spread: dict[str, int] = field(default_factory=dict)
    zones: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cards: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is said of a user."""
        return any(getattr(self, key) for key in KEYS)

    def of_user(self, name: str) -> dict[str, Any]:
        """The keys of a user, as in a file."""
        due = self.due.get(name)
        row: dict[str, Any] = {}
        if due is not None:
            row["due"] = int(due) if due.denominator == 1 else str(due)
        for key in KEYS[1:]:
            if name in getattr(self, key):
                row[key] = getattr(self, key)[name]
        return row

    def by_key(self) -> dict[str, Any]:
        """The same by key and user, for a folder."""
        names = dict.fromkeys(name for key in KEYS for name in getattr(self, key))
        rows = {name: self.of_user(name) for name in names}
        return {
            key: own
            for key in KEYS
            if (own := {name: row[key] for name, row in rows.items() if key in row})
        }


def by_user(given: Any, users: Sequence[str], faults: Faults) -> dict[str, dict[str, Any]]:
    """The table `[whole]` of a folder's model.toml, user by user."""
    data = table(given, "whole", faults)
    known_keys(data, KEYS, "whole", faults)
    found: dict[str, dict[str, Any]] = {}
    known = set(users)
    for key in KEYS:
        for name, value in table(data.get(key, {}), f"whole.{key}", faults).items():
            if name in known:
                found.setdefault(name, {})[key] = value
            else:
                faults.add(f"whole.{key}.{name}", "an unknown user", nearest(name, users))
    return found


def read_whole(
    data: Mapping[str, Any],
    servers: Mapping[str, int],
    resources: Mapping[str, int],
    faults: Faults,
) -> WholeKeys:
    """The keys of all users, `cards` and `zones`; other keys are read elsewhere."""
    people = data.get("users", {})
    found = WholeKeys(cards=tuple(names(data["cards"], "cards", faults)) if "cards" in data else ())
    for key in found.cards:
        if key not in resources:
            faults.add(f"cards.{key}", "an unknown resource", nearest(key, resources))
    found.zones.update(_zones(data.get("zones", {}), servers, faults))
    for name, row in people.items() if isinstance(people, Mapping) else ():
        if not isinstance(row, Mapping):
            continue
        if "due" in row:
            found.due[name] = _due(row["due"], f"users.{name}.due", faults)
        for key in KEYS[1:]:
            if key in row:
                own = number(row[key], f"users.{name}.{key}", faults, WHOLE)
                getattr(found, key)[name] = int(own)
    if found.spread and not found.zones:
        faults.add("zones", "none", "the servers of each zone, over which tasks are spread")
    return found


def _zones(
    given: Any, servers: Mapping[str, int], faults: Faults
) -> Iterator[tuple[str, tuple[str, ...]]]:
    seen: set[str] = set()
    for zone, there in table(given, "zones", faults).items():
        own = tuple(names(there, f"zones.{zone}", faults)) if there != [] else ()
        for key in own:
            if key not in servers:
                faults.add(f"zones.{zone}", f"the unknown {key!r}", nearest(key, servers))
            elif key in seen:
                faults.add(f"zones.{zone}", f"{key!r} again", "every server in one zone")
        seen.update(own)
        yield zone, own


def _due(given: Any, place: str, faults: Faults) -> Fraction:
    found = exact(given)
    if found is None:
        faults.add(place, shown(given), DUE)
    return found or Fraction(0)
