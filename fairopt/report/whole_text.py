"""Whole tasks as text: who is due what and gets how much, what is proved, and the gap."""

from __future__ import annotations

from fractions import Fraction

from fairopt.report.tables import ROWS, _clip, table_text
from fairopt.report.words import count, number
from fairopt.whole.proof.answer import WholeTasks
from fairopt.whole.proof.judging import Verdict


def whole_text(answer: WholeTasks, verdict: Verdict, rows: int = ROWS) -> str:
    """Whole tasks with their verdict as text of 100 columns.

    Parameters
    ----------
    rows : most users shown, those with the smallest parts first.
    """
    nodes = sum(own.count for own in answer.problem.classes)
    head = _clip(
        f"whole tasks: {count(len(answer.asked.users), 'user')}, {count(nodes, 'node')} of "
        f"{count(len(answer.problem.classes), 'kind')}"
    )
    parts = [head, _users(answer, rows), verdict.explain()]
    if answer.stopped:
        parts.append("the search was ended before its end: another run may end elsewhere")
    return "\n\n".join(part for part in parts if part)


def _users(answer: WholeTasks, most: int) -> str:
    asked, problem = answer.asked, answer.problem
    gangs = any(k > 1 for k in asked.gang)
    columns = ["user", "asked", *(["gang"] if gangs else []), "due", "whole part", "tasks", "part"]
    parts = answer.parts()
    order = sorted(range(len(parts)), key=lambda n: (parts[n], n))
    shown = order if len(order) <= most else order[: most - 1]
    lines = []
    for n in shown:
        limit = asked.asked[n]
        lines.append(
            [
                asked.users[n],
                "any" if limit is None else str(limit),
                *([str(asked.gang[n])] if gangs else []),
                number(float(asked.due[n])),
                str(problem.whole[n]),
                str(answer.totals[n]),
                _part(parts[n]) if problem.whole[n] else "-",
            ]
        )
    if not asked.parts:  # of the fairest levels nothing is due
        columns = [*columns[:-4], "tasks"]
        lines = [[*line[:-4], line[-2]] for line in lines]
    return table_text(columns, lines, len(order) - len(shown), (0,))


def _part(x: Fraction) -> str:
    return str(x) if x.denominator < 1000 else number(float(x))
