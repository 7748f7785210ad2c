"""Ledgers by the name of a product: a row of `POLICIES`, written "kai:half=7d,k=1"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairopt.errors import UsageError
from fairopt.instance.labels import nearest
from fairopt.overtime.durations import hours

FORGETS = "found 0; wanted > 0 (half-life 0 is not one thing: Kueue forgets all, KAI nothing)"


@dataclass(frozen=True)
class Policy:
    """What a product remembers and does with it.

    Parameters
    ----------
    kind : of `states.KINDS`, or credits. rule : of `rules.RULES`, or karma.
    words : what it is, with its source. defaults : of the settings it takes.
    """

    kind: str
    rule: str
    words: str
    defaults: dict[str, Any] = field(default_factory=dict)


POLICIES: dict[str, Policy] = {
    "slice": Policy("average", "none", "no memory: every slice alone", {"half": 1.0}),
    "kai": Policy(
        "sum",
        "kai",
        "KAI time-based fairshare: weights from use over capacity",
        {"half": math.inf, "k": 1.0, "of": "dominant", "length": math.inf, "reset": math.inf},
    ),
    "kueue": Policy(
        "average",
        "rank",
        "Kueue admission fair sharing: least used first",
        {"half": 24.0, "of": "dominant"},
    ),
    "slurm": Policy(
        "sum",
        "rank",
        "Slurm fair tree: least used for its shares first, level by level",
        {"half": 168.0, "of": "dominant"},
    ),
    "condor": Policy(
        "average",
        "condor",
        "HTCondor user priority: in inverse ratio of use times factor",
        {"half": 24.0, "of": "tasks"},
    ),
    "karma": Policy(
        "credits",
        "karma",
        "Karma (OSDI 2023): borrow for credits, lend to earn them",
        {"alpha": 0.5, "credits": math.inf},
    ),
    "window": Policy(
        "window",
        "rank",
        "least used in a window first, which slides, or begins anew (reset)",
        {"length": 168.0, "reset": math.inf, "of": "dominant"},
    ),
    "budget": Policy(
        "budget",
        "left",
        "hours of use that everybody may have in all, or until it begins anew (reset)",
        {"most": math.inf, "reset": math.inf, "of": "dominant"},
    ),
    "totals": Policy(
        "total",
        "had",
        "totals so far: targets and welfare count what was had, in the unit of `of`",
        {"half": math.inf, "of": "dominant"},
    ),
}
"""name -> what it is; a product that remembers otherwise is a row here"""


def policy(given: str) -> tuple[str, Policy, dict[str, Any]]:
    """Name, row and settings of "name" or "name:key=value,key=value".

    Raises
    ------
    UsageError : an unknown name or key, a value that is none; half-life 0.
    """
    name, _, rest = given.partition(":")
    if name not in POLICIES:
        raise UsageError(f"policy: found {name!r}; wanted {nearest(name, list(POLICIES))}")
    row = POLICIES[name]
    settings = dict(row.defaults)
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if key not in settings or not equals:
            wanted = ", ".join(f"{k}=" for k in settings) or "no settings"
            raise UsageError(f"policy {name}: found {part!r}; wanted {wanted}")
        settings[key] = _READ.get(key, _number)(value, f"policy {name}, {key}")
    return name, row, settings


def _duration(value: str, place: str) -> float:
    if value == "inf":
        return math.inf
    if value.strip("0.smhdw") == "" and value.strip("smhdw.") and set(value) & {"0"}:
        raise UsageError(f"{place}: {FORGETS}")
    try:
        return hours(value, place)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _number(value: str, place: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not found >= 0:
        raise UsageError(f"{place}: found {value!r}; wanted a number >= 0")
    return found


def _text(value: str, place: str) -> str:
    return value


_READ: dict[str, Callable[[str, str], Any]] = {
    "half": _duration,
    "length": _duration,
    "reset": _duration,
    "of": _text,
}

__all__ = ["POLICIES", "Policy", "policy"]
