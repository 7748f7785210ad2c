"""A plan as plain data of the page: teams, what each workload is told, nodes, moves, the verdict.

The plan is judged again when the page is made; what its file says of itself is only a claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import rows as plan_rows
from fairopt.report import plan_text
from fairopt.report.html import verdict

MOST_MOVES = 2000
"""most moves that a page lists; how many there are is always said"""
STEPS = ("stop", "start", "move", "pause", "resume", "leave")


def data_of(content: str, source: str) -> dict[str, Any]:
    """The plain data of a plan.

    Raises
    ------
    BadInput : not of the form of a plan.
    """
    plan = plan_rows.loads(content, source)
    judged = judging.judge(plan)
    moves = [row for row in plan.get("moves", ()) if row["do"] in STEPS]
    many = Counter(row["do"] for row in plan.get("moves", ()))
    return {
        "kind": "plan",
        "subtitle": plan_text.head(plan),
        "certified": judged.certified,
        "gap": verdict.finite(judged.certificate.gap),
        "judged": [
            {"name": check.name, "holds": check.holds, "where": check.witness}
            for check in judged.checks
        ],
        "proved": _proved(judged),
        "queues": [_queue(row) for row in plan["queues"]],
        "workloads": [
            {
                key: row[key]
                for key in ("workload", "queue", "asked", "held", "due", "whole", "says")
            }
            for row in plan["workloads"]
        ],
        "shapes": [_shape(row) for row in plan["shapes"]],
        "moves": moves[:MOST_MOVES],
        "moved": dict(sorted(many.items())),
        "aside": list(plan_text.aside(plan)),
    }


def _proved(judged: judging.JudgedPlan) -> list[str]:
    """What is proved of whole tasks, and of those that stay, a line each."""
    lines = [] if judged.whole is None else judged.whole.verdict.explain().splitlines()
    lines = [f"Whole tasks: {line}" if k == 0 else line.strip() for k, line in enumerate(lines)]
    return lines if judged.stays is None else [*lines, f"Running: {judged.stays.explain()}"]


def _queue(row: Mapping[str, Any]) -> dict[str, Any]:
    could = row.get("could_hold")
    return {
        **{key: row[key] for key in ("queue", "weight", "asked", "held", "due", "whole")},
        "could": None if could is None else could["tasks"],
        "change": plan_text.difference(row["difference"]),
    }


def _shape(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "shape": row["shape"],
        "count": row["count"],
        "nodes": row["nodes"],
        "use": {key: part for key, part in row["use"].items() if key in row["capacity"]},
        "stranded": plan_text.stranded(row),
        "machines": [[own["count"], own["tasks"]] for own in row["machines"]],
    }
