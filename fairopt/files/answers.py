"""Reading answers from JSON (fairopt/allocation/v1); all faults are reported at once."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import criteria, storage
from fairopt.allocation import objective
from fairopt.allocation.writing import SCHEMA
from fairopt.errors import BadInput, Fault
from fairopt.files import answer_rules
from fairopt.files.answer_instance import any_number, as_model, claimed
from fairopt.files.answer_rules import read_rules
from fairopt.files.mistaken import taken_for_another
from fairopt.files.tables import arrays_of
from fairopt.formulas import families, parameters
from fairopt.instance import Floats, Instance
from fairopt.instance.reading import (
    AMOUNT,
    FINITE,
    WHOLE,
    Faults,
    build,
    by_name,
    known_keys,
    listed,
    nearest,
    number,
    shown,
    table,
    tables_by_name,
    text,
)

if TYPE_CHECKING:
    from fairopt.allocation import Allocation

LARGEST_ANSWER = 1024 * storage.MEBIBYTE
"""most bytes of an answer in JSON"""
_KEYS = (
    "schema",
    "instance",
    "notion",
    "tasks",
    "prices",
    "limit_prices",
    "level_prices",
    "score",
    "objective",
    "equivalent",
    "certificate",
    "steps",
    *answer_rules.KEYS,
)


def load(path: str | os.PathLike[str]) -> Allocation:
    """Read an answer from a file, or from standard input for "-".

    The certificate in the file is only a claim; `fairopt.certify` judges the answer anew.

    Raises
    ------
    BadInput : with every fault of the file, each with its place.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> answer = fo.solve(cluster, fo.ProportionalFair())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer.save(pathlib.Path(folder) / "answer.json")
    ...     again = fo.load(pathlib.Path(folder) / "answer.json")
    >>> fo.certify(again).verdict
    'certified'
    """
    content = storage.read_text(path, LARGEST_ANSWER, "an answer in JSON")
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
    if not {"schema", "instance", "notion", "tasks"} & set(data):
        other = taken_for_another(content, "an answer in JSON")
        if other is not None:
            raise BadInput([other], source)
    known_keys(data, _KEYS, "", faults)
    if data.get("schema", SCHEMA) != SCHEMA:
        faults.add("schema", shown(data["schema"]), f"the text '{SCHEMA}'")
    for key in ("instance", "notion", "tasks"):
        if data.get(key) is None:
            faults.add(key, "nothing", "what an answer is judged by")
    if data.get("instance") is None:
        faults.stop()
    given = table(data["instance"], "instance", faults)
    plain = as_model(given, faults)
    named = plain.pop("names")
    modes = given.get("modes")
    found = _parts(data, named, modes if isinstance(modes, Mapping) else (), faults)
    arrays = arrays_of(plain, faults, by_server="demand_on" in given)
    instance = build(faults, **arrays)
    return _whole(instance, {**found, **read_rules(instance, data, faults)}, faults)


def of(instance: Instance, data: Any, source: str) -> Allocation:
    """An answer from plain data of the same form, without its `instance`; errors as in `loads`."""
    faults = Faults(source)
    plain = table(data, "answer", faults)
    known_keys(plain, [key for key in _KEYS if key != "instance"], "", faults)
    kinds = instance.users, instance.servers, instance.resources
    named = [{name: k for k, name in enumerate(kind)} for kind in kinds]
    for key in ("notion", "tasks"):
        if plain.get(key) is None:
            faults.add(key, "nothing", "what an answer is judged by")
    found = _parts(plain, named, instance.modes or (), faults)
    faults.stop()
    return _whole(instance, {**found, **read_rules(instance, plain, faults)}, faults)


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
    told = {key: found.pop(key) for key in ("objective", "equivalent")}
    faults.stop()
    try:
        answer = Allocation(instance, **found)
    except BadInput as error:
        raise error.within(faults.source) from None
    for name, (said, own) in objective.other(answer, told).items():
        faults.add(name, f"{said:.9g}", f"{own:.9g}, which the tasks give, or none")
    faults.stop()
    # what is not in the file is not told of it, unless it follows without more work
    own = objective.worth(answer) if any(x is not None for x in told.values()) else {}
    return answer.with_(**{key: value for key, value in own.items() if value is not None})


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
        fault = taken_for_another(content, "an answer in JSON", results=False) or Fault(
            place, f"text that is not JSON ({error.msg})", "an answer in JSON"
        )
    except ValueError:
        fault = Fault("file", "a number of thousands of digits", "an answer in JSON")
    raise BadInput([fault], source)


def _parts(
    data: Mapping[str, Any],
    named: Sequence[Mapping[str, int]],
    modes: Collection[str],
    faults: Faults,
) -> dict[str, Any]:
    """The arguments of Allocation, all but the instance and `read_rules`, from the plain data.

    Parameters
    ----------
    named : positions of users, servers and resources by name.
    modes : the users with modes, whose tasks have another form (`fairopt.files.answer_rules`).
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
        given = data.get(key)
        if key == "tasks" and isinstance(given, Mapping):
            given = {user: row for user, row in given.items() if user not in modes}
        if given is not None:
            cells = tables_by_name(given, outer, inner, key, faults, wanted)
            rows = _matrix(cells, outer[1], inner[1])
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
        found[key] = None if data.get(key) is None else any_number(data[key], key, faults)
    found["certificate"] = claimed(data.get("certificate"), faults)
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
