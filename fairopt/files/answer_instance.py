"""The instance of an answer file, as the tables of a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.files.quotas import USER_KEYS
from fairopt.instance.fields import CURVES
from fairopt.instance.reading import Faults, known_keys, listed, names, nearest, shown, table, text

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


_BEYOND = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""texts for numbers that JSON lacks; the objective and gaps may be such"""


def any_number(value: Any, place: str, faults: Faults) -> float:
    """A number that may be infinite: a JSON number or one of the texts inf, -inf, nan."""
    if isinstance(value, str) and value in _BEYOND:
        return _BEYOND[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0
    try:
        return float(value)
    except OverflowError:
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0


def claimed(given: Any, faults: Faults) -> Certificate | None:
    """The certificate that the file claims."""
    if given is None:
        return None
    data = table(given, "certificate", faults)
    known_keys(
        data, ("verdict", "gap", "residual", "undetermined", "checks"), "certificate", faults
    )
    verdict = data.get("verdict")
    if verdict not in (CERTIFIED, REFUTED, UNPROVED):
        faults.add("certificate.verdict", shown(verdict), f"{CERTIFIED}, {REFUTED} or {UNPROVED}")
    checks = []
    for k, row in enumerate(listed(data.get("checks", []), "certificate.checks", faults)):
        here = f"certificate.checks[{k}]"
        row = table(row, here, faults)
        known_keys(row, ("name", "holds", "residual", "tolerance", "witness"), here, faults)
        tolerance = any_number(row.get("tolerance", 0.0), f"{here}.tolerance", faults)
        residual = any_number(row.get("residual", "nan"), f"{here}.residual", faults)
        checks.append(
            Check(
                text(row.get("name", ""), f"{here}.name", faults),
                row.get("holds") is True,
                tolerance - residual,
                tolerance,
                text(row.get("witness", ""), f"{here}.witness", faults),
            )
        )
    return Certificate(
        str(verdict),
        any_number(data.get("gap", "nan"), "certificate.gap", faults),
        any_number(data.get("residual", "nan"), "certificate.residual", faults),
        tuple(
            text(u, "certificate.undetermined", faults)
            for u in listed(data.get("undetermined", []), "certificate.undetermined", faults)
        ),
        tuple(checks),
    )
