"""One table of a plan, with the columns that are asked for: as text of any width, or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.errors import UsageError
from fairopt.instance.labels import nearest
from fairopt.report import plan_text
from fairopt.report.tables import WHOLE, table_text
from fairopt.report.words import number

TABLES = {
    "queues": ("queue", "weight", "asked", "held", "due", "could_hold", "whole", "share"),
    "workloads": (
        *("workload", "queue", "weight", "asked", "held", "held_out", "due", "whole", "loss"),
        *("level", "status", "says"),
    ),
    "shapes": ("shape", "count", "stranded", "nodes"),
}
"""columns of each table; what a task asks and what of a shape is used follow by resource"""
LONG = ("says", "nodes")
"""columns of whole sentences and lists, which stand last"""
_BY_RESOURCE = {"queues": "difference", "workloads": "demand", "shapes": "use"}


def cells(
    plan: Mapping[str, Any], name: str, columns: Sequence[str] = ()
) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows of a table of a plan.

    Parameters
    ----------
    name : "queues", "workloads" or "shapes". columns : which, in order; all if none are named.

    Raises
    ------
    UsageError : an unknown column, with the nearest there is.
    """
    by = _BY_RESOURCE[name]
    known = [*TABLES[name], *(f"{by}.{key}" for key in plan["resources"])]
    known.sort(key=lambda column: column in LONG)
    for column in columns:
        if column not in known:
            raise UsageError(f"--columns: found {column!r}; wanted {nearest(column, known)}")
    chosen = list(columns) or known
    return chosen, [[_cell(row, column) for column in chosen] for row in plan[name]]


def _cell(row: Mapping[str, Any], column: str) -> Any:
    key, _, resource = column.partition(".")
    if key == "stranded":
        return plan_text.stranded(row)
    value = row.get(key)
    if resource:
        return (value or {}).get(resource, 0)
    if key == "could_hold":
        return None if value is None else value["tasks"]
    return " ".join(value) if isinstance(value, list) else value


def text(plan: Mapping[str, Any], name: str, columns: Sequence[str] = ()) -> str:
    """The table with every row, on lines as long as they need; no column is left out."""
    head, rows = cells(plan, name, columns)
    left = tuple(
        k for k in range(len(head)) if any(isinstance(row[k], str) for row in rows) or k == 0
    )
    shown = [[_shown(value) for value in row] for row in rows]
    return table_text(head, shown, 0, left, WHOLE.width)


def _shown(value: Any) -> str:
    if value is None:
        return "any"
    return value if isinstance(value, str) else number(value)


def to_csv(plan: Mapping[str, Any], name: str, columns: Sequence[str] = ()) -> str:
    """The table as CSV; numbers without loss, what is not limited or not computed empty."""
    head, rows = cells(plan, name, columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()
