"""Whole tasks as text: who is due what and gets how much, what is proved, and the gap."""

from __future__ import annotations

from fractions import Fraction

from fairopt.report.tables import ROWS, _clip, _table
from fairopt.report.words import count, number
from fairopt.whole.proof import claims
from fairopt.whole.proof.answer import WholeTasks
from fairopt.whole.proof.judging import GAP, PROVED, REFUTED, Verdict

_WORDS = {PROVED: "proved", GAP: "right, with a gap", REFUTED: "refuted"}


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
    parts = [head, _users(answer, rows), verdict_text(verdict)]
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
        lines.append([
            asked.users[n], "any" if limit is None else str(limit),
            *([str(asked.gang[n])] if gangs else []),
            number(float(asked.due[n])), str(problem.whole[n]), str(answer.totals[n]),
            _part(parts[n]) if problem.whole[n] else "-",
        ])  # fmt: skip
    return _table(columns, lines, len(order) - len(shown), (0,))


def _part(x: Fraction) -> str:
    return str(x) if x.denominator < 1000 else number(float(x))


def verdict_text(verdict: Verdict) -> str:
    """What is proved, what is open, and by how much."""
    lines = [f"{_WORDS.get(verdict.state, verdict.state)}: {_short(verdict)}"]
    for measure, words in ((claims.PARTS, "whole parts"), (claims.DUES, "all that is due")):
        own = [(level, holds) for level, holds in verdict.levels if level.measure == measure]
        if not own:
            lines.append(f"  {words}: everybody has it")
            continue
        good = sum(holds for _, holds in own)
        low = own[0][0]
        lines.append(
            f"  {words}: lowest {_part(low.value)}, of {count(len(low.users), 'user')}; "
            f"{good} of {count(len(own), 'level')} proved best"
        )
    first = next((level for level, holds in verdict.levels if not holds), None)
    if first is not None and verdict.highest is not None:
        what = "part of the whole part" if first.measure == claims.PARTS else "part of the due"
        lines.append(
            f"  gap: the first level not proved is {number(float(first.value))} ({what}); "
            f"it could be {number(float(verdict.highest))} at most, or have fewer users"
        )
    for check in verdict.checks:
        if not check.holds:
            lines.append(f"  FAIL {check.name}: {check.witness}")
    return "\n".join(lines)


def _short(verdict: Verdict) -> str:
    if verdict.short == 0:
        return "nobody is short of a whole task"
    least = "the least" if verdict.least == verdict.short else f"at least {verdict.least}"
    return f"{count(verdict.short, 'task')} short of whole parts, {least} there can be"
