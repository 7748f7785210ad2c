"""A replay and a horizon in words: who held what, who was due what, and what is owed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.filling.compared import text
from fairopt.overtime.horizon import Horizon
from fairopt.overtime.replay import Replay

MOST_USERS = 60
"""most users in a table"""
TASKS, OUTPUT = "task-hours", "hours of output"
"""what is held and due is counted in, without and with modes"""
SCARCE = 8
"""most scarce hours that are told"""


def replay_text(found: Replay, title: str) -> str:
    """The table of users in task-hours, those to whom most is owed first, and the ratios; with
    modes, tasks that ran, and of what is held and due the output."""
    modes = found.instance.modes is not None
    run = {"held_tasks": "run"} if modes else {}
    by = {
        name: np.asarray(getattr(found, name)).sum(axis=0) * found.hours
        for name in ("wants", *run, "held", "alone", "ledger", "hindsight")
    }
    debt = found.debt
    order = np.argsort(-debt[-1], kind="stable")
    # what is owed stands where a narrow terminal shows it
    columns = {
        "wanted": by["wants"],
        **{told: by[name] for name, told in run.items()},
        "held": by["held"],
        "due in hindsight": by["hindsight"],
        "owed at the end": debt[-1],
        "at the worst": debt.max(axis=0, initial=0.0),
        "due by the slice": by["alone"],
        f"due by {found.policy}": by["ledger"],
    }
    head = ["user", *columns]
    rows = [
        [found.instance.users[n], *(number(float(each[n])) for each in columns.values())]
        for n in order[:MOST_USERS].tolist()
    ]
    verdict = found.answer.certificate
    lines = [
        title,
        f"{len(found.starts)} slices of {found.hours:g} h"
        f"{f'; wanted and run in {TASKS}, the rest in {OUTPUT}' if modes else f', {TASKS}'}; "
        f"hindsight is "
        f"{found.answer.notion['name']}, {'not judged' if verdict is None else verdict.verdict}",
        "",
        text(head, rows, "terminal"),
    ]
    if len(order) > MOST_USERS:
        lines.append(f"and {len(order) - MOST_USERS} more users")
    lines += ["", *_ratios(found.ratios, found.policy)]
    if found.finish is not None:
        lines.append(finish_words(found.finish))
    if found.finish_of:
        lines += ["", text(FINISH, finish_rows(found.finish_of), "terminal")]
    return "\n".join([*lines, *(f"note: {line}" for line in found.said)])


FINISH = ["user", "jobs", "half below", "a tenth above", "worst", "above 1.05"]


def finish_rows(of: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """Finish-time fairness by user, those of the largest median first."""
    order = sorted(of, key=lambda name: -of[name]["p50"])[:MOST_USERS]
    return [
        [
            name,
            f"{of[name]['jobs']:,.0f}",
            *(number(of[name][key]) for key in ("p50", "p90", "worst")),
            f"{100 * of[name]['above']:.3g} %",
        ]
        for name in order
    ]


def finish_words(marks: Mapping[str, float]) -> str:
    """Finish-time fairness of jobs, of what `overtime.measured.summary` says."""
    return (
        f"finish-time fairness of {marks['jobs']:,.0f} jobs: worst {marks['worst']:.4g}, half "
        f"below {marks['p50']:.4g}, a tenth above {marks['p90']:.4g}, a hundredth above "
        f"{marks['p99']:.4g}; {100 * marks['above']:.4g} % above 1.05"
    )


def _ratios(ratios: Mapping[str, float | None], policy: str) -> list[str]:
    words = {"held": "what was held", "alone": "each slice alone", "ledger": policy}
    return [
        f"{words[name]} reached {100 * ratio:.4g} % of hindsight (proved)"
        for name, ratio in ratios.items()
        if ratio is not None
    ]


def horizon_text(whole: Horizon, answer: Allocation, title: str) -> str:
    """What every user gets over the horizon, and which hours are scarce."""
    plan, hours = whole.split(answer).sum(axis=2), whole.hours
    wanted = np.where(np.isfinite(whole.wants), whole.wants, np.nan) * hours[:, None]
    rows = [
        [
            user,
            "all" if np.isnan(wanted[:, n]).any() else number(float(wanted[:, n].sum())),
            number(float(plan[:, n] @ hours)),
            number(float(answer.shares[n])),
        ]
        for n, user in enumerate(whole.base.users[:MOST_USERS])
    ]
    verdict = answer.certificate
    lines = [
        title,
        f"{len(hours)} slices, {answer.notion['name']}: "
        f"{'not judged' if verdict is None else verdict.verdict}",
        "",
        text(["user", "wanted", "task-hours", "share"], rows, "terminal"),
    ]
    if len(whole.base.users) > MOST_USERS:
        lines.append(f"and {len(whole.base.users) - MOST_USERS} more users")
    if answer.prices is not None and answer.prices.any():
        inst = whole.instance
        dear = np.argwhere(answer.prices > 1e-9 * answer.prices.max())
        dear = dear[np.argsort(-answer.prices[dear[:, 0], dear[:, 1]], kind="stable")]
        lines += ["", "dearest hours:"]
        lines += [
            f"  {inst.resources[r]} of {inst.servers[i]}: {answer.prices[i, r]:.6g}"
            for i, r in dear[:SCARCE].tolist()
        ]
    return "\n".join(lines)


def number(value: Any) -> str:
    """Four digits, or 0 for what rounding leaves."""
    return f"{0.0 if abs(value) < 1e-9 else value:.4g}"


# Two replays side by side: who holds and is owed more, and whose jobs wait, by user.


BESIDE_SCHEMA = "fairopt/replay/diff/v1"


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
        "schema": BESIDE_SCHEMA,
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


def beside_words(found: Mapping[str, Any]) -> str:
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


__all__ = ["finish_words", "horizon_text", "replay_text"]
