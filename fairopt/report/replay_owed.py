"""Why a user is owed what it is owed: in which slices that came about, and who held it then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.filling.compared import text
from fairopt.instance.labels import nearest
from fairopt.report.replay_text import OUTPUT, TASKS, number

SCHEMA = "fairopt/replay/owed/v1"
STRETCHES = 6
"""most stretches of time that are told"""
HOLDERS = 3
SMALL = 1e-9


def owed(found: Mapping[str, Any], user: str) -> dict[str, Any]:
    """Plain data of one user's debt, from `replay_data.checked`.

    A stretch is slices in a row in which the debt grows, or falls; of each the hours wanted, held
    and due, and who held more than hindsight gives it in the slices in which USER held less.

    Raises
    ------
    UsageError : an unknown user.
    """
    names = [one["name"] for one in found["users"]]
    if user not in names:
        raise UsageError(f"USER: found {user!r}; wanted {nearest(user, names)}")
    n, hours = names.index(user), found["hours"]
    run = ("held_tasks",) if found["unit"] == OUTPUT else ()
    by = {
        key: np.array([one[key] for one in found["users"]]).T * hours
        for key in ("wants", "held", "alone", "ledger", "hindsight", *run)
    }
    short = by["hindsight"] - by["held"]  # (T, N) of each slice
    mine = short[:, n]
    level = SMALL * max(1.0, float(np.abs(short).max()))
    sign = np.where(np.abs(mine) <= level, 0, np.sign(mine)).astype(int)
    cuts = [0, *(np.flatnonzero(np.diff(sign)) + 1).tolist(), len(sign)]
    stretches = [
        _stretch(found, by, short, names, n, first, last)
        for first, last in zip(cuts[:-1], cuts[1:], strict=True)
        if sign[first]
    ]
    stretches.sort(key=lambda one: -abs(one["change"]))
    totals = {key: float(rows[:, n].sum()) for key, rows in by.items()}
    return {
        "schema": SCHEMA,
        "user": user,
        "policy": found["policy"],
        "unit": found["unit"],
        **totals,
        "owed": float(mine.sum()),
        "owed_by_the_ledger": totals["ledger"] - totals["held"],
        "stretches": stretches,
        "finish_time_fairness": found["finish_of"].get(user),
    }


def _stretch(
    found: Mapping[str, Any],
    by: Mapping[str, Any],
    short: Any,
    names: list[str],
    n: int,
    first: int,
    last: int,
) -> dict[str, Any]:
    """Slices first to last - 1, in which what is owed to user n grows, or falls."""
    change = float(short[first:last, n].sum())
    # who held what it was not due when n went short, or went short when n held more
    other = -np.sign(change) * short[first:last].sum(axis=0)
    other[n] = 0.0
    order = np.argsort(-other, kind="stable")[:HOLDERS]
    return {
        "from": found["starts"][first],
        "until": found["starts"][last - 1] + found["hours"],
        "change": change,
        **{key: float(by[key][first:last, n].sum()) for key in ("wants", "held", "hindsight")},
        "others": {names[m]: float(other[m]) for m in order.tolist() if other[m] > SMALL},
    }


def words(debt: Mapping[str, Any]) -> str:
    """`owed` in sentences and a table."""
    user, amount = debt["user"], debt["owed"]
    size = abs(amount)
    state = "is owed nothing"
    if size > SMALL * max(1.0, debt["hindsight"]):
        state = f"is owed {number(size)}" if amount > 0 else f"held {number(size)} more than due"
    due, wanted, held = (number(debt[key]) for key in ("hindsight", "wants", "held"))
    plain = debt["unit"] == TASKS
    lines = [
        f"{user} {state}: {due} {TASKS} were due in hindsight of {wanted} wanted, {held} were held"
        if plain
        else f"{user} {state}: {due} {OUTPUT} were due in hindsight, {held} were held; "
        f"{wanted} {TASKS} were wanted, {number(debt['held_tasks'])} were run",
        f"each slice alone would have given {number(debt['alone'])}, "
        f"{debt['policy']} {number(debt['ledger'])}",
    ]
    if plain and debt["hindsight"] >= debt["wants"] * (1 - 1e-9):
        lines.append("all that it wanted was due: it wanted less than others")
    if debt["stretches"]:
        rows = [
            [
                f"{one['from']:.12g} h",
                f"{one['until']:.12g} h",
                *(number(one[key]) for key in ("wants", "held", "hindsight")),
                f"{one['change']:+.4g}",
                ", ".join(f"{k} {number(x)}" for k, x in one["others"].items()) or "-",
            ]
            for one in debt["stretches"][:STRETCHES]
        ]
        head = ["from", "until", "wanted", "held", "due", "owed", "others held more (or less)"]
        lines += ["", text(head, rows, "terminal")]
        if len(debt["stretches"]) > STRETCHES:
            lines.append(f"and {len(debt['stretches']) - STRETCHES} shorter stretches")
    marks = debt["finish_time_fairness"]
    if marks is not None:
        lines += [
            "",
            f"finish-time fairness of its {marks['jobs']:,.0f} jobs: half below "
            f"{number(marks['p50'])}, a tenth above {number(marks['p90'])}, worst "
            f"{number(marks['worst'])}",
        ]
    return "\n".join(lines)


__all__ = ["SCHEMA", "owed", "words"]
