"""Answers read back from JSON (fairopt/allocation/v1), every fault at once."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import criteria, storage
from fairopt.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Floats, Instance
from fairopt.reading import (
    AMOUNT,
    FINITE,
    Faults,
    build,
    by_name,
    known_keys,
    listed,
    names,
    nearest,
    number,
    shown,
    table,
    tables_by_name,
    text,
)
from fairopt.tables import arrays_of

if TYPE_CHECKING:
    from fairopt.allocation import Allocation

SCHEMA = "fairopt/allocation/v1"
LARGEST = 1024 * storage.MEBIBYTE
_KEYS = (
    "schema", "instance", "notion", "tasks", "prices", "limit_prices", "level_prices", "score",
    "objective", "equivalent", "certificate", "steps",
)  # fmt: skip
_INSTANCE = (
    "users", "servers", "resources", "demand", "demand_on", "capacity", "count", "placement",
    "weight", "limit",
)  # fmt: skip
_BEYOND = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""JSON has no infinity: objective and gaps that are not finite are written as these texts"""


def load(path: str | os.PathLike[str]) -> Allocation:
    """Read an answer from a file, or from standard input for "-".

    The certificate in it is what its writer claims; `fairopt.certify` judges anew.

    Raises
    ------
    BadInput : with every fault of the file, each with its place.
    """
    content = storage.read_text(path, LARGEST, "an answer in JSON")
    return loads(content, storage.source_name(path))


def loads(content: str, source: str = "answer") -> Allocation:
    """Read an answer from JSON text; `source` is what messages call it.

    Raises
    ------
    BadInput : with every fault, each with its place.
    """
    from fairopt.allocation import Allocation

    faults = Faults(source)
    data = table(_parse(content, source, faults), "file", faults)
    faults.stop()
    known_keys(data, _KEYS, "", faults)
    if data.get("schema", SCHEMA) != SCHEMA:
        faults.add("schema", shown(data["schema"]), f"the text '{SCHEMA}'")
    for key in ("instance", "notion", "tasks"):
        if key not in data:
            faults.add(key, "nothing", "needed to judge an answer")
    if "instance" not in data:
        faults.stop()
    answer, inst = _answer(data, faults)
    certificate, name = answer.pop("certificate"), answer.pop("criterion")
    objective, equivalent = answer.pop("objective"), answer.pop("equivalent")
    steps = tuple(listed(data.get("steps", []), "steps", faults))
    if name and answer["score"] is None and name not in criteria.CRITERIA:
        wanted = f"{nearest(str(name), criteria.CRITERIA)}; or `score` beside it"
        faults.add("notion.parameters.criterion", shown(name), wanted)
    faults.stop()
    try:
        return Allocation(
            inst, **answer, objective=objective, equivalent=equivalent,
            certificate=certificate, steps=steps,
        )  # fmt: skip
    except BadInput as error:
        raise error.within(source) from None
    except (UsageError, TypeError, ValueError) as error:
        fault = Fault("notion.parameters", str(error), "parameters that fit the notion")
        raise BadInput([fault], source) from None


def _parse(content: str, source: str, faults: Faults) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    faults.add(key, "this key a second time", "every key once")
                seen.add(key)
        return found

    try:
        return json.loads(content, object_pairs_hook=once)
    except RecursionError:
        fault = Fault("file", "lists or tables nested too deeply", "an answer in JSON")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        fault = Fault(place, f"text that is no JSON ({error.msg})", "an answer in JSON")
    except ValueError:
        fault = Fault("file", "a number of thousands of digits", "an answer in JSON")
    raise BadInput([fault], source)


def _answer(data: Mapping[str, Any], faults: Faults) -> tuple[dict[str, Any], Instance]:
    """The arguments of Allocation, and the instance, from the plain data."""
    given = table(data["instance"], "instance", faults)
    plain = _as_model(given, faults)
    users, servers, resources = plain.pop("names")
    found: dict[str, Any] = {}
    found["notion"], found["criterion"] = _notion(data.get("notion", {}), faults)
    user, server, resource = ("user", users), ("server", servers), ("resource", resources)
    for key, outer, inner, wanted in (
        ("tasks", user, server, FINITE),
        ("prices", server, resource, AMOUNT),
        ("score", user, server, AMOUNT),
    ):
        rows = None
        if data.get(key) is not None:
            rows = _matrix(
                tables_by_name(data[key], outer, inner, key, faults, wanted), outer[1], inner[1]
            )
        found[key] = rows
    found["limit_prices"] = found["level_prices"] = None
    if data.get("limit_prices") is not None:
        prices = by_name(data["limit_prices"], users, "user", "limit_prices", faults)
        found["limit_prices"] = np.array([prices.get(name, 0.0) for name in users])
    if data.get("level_prices") is not None:
        levels = [
            _matrix(
                tables_by_name(rows, server, resource, f"level_prices[{k}]", faults),
                servers,
                resources,
            )
            for k, rows in enumerate(listed(data["level_prices"], "level_prices", faults))
        ]
        found["level_prices"] = np.array(levels).reshape(-1, len(servers), len(resources))
    for key in ("objective", "equivalent"):
        found[key] = None if data.get(key) is None else _any_number(data[key], key, faults)
    found["certificate"] = _certificate(data.get("certificate"), faults)
    arrays = arrays_of(plain, faults, by_server="demand_on" in given)
    return found, build(faults, **arrays)


