"""An audit, and the differences of two answers, as text."""

from __future__ import annotations

import math

from fairopt.allocation.check import REFUTED
from fairopt.auditing import Audit, Team
from fairopt.auditing.between import Differences, UserChange
from fairopt.report.tables import aligned
from fairopt.report.words import count, folded, listed, number

ROWS = 20
"""most teams or users of a table; all are in the JSON"""
SENTENCES = 8
"""most teams of whom a sentence says why they hold less than they could"""


def audit_text(found: Audit, title: str = "") -> str:
    """What every team holds, is due and could hold; why; what rules are broken; the verdict."""
    users = len(found.teams)
    notion = found.answer.notion["name"]
    head = [title] if title else []
    head.append(f"audit against {notion}: {count(users, 'user')}")
    rows = [_row(team) for team in found.teams[:ROWS]]
    guaranteed = any(team.guaranteed > 0 for team in found.teams)
    columns = ["user", "held", "due", "difference", "could hold"]
    if guaranteed:
        columns.append("short of guarantee")
    rows = [row if guaranteed else row[:5] for row in rows]
    parts = ["\n".join(head), aligned(columns, rows, max(0, users - ROWS)), _amounts(found)]
    told = [sentence(team) for team in found.teams if _lacks(team)]
    parts.append("\n".join(told[:SENTENCES]))
    parts.append("\n".join([f"broken today: {rule}" for rule in found.broken]))
    parts.append(_closing(found))
    return "\n\n".join(part for part in parts if part)


def sentence(team: Team) -> str:
    """Why a team holds less than it could, and who has it."""
    assert team.could_hold is not None
    more = f"{team.user} holds {number(team.held)}; {number(team.could_hold)} is possible"
    more += " without touching anybody at or below it" + ("" if team.proved else " (not proved)")
    if not team.holders:
        return folded(f"{more}: what it lacks stands idle.")
    first = team.holders[0]
    who = [
        f"{h.user} holds {number(h.amount)} of {number(h.there)} {h.resource} "
        f"on {h.server} ({100 * h.part:.0f} %)"
        for h in (first, *team.holders[1:3])
    ]
    rest = f", and {len(team.holders) - 3} more" if len(team.holders) > 3 else ""
    return folded(f"{more}: {'; '.join(who)}{rest}.")


def differences_text(found: Differences) -> str:
    """Losers first, then gainers; then the resources that are full on one side only."""
    rows = [_change(change) for change in (*found.losers, *found.gainers)[:ROWS]]
    moved = len(found.losers) + len(found.gainers)
    parts = [
        f"{count(len(found.losers), 'user')} with less, {len(found.gainers)} with more, "
        f"{len(found.users) - moved} with the same"
    ]
    if rows:
        columns = ["user", "before", "after", "change", "level before", "level after"]
        parts.append(aligned(columns, rows, max(0, moved - ROWS)))
    odd = [
        change.user
        for change in found.losers
        if change.level_before is not None
        and change.level_after is not None
        and change.level_after > change.level_before * (1 + 1e-6)
    ]
    if odd:
        parts.append(
            folded(
                f"fewer tasks at a higher level: {listed(odd, SENTENCES, True)} (levels are parts "
                "of the cluster by weight, and cluster or weights are others now)"
            )
        )
    for words, places in (("now full", found.filled), ("no longer full", found.freed)):
        if places:
            named = [f"{resource} on {server}" for server, resource in places]
            parts.append(folded(f"{words}: {listed(named, SENTENCES, True)}"))
    if found.whole is not None:
        promised = (
            ""
            if found.promised is None
            else (f" (the prices of before allow at most {100 * found.promised:+.3g} %)")
        )
        parts.append(f"to all together: {100 * found.whole:+.3g} %{promised}")
    return "\n\n".join(parts)


def _row(team: Team) -> list[str]:
    could = "-" if team.could_hold is None else number(team.could_hold)
    mark = "" if team.proved or team.could_hold is None else " ?"
    return [
        team.user,
        number(team.held),
        number(team.due),
        f"{_apart(team):+.6g}",
        could + mark,
        number(team.short),
    ]


def _apart(team: Team) -> float:
    """What a team is due beyond what it holds; 0 within rounding."""
    found = team.due - team.held
    return found if abs(found) > 1e-12 * team.due else 0.0


def _lacks(team: Team) -> bool:
    return team.could_hold is not None and team.could_hold > team.held * (1 + 1e-6) + 1e-12


def _amounts(found: Audit) -> str:
    """Resource by resource: held and due, of the teams that differ most."""
    resources = found.instance.resources
    if not 1 < len(resources) <= 4:
        return ""
    rows = [
        [team.user, *(f"{number(h)} -> {number(d)}" for h, d in team.amounts.values())]
        for team in found.teams[:ROWS]
    ]
    return aligned(["user", *resources], rows, max(0, len(found.teams) - ROWS))


def _closing(found: Audit) -> str:
    lines = []
    if found.moved is not None:
        lines.append(f"fewest tasks to move to what is due: {number(found.moved)}")
    else:
        lines.append("fewest tasks to move to what is due: not found")
    if found.judged.certified:
        lines.append("today's division is the fair one: certified")
    elif math.isfinite(found.judged.gap):
        far = found.judged.residual
        worst = f"residual of the worst user {100 * far:.3g} %"
        lines.append(
            f"today's division is not the fair one: gap {100 * found.judged.gap:.3g} %, "
            + (worst if math.isfinite(far) else "no bound is proved of the worst user")
        )
    else:
        known = "not the fair one" if found.judged.verdict == REFUTED else found.judged.verdict
        lines.append(f"today's division is {known}: no bound of how far it is")
    certificate = found.answer.certificate
    assert certificate is not None
    lines.append(
        f"what is due: {certificate.verdict}, gap {certificate.gap:.2g}, "
        f"residual {certificate.residual:.2g}"
    )
    return "\n".join(lines)


def _change(change: UserChange) -> list[str]:
    numbers = [change.before, change.after, change.level_before, change.level_after]
    told = ["-" if value is None else number(value) for value in numbers]
    if change.before is None:
        part = "new"
    elif change.after is None:
        part = "gone"
    elif math.isinf(change.relative):
        part = "from nothing"
    else:
        part = f"{100 * change.relative:+.3g} %"
    return [change.user, *told[:2], part, *told[2:]]
