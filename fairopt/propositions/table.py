"""The table of all statements, by name; the modules that state them are imported when asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from fairopt.errors import UsageError
from fairopt.propositions.statement import REGISTRY, Statement

# modules below fairopt.propositions that state something, in the order of the tables
_STATING = (
    "kesidis2018.definition",
    "kesidis2018.statements",
    "khamse2016.statements",
    "khamse2016.properties",
    "khamse2016.lies",
    "kesidis2016.statements",
    "kesidis2016.drf",
    "bonald2015.statements",
    "bonald2015.utility",
    "bonald2015.lies",
    "bonald2015.examples",
    "bonald2015.properties",
    "bonald2015.stability",
    "bonald2015.dynamics",
    "bonald2015.events",
    "over_time.shares",
    "over_time.ledgers",
    "over_time.hindsight",
    "ours.statements",
    "ours.prices",
    "ours.own_rules",
)


@cache
def table() -> Mapping[str, Statement]:
    """Name -> statement, read-only, in the order of the works."""
    for module in _STATING:
        importlib.import_module(f"fairopt.propositions.{module}")

    def place(statement: Statement) -> int:
        """Position of its module in `_STATING`; modules may be imported in another order."""
        return _STATING.index(statement.check.__module__.removeprefix(f"{__package__}."))

    return MappingProxyType({s.name: s for s in sorted(REGISTRY.values(), key=place)})


def find(name: str) -> Statement:
    """The statement of that name.

    Raises
    ------
    UsageError : no statement has that name; the message lists the nearest.

    Examples
    --------
    >>> from fairopt import propositions
    >>> propositions.find('kesidis2018/proposition-2').name
    'kesidis2018/proposition-2'
    """
    if name not in table():
        raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
    return table()[name]


def selected(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Names of statements in the order of the table: all, those given, or all of a paper.

    Parameters
    ----------
    names : of statements ("kesidis2018/definition-1") or of papers ("kesidis2018"); None is all.

    Raises
    ------
    UsageError : a name is unknown.

    Examples
    --------
    >>> from fairopt import propositions
    >>> len(propositions.selected(['kesidis2018'])) > 3
    True
    """
    if names is None:
        return tuple(table())
    wanted: set[str] = set()
    for name in names:
        of = {known for known in table() if known == name or known.startswith(f"{name}/")}
        if not of:
            raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
        wanted |= of
    return tuple(name for name in table() if name in wanted)


def _nearest(name: str) -> str:
    works = list(dict.fromkeys(known.partition("/")[0] for known in table()))
    close = difflib.get_close_matches(name, [*table(), *works], 3, 0.4)
    close += [known for known in table() if name and name in known and known not in close]
    if close:
        return f"wanted a known one (nearest: {', '.join(close[:3])})"
    return f"wanted a name that `fairopt propositions --list` shows, or a work: {', '.join(works)}"
