"""Results in files, whatever their kind, as plain data of the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from fairopt import storage
from fairopt.allocation import Allocation
from fairopt.allocation.writing import SCHEMA as ANSWER
from fairopt.certificates import certify
from fairopt.errors import BadInput, Fault
from fairopt.files import answers
from fairopt.files.mistaken import parsed
from fairopt.instance.reading import FINITE, Faults, listed, number, shown, table, text
from fairopt.notions import NOTIONS
from fairopt.report.html import (
    answer_data,
    compare_data,
    plan_data,
    replay_data,
    sweep_data,
    verdict,
)
from fairopt.sweeping.reading import sweep_of
from fairopt.sweeping.result import SCHEMA as SWEEP
from fairopt.sweeping.result import Sweep

COMPARISON = "fairopt/compare/v1"
REPLAY = "fairopt/replay/v1"
PLAN = "fairopt/plan/v1"


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain data of one result file: an answer, a sweep, a comparison, a replay or a
    plan; "-" is stdin.

    Raises
    ------
    BadInput : with every fault of the file, each with its place.
    """
    content = storage.read_text(path, answers.LARGEST_ANSWER, "a result in JSON")
    return of_text(content, storage.source_name(path))


def of_text(content: str, source: str) -> dict[str, Any]:
    """The same of a text; `source` is what messages call it."""
    data = parsed(content, source, "a result in JSON")
    schema = data.get("schema", ANSWER) if isinstance(data, Mapping) else None
    if schema not in KINDS:
        wanted = f"the schema of a result: {', '.join(KINDS)}"
        found = shown(schema) if isinstance(data, Mapping) else shown(data)
        raise BadInput([Fault("schema", found, wanted)], source)
    title = PurePath(source).stem if source != "<stdin>" else "Result"
    return {"title": title, **KINDS[schema](content, data, source)}


def of_answer(alloc: Allocation) -> dict[str, Any]:
    """The plain data of an answer, which is judged if it was not."""
    if alloc.certificate is None:
        alloc = alloc.with_(certificate=certify(alloc))
    return {
        "kind": "answer",
        "names": answer_data.names(alloc.instance),
        "point": answer_data.amounts(alloc),
        "certificate": verdict.words(alloc),
        "subtitle": notion_words(alloc.notion),
    }


def of_sweep(sweep: Sweep) -> dict[str, Any]:
    """The plain data of a sweep."""
    return sweep_data.data(sweep)


def notion_words(notion: Mapping[str, Any]) -> str:
    """A notion in one line: name, parameters, what it is."""
    name = str(notion["name"])
    settings = ", ".join(
        f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}"
        for k, v in notion.get("parameters", {}).items()
    )
    known = NOTIONS.get(name)
    return name + (f" ({settings})" if settings else "") + (f": {known.summary}" if known else "")


def _answer(content: str, data: Any, source: str) -> dict[str, Any]:
    # the certificate in a file is only a claim
    return of_answer(answers.loads(content, source).with_(certificate=None))


def _sweep(content: str, data: Any, source: str) -> dict[str, Any]:
    return of_sweep(sweep_of(data, source))


def _comparison(content: str, data: Any, source: str) -> dict[str, Any]:
    checked_rows(data, source)
    return compare_data.data(data)


def checked_rows(data: Mapping[str, Any], source: str) -> Sequence[Any]:
    """The rows of a comparison.

    Raises
    ------
    BadInput : with every fault, each with its place.
    """
    faults = Faults(source)
    rows = listed(data.get("rows"), "rows", faults)
    for k, row in enumerate(rows):
        here = f"rows[{k}]"
        row = table(row, here, faults)
        text(row.get("name"), f"{here}.name", faults)
        text(row.get("status"), f"{here}.status", faults)
        table(row.get("parameters"), f"{here}.parameters", faults)
        if row.get("status") == "answered":
            for key in ("totals", "utilisation", "properties"):
                table(row.get(key), f"{here}.{key}", faults)
            listed(row.get("fails"), f"{here}.fails", faults)
            for key in ("efficiency", "least", "most"):
                number(row.get(key), f"{here}.{key}", faults, FINITE)
    if not rows:
        faults.add("rows", "none", "at least one")
    faults.stop()
    return rows


def _replay(content: str, data: Any, source: str) -> dict[str, Any]:
    return replay_data.data_of(data, source)


def _plan(content: str, data: Any, source: str) -> dict[str, Any]:
    return plan_data.data_of(content, source)


KINDS: dict[str, Callable[[str, Any, str], dict[str, Any]]] = {
    ANSWER: _answer,
    SWEEP: _sweep,
    COMPARISON: _comparison,
    REPLAY: _replay,
    PLAN: _plan,
}
"""schema of a result -> its plain data"""
