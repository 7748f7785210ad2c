"""A replay as plain data of the page, checked: a file may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.errors import BadInput, Fault
from fairopt.files import mistaken
from fairopt.instance.reading import FINITE, POSITIVE, Faults, listed, number, table, text
from fairopt.report.replay_text import OUTPUT, TASKS, finish_words

SCHEMA = "fairopt/replay/v1"
MARKS = ("jobs", "worst", "p50", "p90", "p99", "above")
OF = "finish_time_fairness_of"
AMOUNTS = ("wants", "held", "alone", "ledger", "hindsight", "debt")
RUN = "held_tasks"
"""of users with modes: tasks held, beside their output"""


def parsed(content: str, source: str) -> Mapping[str, Any]:
    """The file as plain data.

    Raises
    ------
    BadInput : no JSON, or no replay.
    """
    return replay_of(mistaken.parsed(content, source, "a replay in JSON"), source)


def replay_of(data: Any, source: str) -> Mapping[str, Any]:
    """The plain data if it is of a replay; else BadInput."""
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise BadInput([Fault("schema", "another kind of file", f"the text '{SCHEMA}'")], source)
    return data


def checked(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The parts of a replay file that are drawn.

    Raises
    ------
    BadInput : with every fault, each with its place.
    """
    faults = Faults(source)
    starts = [
        number(t, f"starts[{k}]", faults, FINITE)
        for k, t in enumerate(listed(data.get("starts"), "starts", faults))
    ]
    if not starts and not faults:
        faults.add("starts", "none", "at least one")
    users = []
    rows = table(data.get("users"), "users", faults)
    output = any(isinstance(row, Mapping) and RUN in row for row in rows.values())
    for name, given in rows.items():
        row = table(given, f"users.{name}", faults)
        amounts = {}
        for key in (*AMOUNTS, *((RUN,) if output else ())):
            here = f"users.{name}.{key}"
            amounts[key] = [
                number(x, f"{here}[{k}]", faults, FINITE)
                for k, x in enumerate(listed(row.get(key), here, faults))
            ]
            if len(amounts[key]) != len(starts):
                faults.add(here, f"{len(amounts[key])} numbers", f"{len(starts)}, one a slice")
        users.append({"name": str(name), **amounts})
    ratios = {}
    for key, value in table(data.get("ratios", {}), "ratios", faults).items():
        ratios[key] = None if value is None else number(value, f"ratios.{key}", faults, FINITE)
    marks = table(data.get("finish_time_fairness", {}), "finish_time_fairness", faults)
    finish = {
        key: number(marks.get(key), f"finish_time_fairness.{key}", faults, FINITE)
        for key in (MARKS if marks else ())
    }
    of = {
        str(name): {
            key: number(
                table(row, f"{OF}.{name}", faults).get(key), f"{OF}.{name}.{key}", faults, FINITE
            )
            for key in MARKS
        }
        for name, row in table(data.get(OF, {}), OF, faults).items()
    }
    found = {
        "starts": starts,
        "users": users,
        "unit": OUTPUT if output else TASKS,
        "at_once": "output" if output else "tasks",
        "ratios": ratios,
        "hours": number(data.get("hours"), "hours", faults, POSITIVE),
        "finish_of": of,
        "policy": text(data.get("policy"), "policy", faults),
        "said": [
            *([finish_words(finish)] if finish and not faults else []),
            *(text(line, "said", faults) for line in listed(data.get("said", []), "said", faults)),
        ],
    }
    if not users and not faults:
        faults.add("users", "none", "at least one")
    faults.stop()
    return found


def data_of(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The plain data of the page."""
    found = checked(data, source)
    notion = data.get("notion")
    name = notion.get("name", "") if isinstance(notion, Mapping) else ""
    slices = f"{len(found['starts'])} slices of {found['hours']:g} h; hindsight: {name}"
    return {"kind": "replay", **found, "subtitle": slices}


__all__ = ["AMOUNTS", "SCHEMA", "checked", "data_of", "parsed", "replay_of"]
