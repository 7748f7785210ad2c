"""Reading a saved sweep (fairopt/sweep/v1); all faults are reported at once."""

from __future__ import annotations

import json
import os
from typing import Any

from fairopt import storage
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files import answers, mistaken
from fairopt.instance import Instance
from fairopt.instance.reading import Faults, listed, shown, table, text
from fairopt.sweeping.result import SCHEMA, Sweep

_BEYOND = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_NUMBERS = ("gap", "residual", "objective", "equivalent")
_TABLES = ("totals", "shares", "levels", "measures")


def load(path: str | os.PathLike[str]) -> Sweep:
    """Read a sweep from a JSON file, or from standard input for "-".

    Verdicts and measures are those of the file; `Sweep.answer` judges a kept answer again.

    Raises
    ------
    BadInput : with every fault of the file, each with its place.
    """
    content = storage.read_text(path, answers.LARGEST_ANSWER, "a sweep in JSON")
    source = storage.source_name(path)
    return sweep_of(mistaken.parsed(content, source, "a sweep in JSON"), source)


def sweep_of(data: Any, source: str) -> Sweep:
    """A sweep from plain data; `source` is what messages call it. Errors as in `load`."""
    faults = Faults(source)
    found = table(data, "file", faults)
    if found.get("schema") != SCHEMA:
        faults.add("schema", shown(found.get("schema")), f"the text '{SCHEMA}'")
    rows = [
        _row(row, f"rows[{k}]", faults)
        for k, row in enumerate(listed(found.get("rows", []), "rows", faults))
    ]
    if not rows:
        faults.add("rows", "none", "at least one")
    plain = listed(found.get("instances", []), "instances", faults)
    for k, row in enumerate(rows):
        if "answer" in row and row["instance"] not in range(len(plain)):
            faults.add(f"rows[{k}].instance", shown(row["instance"]), "a position in instances")
    faults.stop()
    return Sweep(tuple(rows), _instances(plain, rows, source))


def _instances(plain: Any, rows: Any, source: str) -> tuple[Instance, ...]:
    """The instances, each read together with the first answer to it."""
    found = []
    for k, each in enumerate(plain):
        row = next((row for row in rows if row.get("instance") == k and "answer" in row), None)
        tasks: dict[str, Any] = {"tasks": {}}
        notion = {"name": "proportional"}
        if row is not None:
            tasks, notion = row["answer"], row["notion"]
        whole = {**tasks, "instance": each, "notion": notion}
        try:
            found.append(answers.loads(json.dumps(whole), source).instance)
        except UsageError as error:
            raise BadInput([Fault(f"instances[{k}]", str(error), "an instance")], source) from None
    return tuple(found)


def _row(given: Any, place: str, faults: Faults) -> dict[str, Any]:
    """One row, checked; numbers that JSON lacks are texts in the file."""
    row = dict(table(given, place, faults))
    notion = table(row.get("notion"), f"{place}.notion", faults)
    text(notion.get("name"), f"{place}.notion.name", faults)
    row["parameters"] = dict(table(row.get("parameters", {}), f"{place}.parameters", faults))
    row["status"] = text(row.get("status"), f"{place}.status", faults)
    row["reason"] = text(row.get("reason", ""), f"{place}.reason", faults)
    row["certified"] = row.get("certified") is True
    verdict = row.get("verdict")
    row["verdict"] = None if verdict is None else text(verdict, f"{place}.verdict", faults)
    for key in _NUMBERS:
        row[key] = _number(row.get(key), f"{place}.{key}", faults)
    for key in _TABLES:
        inner = table(row.get(key, {}), f"{place}.{key}", faults)
        row[key] = {str(k): _number(v, f"{place}.{key}.{k}", faults) for k, v in inner.items()}
    if "answer" in row:
        row["answer"] = dict(table(row["answer"], f"{place}.answer", faults))
        row.setdefault("instance", 0)
    return row


def _number(value: Any, place: str, faults: Faults) -> float | int | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        found: float | int | None = value
        return found
    if isinstance(value, str) and value in _BEYOND:
        return _BEYOND[value]
    faults.add(place, shown(value), "a number, or nothing")
    return None


__all__ = ["load", "sweep_of"]
