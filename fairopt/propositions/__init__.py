"""The papers' statements as executable checks: PROPOSITIONS is the one table of names.

To add a statement: a check (instance, seed) -> Check under `@stated(...)` in a module here, which
is named in `_STATING`. The modules are imported when the table is first asked for. What each check
computes is in docs/maths/propositions.md.

References
----------
kesidis2018 : Kesidis et al., Scheduling distributed resources in heterogeneous private clouds,
    arXiv 1705.06102 (2017).
kesidis2016 : Kesidis et al., Fair scheduling of multiple resource types over multiple and
    heterogeneous resource pools, tech report CSE-16-009 (2016).
khamse2016 : Khamse-Ashari et al., Per-Server Dominant-Share Fairness: a multi-resource fair
    allocation mechanism for heterogeneous servers, arXiv 1611.00404 (2016).
bonald2015 : Bonald and Roberts, Multi-resource fairness: objectives, algorithms and performance,
    SIGMETRICS (2015).
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.propositions.counterexamples import made_folder as made_folder
    from fairopt.propositions.counterexamples import replay as replay
    from fairopt.propositions.counterexamples import save as save
    from fairopt.propositions.running import Row as Row
    from fairopt.propositions.running import run as run
    from fairopt.propositions.statement import Hypothesis as Hypothesis
    from fairopt.propositions.statement import Statement as Statement
    from fairopt.propositions.statement import Undecided as Undecided
    from fairopt.propositions.statement import certified as certified

    PROPOSITIONS: Mapping[str, Statement]

# modules below fairopt.propositions that state something, in the order of the tables
_STATING = (
    "kesidis2018_definition", "kesidis2018", "khamse2016", "khamse2016_properties",
    "khamse2016_lies", "kesidis2016", "kesidis2016_drf", "bonald2015", "bonald2015_lies",
    "bonald2015_examples", "bonald2015_properties", "bonald2015_stability", "ours",
    "ours_prices", "ours_tradeoff",
)  # fmt: skip

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


@cache
def _table() -> Mapping[str, Statement]:
    for module in _STATING:
        importlib.import_module(f"fairopt.propositions.{module}")
    from fairopt.propositions.statement import REGISTRY

    def place(statement: Statement) -> int:
        """Position of its module in `_STATING`; modules may be imported in another order."""
        return _STATING.index(statement.check.__module__.rpartition(".")[2])

    return MappingProxyType({s.name: s for s in sorted(REGISTRY.values(), key=place)})


def find(name: str) -> Statement:
    """The statement of that name.

    Raises
    ------
    UsageError : no statement has that name; the message lists the nearest.
    """
    if name not in _table():
        raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
    return _table()[name]


def selected(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Names of statements in the order of the table: all, those given, or all of a paper.

    Parameters
    ----------
    names : of statements ("kesidis2018/definition-1") or of papers ("kesidis2018"); None is all.

    Raises
    ------
    UsageError : a name is unknown.
    """
    if names is None:
        return tuple(_table())
    wanted: set[str] = set()
    for name in names:
        of = {known for known in _table() if known == name or known.startswith(f"{name}/")}
        if not of:
            raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
        wanted |= of
    return tuple(name for name in _table() if name in wanted)


def _nearest(name: str) -> str:
    works = list(dict.fromkeys(known.partition("/")[0] for known in _table()))
    close = difflib.get_close_matches(name, [*_table(), *works], 3, 0.4)
    close += [known for known in _table() if name and name in known and known not in close]
    if close:
        return f"wanted a known one (nearest: {', '.join(close[:3])})"
    return f"wanted a name that `fairopt propositions --list` shows, or a work: {', '.join(works)}"


if not TYPE_CHECKING:  # a checker that sees this function takes every misspelt name for Any

    def __getattr__(name: str) -> object:
        if name == "PROPOSITIONS":
            return _table()
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.propositions.{_PUBLIC[name]}"), name)
        raise AttributeError(f"module 'fairopt.propositions' has no attribute {name!r}")
