"""Reading answers from JSON (fairopt/allocation/v1); all faults are reported at once."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import criteria, storage
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.allocation.writing import SCHEMA
from fairopt.errors import BadInput, Fault
from fairopt.files.tables import arrays_of
from fairopt.formulas import families, parameters
from fairopt.instance import Floats, Instance
from fairopt.instance.fields import CURVES
from fairopt.instance.reading import (
    AMOUNT,
    FINITE,
    WHOLE,
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

if TYPE_CHECKING:
    from fairopt.allocation import Allocation

LARGEST = 1024 * storage.MEBIBYTE
_KEYS = (
    "schema", "instance", "notion", "tasks", "prices", "limit_prices", "level_prices", "score",
    "objective", "equivalent", "certificate", "steps",
)  # fmt: skip
_INSTANCE = (
    "users", "servers", "resources", "demand", "demand_on", "capacity", "count", "placement",
    "weight", "limit", *CURVES,
)  # fmt: skip
_BEYOND = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""texts for numbers that JSON lacks; the objective and gaps may be such"""


def load(path: str | os.PathLike[str]) -> Allocation:
    """Read an answer from a file, or from standard input for "-".

    The certificate in the file is only a claim; `fairopt.certify` judges the answer anew.

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
    faults = Faults(source)
    data = table(_parse(content, source, faults), "file", faults)
    faults.stop()
    known_keys(data, _KEYS, "", faults)
    if data.get("schema", SCHEMA) != SCHEMA:
        faults.add("schema", shown(data["schema"]), f"the text '{SCHEMA}'")
    for key in ("instance", "notion", "tasks"):
        if data.get(key) is None:
            faults.add(key, "nothing", "needed to judge an answer")
    if data.get("instance") is None:
        faults.stop()
    given = table(data["instance"], "instance", faults)
    plain = _as_model(given, faults)
    named = plain.pop("names")
    found = _parts(data, named, faults)
    arrays = arrays_of(plain, faults, by_server="demand_on" in given)
    return _whole(build(faults, **arrays), found, faults)


def of(instance: Instance, data: Any, source: str) -> Allocation:
    """An answer from plain data of the same form, without its `instance`; errors as in `loads`."""
    faults = Faults(source)
    plain = table(data, "answer", faults)
    known_keys(plain, [key for key in _KEYS if key != "instance"], "", faults)
    kinds = instance.users, instance.servers, instance.resources
    named = [{name: k for k, name in enumerate(kind)} for kind in kinds]
    for key in ("notion", "tasks"):
        if plain.get(key) is None:
            faults.add(key, "nothing", "needed to judge an answer")
    found = _parts(plain, named, faults)
    faults.stop()
    return _whole(instance, found, faults)


def _whole(instance: Instance, found: dict[str, Any], faults: Faults) -> Allocation:
    """The answer made of its parts; its scores must be those of the notion's criterion."""
    from fairopt.allocation import Allocation

    criterion = parameters.criterion_of(found["notion"])
    if found["score"] is not None and criterion in criteria.CRITERIA:
        where = criteria.departure(instance, found["score"], criterion)
        if where is not None:
            place = f"score.{instance.users[where[0]]}.{instance.servers[where[1]]}"
            own = criteria.score(instance, criterion)[where]
            wanted = f"{own:.9g}, which criterion {criterion!r} says, or no score"
            faults.add(place, f"{found['score'][where]:.9g}", wanted)
        found["score"] = None
    faults.stop()
    try:
        return Allocation(instance, **found)
    except BadInput as error:
        raise error.within(faults.source) from None


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
        fault = Fault(place, f"text that is not JSON ({error.msg})", "an answer in JSON")
    except ValueError:
        fault = Fault("file", "a number of thousands of digits", "an answer in JSON")
    raise BadInput([fault], source)


