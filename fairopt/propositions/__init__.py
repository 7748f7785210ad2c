"""The papers' statements as executable checks: PROPOSITIONS is the one table of names.

To add a statement: a function () -> Statement in a module here, and a line in the table.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.propositions.statement import Statement

# name -> "module:function", the function giving the Statement of that name
PROPOSITIONS: dict[str, str] = {
    "kesidis2018/definition-1-printed": "kesidis2018_definition:definition_1_printed",
    "kesidis2018/definition-1": "kesidis2018_definition:definition_1",
    "kesidis2018/definition-1-necessary": "kesidis2018_definition:definition_1_necessary",
    "kesidis2018/proposition-1-fills": "kesidis2018:proposition_1_fills",
    "kesidis2018/proposition-1-unique": "kesidis2018:proposition_1_unique",
    "kesidis2018/proposition-2": "kesidis2018:proposition_2",
    "kesidis2018/proposition-2-unique": "kesidis2018:proposition_2_unique",
    "kesidis2018/corollary-1": "kesidis2018:corollary_1",
    "kesidis2018/corollary-1-constant": "kesidis2018:corollary_1_constant",
    "ours/tdm-is-proportional": "ours:tdm_is_proportional",
    "ours/merging-users": "ours:merging_users",
    "ours/merging-servers": "ours:merging_servers",
    "ours/universal-bound": "ours_prices:universal",
    "ours/alpha-fair-bound": "ours_prices:closed_form",
    "ours/share-intervals": "ours_prices:intervals",
    "ours/max-min-rooms": "ours_prices:rooms",
    "ours/tradeoff-bound": "ours_tradeoff:bound",
}

_PUBLIC = {
    "Statement": "statement",
    "Hypothesis": "statement",
    "Undecided": "statement",
    "certified": "statement",
    "run": "running",
    "Row": "running",
    "replay": "counterexamples",
    "save": "counterexamples",
    "made_folder": "counterexamples",
}

__all__ = ["PROPOSITIONS", "find", "selected", *_PUBLIC]


def find(name: str) -> Statement:
    """The statement of that name.

    Raises
    ------
    UsageError : no statement has that name; the nearest are named.
    """
    if name not in PROPOSITIONS:
        raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
    module, function = PROPOSITIONS[name].split(":")
    made = getattr(importlib.import_module(f"fairopt.propositions.{module}"), function)()
    assert made.name == name, f"{function} makes {made.name}"
    statement: Statement = made
    return statement


def selected(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Names of the table in its order: all, those given, or all of a work ("kesidis2018").

    Raises
    ------
    UsageError : a name is unknown.
    """
    if names is None:
        return tuple(PROPOSITIONS)
    wanted: set[str] = set()
    for name in names:
        of = {known for known in PROPOSITIONS if known == name or known.startswith(f"{name}/")}
        if not of:
            raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
        wanted |= of
    return tuple(name for name in PROPOSITIONS if name in wanted)


def _nearest(name: str) -> str:
    works = list(dict.fromkeys(known.partition("/")[0] for known in PROPOSITIONS))
    close = difflib.get_close_matches(name, [*PROPOSITIONS, *works], 3, 0.4)
    close += [known for known in PROPOSITIONS if name and name in known and known not in close]
    if close:
        return f"wanted a known one (nearest: {', '.join(close[:3])})"
    return f"wanted a name that `fairopt propositions --list` shows, or a work: {', '.join(works)}"


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"fairopt.propositions.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'fairopt.propositions' has no attribute {name!r}")
