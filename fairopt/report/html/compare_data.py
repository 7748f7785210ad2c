"""A comparison as plain data for the page: rows, properties in words, witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.properties import PROPERTIES
from fairopt.report.html.answer_data import one

SHORT = {
    "sharing-incentive": "SI",
    "envy-free": "EF",
    "pareto-optimal": "PO",
    "bottleneck-fair": "BF",
    "single-resource-fair": "SRF",
    "no-justified-complaints": "NJC",
    "pool-sharing-incentive": "PSI",
    "single-bottleneck-fair": "SBF",
}
"""how heads of columns abbreviate the names of properties"""
USERS = 6
"""with more users than this the table has no columns of tasks"""


def data(found: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison (schema fairopt/compare/v1) as plain data of the page."""
    rows = list(found["rows"])
    users = list(dict.fromkeys(user for row in rows for user in row.get("totals", {})))
    properties = list(dict.fromkeys(name for row in rows for name in row.get("properties", {})))
    answered = sum(row["status"] == "answered" for row in rows)
    clean = sum(not row["fails"] for row in rows if "fails" in row)
    return {
        "kind": "comparison",
        "model": str(found.get("model") or "one model"),
        "users": users if len(users) <= USERS else [],
        "properties": {
            name: {"short": SHORT.get(name, name), "says": _said(name)} for name in properties
        },
        "rows": [_row(row, users if len(users) <= USERS else [], properties) for row in rows],
        "subtitle": f"{answered} of {len(rows)} notions and schedulers have an answer; of {clean} "
        "no property fails. Verdicts are those of the file.",
    }


def _said(name: str) -> str:
    """What a property says: the first sentence of its definition."""
    judge = PROPERTIES.get(name)
    return name if judge is None else str(judge.__doc__).split("\n\n")[0].strip()


def _row(row: Mapping[str, Any], users: list[str], properties: list[str]) -> dict[str, Any]:
    values = ", ".join(
        f"{v:g}" if isinstance(v, float) else str(v) for v in row["parameters"].values()
    )
    found: dict[str, Any] = {
        "label": f"{row['name']} ({values})" if values else str(row["name"]),
        "status": row["status"],
        "reason": str(row.get("reason") or ""),
        "verdict": row.get("verdict"),
    }
    if row["status"] != "answered":
        return found
    used = list(row["utilisation"].values())
    return found | {
        "totals": [_one(row["totals"].get(user)) for user in users],
        "used": sum(used) / len(used) if used else None,
        **{key: _one(row.get(key)) for key in ("efficiency", "least", "most")},
        "properties": {
            name: {**check, "residual": _one(check.get("residual"))}
            for name in properties
            if (check := row["properties"].get(name)) is not None
        },
    }


def _one(value: Any) -> float | int | None:
    return one(value) if isinstance(value, int | float) else None
