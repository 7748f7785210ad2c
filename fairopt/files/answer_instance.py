"""The instance of an answer file, as the tables of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.files.quotas import USER_KEYS
from fairopt.instance.fields import CURVES
from fairopt.instance.reading import Faults, known_keys, names, nearest, table

KEYS = (
    "users",
    "servers",
    "resources",
    "demand",
    "demand_on",
    "capacity",
    "count",
    "placement",
    "weight",
    "limit",
    "limit_on",
    "start",
    *CURVES,
    "groups",
    "flavors",
    "quotas",
    "modes",
    "rules",
)


def as_model(given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The tables [servers] and [users] of a model file, from the columns of the JSON form."""
    known_keys(given, KEYS, "instance", faults)
    known = []
    for key in ("users", "servers", "resources"):
        if key not in given:
            faults.add(key, "none", "at least one")
        known.append(names(given[key], key, faults) if key in given else {})
    users, servers, _ = known
    people: dict[str, dict[str, Any]] = {name: {} for name in users}
    rows: dict[str, dict[str, Any]] = {name: {} for name in servers}
    for key, kind, into, word in (
        ("demand", "user", people, "demand"),
        ("demand_on", "user", people, "demand_on"),
        ("weight", "user", people, "weight"),
        ("limit", "user", people, "limit"),
        ("limit_on", "user", people, "limit_on"),
        ("start", "user", people, "start"),
        ("placement", "user", people, "servers"),
        ("capacity", "server", rows, "capacity"),
        ("count", "server", rows, "count"),
        ("modes", "user", people, "modes"),
        *((key, "user", people, key) for key in CURVES),
    ):
        for name, value in table(given.get(key, {}), f"instance.{key}", faults).items():
            if name in into:
                into[name][word] = value
            else:
                faults.add(f"instance.{key}.{name}", f"an unknown {kind}", nearest(name, into))
    for name, value in table(given.get("quotas", {}), "instance.quotas", faults).items():
        here = f"instance.quotas.{name}"
        if name not in people:
            faults.add(here, "an unknown user", nearest(name, people))
            continue
        own = table(value, here, faults)
        known_keys(own, ("weight", *USER_KEYS), here, faults)
        people[name].update({key: own[key] for key in own if key in ("weight", *USER_KEYS)})
    plain: dict[str, Any] = {"servers": rows, "users": people, "names": known}
    plain.update({key: given[key] for key in ("groups", "flavors", "rules") if key in given})
    return {**plain, "resources": list(known[2])}