def _matrix(
    rows: Mapping[str, Mapping[str, float]], outer: Mapping[str, int], inner: Mapping[str, int]
) -> Floats:
    array = np.zeros((len(outer), len(inner)))
    for name, row in rows.items():
        for column, value in row.items():
            array[outer[name], inner[column]] = value
    return array


def _as_model(given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The tables [servers] and [users] of a model file, from the columns of the JSON form."""
    known_keys(given, _INSTANCE, "instance", faults)
    known = []
    for key in ("users", "servers", "resources"):
        if key not in given:
            faults.add(key, "none", "at least one")
        known.append(names(given[key], key, faults) if key in given else {})
    users, servers, _ = known
    people: dict[str, dict[str, Any]] = {name: {} for name in users}
    rows: dict[str, dict[str, Any]] = {name: {} for name in servers}
    for key, kind, into, word in (
        ("demand", "user", people, "demand"), ("demand_on", "user", people, "demand_on"),
        ("weight", "user", people, "weight"), ("limit", "user", people, "limit"),
        ("placement", "user", people, "servers"), ("capacity", "server", rows, "capacity"),
        ("count", "server", rows, "count"),
    ):  # fmt: skip
        for name, value in table(given.get(key, {}), f"instance.{key}", faults).items():
            if name in into:
                into[name][word] = value
            else:
                faults.add(f"instance.{key}.{name}", f"an unknown {kind}", nearest(name, into))
    plain: dict[str, Any] = {"servers": rows, "users": people, "names": known}
    return {**plain, "resources": list(known[2])}


def _notion(given: Any, faults: Faults) -> tuple[dict[str, Any], str]:
    """The notion as plain data, and its criterion."""
    notion = table(given, "notion", faults)
    known_keys(notion, ("name", "parameters"), "notion", faults)
    if isinstance(given, Mapping) and "name" not in notion and given:
        faults.add("notion.name", "nothing", "the name of a notion")
    parameters = table(notion.get("parameters", {}), "notion.parameters", faults)
    for key, value in parameters.items():
        plain = value if isinstance(value, list) else [value]
        if not all(isinstance(v, str | int | float | bool) for v in plain):
            faults.add(f"notion.parameters.{key}", shown(value), "a text, number, true or false")
    # the three that judges dispatch on
    if "alpha" in parameters:
        number(parameters["alpha"], "notion.parameters.alpha", faults)
    criterion = text(parameters.get("criterion", "tasks"), "notion.parameters.criterion", faults)
    if not isinstance(parameters.get("weight_inside", False), bool):
        found = shown(parameters["weight_inside"])
        faults.add("notion.parameters.weight_inside", found, "true or false")
    name = text(notion.get("name", ""), "notion.name", faults)
    return {"name": name, "parameters": dict(parameters)}, criterion


def _any_number(value: Any, place: str, faults: Faults) -> float:
    """A number that may be infinite: a JSON number or one of the texts inf, -inf, nan."""
    if isinstance(value, str) and value in _BEYOND:
        return _BEYOND[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _certificate(given: Any, faults: Faults) -> Certificate | None:
    """The verdict its writer claims."""
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
        tolerance = _any_number(row.get("tolerance", 0.0), f"{here}.tolerance", faults)
        residual = _any_number(row.get("residual", "nan"), f"{here}.residual", faults)
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
        _any_number(data.get("gap", "nan"), "certificate.gap", faults),
        _any_number(data.get("residual", "nan"), "certificate.residual", faults),
        tuple(text(u, "certificate.undetermined", faults)
              for u in listed(data.get("undetermined", []), "certificate.undetermined", faults)),
        tuple(checks),
    )  # fmt: skip