def _parts(
    data: Mapping[str, Any], named: Sequence[Mapping[str, int]], faults: Faults
) -> dict[str, Any]:
    """The arguments of Allocation, all but the instance, from the plain data.

    Parameters
    ----------
    named : positions of users, servers and resources by name.
    """
    users, servers, resources = named
    found: dict[str, Any] = {"notion": {"name": "", "parameters": {}}}
    if data.get("notion") is not None:
        found["notion"] = _notion(data["notion"], data.get("score") is not None, faults)
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
        shape = len(levels), len(servers), len(resources)
        found["level_prices"] = np.array(levels).reshape(shape)
    for key in ("objective", "equivalent"):
        found[key] = None if data.get(key) is None else _any_number(data[key], key, faults)
    found["certificate"] = _certificate(data.get("certificate"), faults)
    found["steps"] = tuple(listed(data.get("steps", []), "steps", faults))
    for k, step in enumerate(found["steps"]):
        if "machines" in table(step, f"steps[{k}]", faults):
            _packings(step["machines"], f"steps[{k}].machines", users, servers, faults)
    return found


def _packings(
    given: Any, place: str, users: Mapping[str, int], servers: Mapping[str, int], faults: Faults
) -> None:
    """Check how a scheduler packed the machines of its rows, {server: [{"count", "tasks"}]}."""
    for name, rows in table(given, place, faults).items():
        here = f"{place}.{name}"
        if name not in servers:
            faults.add(here, "an unknown server", nearest(name, servers))
        for k, row in enumerate(listed(rows, here, faults)):
            row = table(row, f"{here}[{k}]", faults)
            number(row.get("count"), f"{here}[{k}].count", faults, WHOLE)
            by_name(row.get("tasks"), users, "user", f"{here}[{k}].tasks", faults)


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
        ("count", "server", rows, "count"), *((key, "user", people, key) for key in CURVES),
    ):  # fmt: skip
        for name, value in table(given.get(key, {}), f"instance.{key}", faults).items():
            if name in into:
                into[name][word] = value
            else:
                faults.add(f"instance.{key}.{name}", f"an unknown {kind}", nearest(name, into))
    plain: dict[str, Any] = {"servers": rows, "users": people, "names": known}
    return {**plain, "resources": list(known[2])}


def _notion(given: Any, scored: bool, faults: Faults) -> dict[str, Any]:
    """The notion as plain data, checked as when it is made."""
    notion = table(given, "notion", faults)
    known_keys(notion, ("name", "parameters", "family"), "notion", faults)
    name = text(notion.get("name", ""), "notion.name", faults)
    known = parameters.names()
    if name not in known and "family" not in notion and not faults.under("notion"):
        found = shown(name) if name else "nothing"
        faults.add("notion.name", found, nearest(name, known))
    plain: dict[str, Any] = {"name": name, "parameters": _chosen(notion, name, scored, "", faults)}
    if "family" in notion:
        # parameters that the judge of a user's own notion reads, checked as those of its family
        kind = table(notion["family"], "notion.family", faults)
        known_keys(kind, ("name", "parameters"), "notion.family", faults)
        of = text(kind.get("name", ""), "notion.family.name", faults)
        if of not in families.FAMILIES:
            faults.add("notion.family.name", shown(of), nearest(of, families.FAMILIES))
        chosen = _chosen(kind, of, scored, "family.", faults)
        plain["family"] = {"name": of, "parameters": chosen}
    return plain


def _chosen(
    notion: Mapping[str, Any], name: str, scored: bool, place: str, faults: Faults
) -> dict[str, Any]:
    """The parameters of a notion or a family, checked as when a notion is made."""
    chosen = table(notion.get("parameters", {}), f"notion.{place}parameters", faults)
    for fault in parameters.faults(name, chosen, scored):
        faults.add(f"notion.{place}parameters.{fault.place}", fault.found, fault.wanted)
    return dict(chosen)


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
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0


def _certificate(given: Any, faults: Faults) -> Certificate | None:
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
