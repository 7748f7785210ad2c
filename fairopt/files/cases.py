"""The cases of a model: what to solve, and the answers that its source states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairopt.instance.reading import (
    AMOUNT,
    FINITE,
    Faults,
    by_name,
    known_keys,
    listed,
    nearest,
    number,
    shown,
    table,
    tables_by_name,
    text,
)

KINDS = ("notion", "scheduler", "simulate", "proposition")
_ROWS = ("expect", "printed", "accepts", "refuses")
_EXPECTED = (
    "objective", "totals", "shares", "levels", "tasks", "dominant_shares", "prices", "rates",
    "tolerance", "source", "why",
)  # fmt: skip
_JUDGED = ("tasks", "prices", "limit_prices", "gap", "tolerance", "source", "why")
Names = dict[str, int]


@dataclass(frozen=True)
class Case:
    """One thing to do with a model.

    Parameters
    ----------
    kind : "notion", "scheduler", "simulate" or "proposition".
    name : of the notion, the scheduler, what is simulated, or the statement.
    parameters : by their Python names; the notion itself checks them.
    expect : the right answer: objective, totals, shares, levels, tasks, dominant_shares, prices,
        rates, by name; `tolerance` (absolute) and `source`.
    printed : the source's printed answer where it differs from the right one, and `why`.
    accepts : allocations ({"tasks": {user: {server: x}}}) that the certificate must pass.
    refuses : allocations that it must not pass; if `gap` is given, a better allocation exists, and
        the certificate's gap must be at least `gap`.
    """

    kind: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    expect: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    accepts: tuple[dict[str, Any], ...] = ()
    refuses: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The case as in a file, without empty fields."""
        plain = {self.kind: self.name, **self.parameters}
        for key in _ROWS:
            value = getattr(self, key)
            if value:
                plain[key] = list(value) if isinstance(value, tuple) else value
        return plain


def read_cases(
    given: Any, users: Names, servers: Names, resources: Names, faults: Faults
) -> tuple[Case, ...]:
    """The rows of [[case]], checked against the names of the instance."""
    cases = []
    known = users, servers, resources
    for k, row in enumerate(listed(given, "case", faults)):
        cases.append(_case(table(row, f"case[{k}]", faults), f"case[{k}]", known, faults))
    return tuple(cases)


def _case(
    row: Mapping[str, Any], place: str, known: tuple[Names, Names, Names], faults: Faults
) -> Case:
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1:
        what = " and ".join(kinds) or nearest_kind(row)
        faults.add(place, what, f"exactly one of {', '.join(KINDS)}")
        return Case("notion", "")
    kind = kinds[0]
    parameters = {}
    for key, value in row.items():
        if key in _ROWS or key in KINDS:
            continue
        if not _is_plain(value):
            wanted = "a text, number, true, false or a list of them"
            if isinstance(value, Mapping):
                wanted += f", or the key {nearest(key, _ROWS)}"
            faults.add(f"{place}.{key}", shown(value), wanted)
        parameters[key] = value
    return Case(
        kind,
        text(row[kind], f"{place}.{kind}", faults),
        parameters,
        _answer(row.get("expect", {}), _EXPECTED, f"{place}.expect", known, faults),
        _answer(row.get("printed", {}), _EXPECTED, f"{place}.printed", known, faults),
        _answers(row.get("accepts", []), f"{place}.accepts", known, faults),
        _answers(row.get("refuses", []), f"{place}.refuses", known, faults),
    )


def nearest_kind(row: Mapping[str, Any]) -> str:
    """The fault of a case without one of the keys KINDS: the nearest misspelt key, if any."""
    return f"only {', '.join(row)}" if row else "none"


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(v) and not isinstance(v, list | tuple) for v in value)
    return isinstance(value, str | int | float | bool)


def _answers(
    given: Any, place: str, known: tuple[Names, Names, Names], faults: Faults
) -> tuple[dict[str, Any], ...]:
    rows = listed(given, place, faults)
    found = []
    for k, row in enumerate(rows):
        here = f"{place}[{k}]"
        found.append(_answer(row, _JUDGED, here, known, faults))
        if isinstance(row, Mapping) and "tasks" not in row:
            faults.add(here, "no tasks", "tasks = { user = { server = ... } }")
    return tuple(found)


def _answer(
    given: Any,
    keys: tuple[str, ...],
    place: str,
    known: tuple[Names, Names, Names],
    faults: Faults,
) -> dict[str, Any]:
    """A row of expect, printed, accepts or refuses, checked; values stay as they were."""
    row = table(given, place, faults)
    known_keys(row, keys, place, faults)
    user, server, resource = (
        (kind, names) for kind, names in zip(("user", "server", "resource"), known, strict=True)
    )
    for key, value in row.items():
        here = f"{place}.{key}"
        if key in ("source", "why"):
            text(value, here, faults)
        elif key in ("tolerance", "gap"):
            number(value, here, faults)
        elif key == "objective":
            number(value, here, faults, FINITE)
        elif key in ("totals", "shares", "levels", "rates", "limit_prices"):
            by_name(value, user[1], user[0], here, faults, AMOUNT)
        elif key in ("tasks", "dominant_shares"):
            # an answer to be refused may be negative
            tables_by_name(value, user, server, here, faults, FINITE)
        elif key == "prices":
            tables_by_name(value, server, resource, here, faults, AMOUNT)
    return {key: _copied(value) for key, value in row.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return value
