"""The form of a plan, by its JSON Schema alone: what is missing, unknown or of another type.

The few words of JSON Schema that `plan-v1.schema.json` uses are checked here, so that `fairopt
verify` needs no other package, and the schema stays the only text of the form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fairopt.instance.reading import Faults, nearest, shown

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_WORDS = {
    "object": "a table",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
LARGEST_NUMBER = 1e300
"""no number is larger, so that sums of products are numbers too"""
KNOWN = frozenset(
    {
        "$schema",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "const",
        "enum",
        "pattern",
        "minimum",
        "exclusiveMinimum",
        "minItems",
        "minLength",
        "uniqueItems",
    }
)
"""the words of JSON Schema that are checked; a test holds the schema to them"""


@cache
def schema() -> Mapping[str, Any]:
    """The schema of fairopt/plan/v1."""
    text = (
        resources.files("fairopt.connect.plan").joinpath("plan-v1.schema.json").read_text("utf-8")
    )
    found: Mapping[str, Any] = json.loads(text)
    return found


def check(value: Any, place: str, faults: Faults, rule: Mapping[str, Any] | None = None) -> None:
    """Add a fault for everything in a plan that is not of the form of the schema.

    Parameters
    ----------
    value : a plan, or the part of it at `place` ("" for the whole), held to `rule`.
    """
    rule = schema() if rule is None else rule
    if "$ref" in rule:
        rule = {**schema()["$defs"][rule["$ref"].rpartition("/")[2]], **rule}
    said = _wrong(value, rule)
    if said:
        faults.add(place or "file", shown(value), said)
    elif isinstance(value, Mapping):
        _table(value, place, faults, rule)
    elif isinstance(value, list | tuple):
        for k, each in enumerate(value):
            check(each, f"{place}[{k}]", faults, rule.get("items", {}))


def _table(value: Mapping[str, Any], place: str, faults: Faults, rule: Mapping[str, Any]) -> None:
    known, more = rule.get("properties", {}), rule.get("additionalProperties", True)
    before = f"{place}." if place else ""
    for key in rule.get("required", ()):
        if key not in value:
            faults.add(f"{before}{key}", "nothing", "what a plan is judged by")
    for key, each in value.items():
        here = f"{before}{key}"
        if key in known:
            check(each, here, faults, known[key])
        elif more is False:
            faults.add(here, "an unknown key", nearest(key, known))
        elif isinstance(more, Mapping):
            check(each, here, faults, more)


def _wrong(value: Any, rule: Mapping[str, Any]) -> str:
    """What was wanted in the place of a value, itself; empty where it is right."""
    kinds = rule.get("type", list(_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        return " or ".join(_WORDS[kind] for kind in kinds)
    if "const" in rule and value != rule["const"]:
        return f"{rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        return ", ".join(map(repr, rule["enum"]))
    if isinstance(value, str):
        if not re.search(rule.get("pattern", ""), value):
            return "an exact amount >= 0, such as '0.25' or '1/3'"
        return "a text that is not empty" if len(value) < rule.get("minLength", 0) else ""
    if isinstance(value, list | tuple):
        return _list(value, rule)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < rule.get("minimum", value):
            return f"a number >= {rule['minimum']}"
        if "exclusiveMinimum" in rule and not value > rule["exclusiveMinimum"]:
            return f"a number > {rule['exclusiveMinimum']}"
    return ""


def _list(value: Sequence[Any], rule: Mapping[str, Any]) -> str:
    if len(value) < rule.get("minItems", 0):
        return f"at least {rule['minItems']}"
    if rule.get("uniqueItems") and len({json.dumps(each) for each in value}) < len(value):
        return "every entry once"
    return ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int | float) and not -LARGEST_NUMBER < value < LARGEST_NUMBER:
        return False  # infinities and NaN are no JSON, but are read all the same
    return isinstance(value, _TYPES[kind])
