"""Two replays side by side: who holds and is owed more, and whose jobs wait, by user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.errors import UsageError
from fairopt.filling.compared import text
from fairopt.report.replay_text import MOST_USERS, number

SCHEMA = "fairopt/replay/diff/v1"


def beside(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data of two replays as `replay_data.checked` returns them; users by name, those whose
    debt grows most first.

    Raises
    ------
    UsageError : the two have no user in common, or one has modes and the other none.
    """
    ends = [_ends(one) for one in (before, after)]
    if before["unit"] != after["unit"]:
        raise UsageError(
            f"diff: found a replay in {before['unit']} and one in {after['unit']}; wanted the same"
        )
    both = [name for name in ends[0] if name in ends[1]]
    if not both:
        raise UsageError("diff: found two replays without a user in common; wanted the same users")
    rows: list[dict[str, Any]] = [
        {"user": name, "before": ends[0][name], "after": ends[1][name]} for name in both
    ]
    rows.sort(key=lambda row: row["before"]["owed"] - row["after"]["owed"])
    return {
        "schema": SCHEMA,
        "policies": [before["policy"], after["policy"]],
        "unit": before["unit"],
        "users": rows,
        "ratios": {
            key: [before["ratios"].get(key), after["ratios"].get(key)] for key in ("held", "ledger")
        },
        "only_before": [name for name in ends[0] if name not in ends[1]],
        "only_after": [name for name in ends[1] if name not in ends[0]],
        "same_wants": all(
            abs(ends[0][k]["wanted"] - ends[1][k]["wanted"]) <= 1e-6 * (1 + ends[0][k]["wanted"])
            for k in both
        ),
    }


def _ends(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """{user: hours wanted and held, owed at the end, median of its jobs}."""
    return {
        one["name"]: {
            "wanted": sum(one["wants"]) * found["hours"],
            "held": sum(one["held"]) * found["hours"],
            "owed": one["debt"][-1],
            "half_below": found["finish_of"].get(one["name"], {}).get("p50"),
        }
        for one in found["users"]
    }


def words(found: Mapping[str, Any]) -> str:
    """The table of `beside`, and what became of the ratios."""
    first, second = found["policies"]
    waits = all(row[k]["half_below"] is not None for row in found["users"] for k in _SIDES)
    head = ["user", "held", "then", "owed", "then", "change"]
    rows = []
    for row in found["users"][:MOST_USERS]:
        a, b = (row[k] for k in _SIDES)
        cells = [a["held"], b["held"], a["owed"], b["owed"], b["owed"] - a["owed"]]
        cells += [a["half_below"], b["half_below"]] if waits else []
        rows.append([row["user"], *(number(x) for x in cells)])
    head += ["finish-time fairness, half below", "then"] if waits else []
    lines = [f"before: {first}; then: {second}; {found['unit']}", "", text(head, rows, "terminal")]
    if len(found["users"]) > MOST_USERS:
        lines.append(f"and {len(found['users']) - MOST_USERS} more users")
    lines.append("")
    for key, name in (("held", "what was held"), ("ledger", "the policy")):
        a, b = found["ratios"][key]
        if a is not None and b is not None:
            lines.append(f"{name} reached {100 * a:.4g} % of hindsight, then {100 * b:.4g} %")
    if not found["same_wants"]:
        lines.append("note: the two are of different wants, so debts are not of one hindsight")
    for key, side in (("only_before", "before"), ("only_after", "then")):
        if found[key]:
            lines.append(f"note: only {side}: {', '.join(found[key][:8])}")
    return "\n".join(lines)


_SIDES = ("before", "after")

__all__ = ["SCHEMA", "beside", "words"]
