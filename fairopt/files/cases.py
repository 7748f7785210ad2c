"""The cases of a model: what to solve, and the answers that its source states."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

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


class Shipped(NamedTuple):
    """A model that comes with the package."""

    name: str
    title: str
    source: str


def shipped_root() -> Path:
    """The folder of shipped models: in the package (a wheel), else beside it (a checkout)."""
    package = Path(str(importlib.resources.files("fairopt")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def all_shipped() -> Iterator[tuple[str, Path]]:
    """Name and path of every shipped model, in order of name."""
    root = shipped_root()
    found = [(p.with_suffix(""), p) for p in root.rglob("*.toml") if p.name != "model.toml"]
    found += [(p.parent, p.parent) for p in root.rglob("model.toml")]
    for name, path in sorted(found):
        yield name.relative_to(root).as_posix(), path


def near_models(given: str, shipped: Mapping[str, Path]) -> str:
    """The shipped names nearest to an unknown one."""
    import difflib

    known = [name for name in shipped if not name.startswith("invalid/")]
    close = [name for name in known if given and (given in name or name in given)][:3]
    last = {name.rpartition("/")[2]: name for name in known}
    close += difflib.get_close_matches(given, known, 3, 0.4)
    close += [last[k] for k in difflib.get_close_matches(given.rpartition("/")[2], last, 2, 0.6)]
    shown_names = list(dict.fromkeys(close))[:3]
    if not shown_names:
        return "one of the shipped models (fairopt models lists them)"
    return f"a shipped model (nearest: {', '.join(shown_names)})"


KINDS = ("notion", "scheduler", "simulate", "proposition", "whole")
_ROWS = ("expect", "printed", "accepts", "refuses", "held", "change", "exit")
_BY_USER = ("totals", "shares", "levels", "rates", "limit_prices", "floor_prices", "could_hold")
_RULES = ("bound_prices", "node_prices")
_EXPECTED = (
    "objective",
    "totals",
    "shares",
    "levels",
    "tasks",
    "dominant_shares",
    "prices",
    "rates",
    "tolerance",
    "source",
    "why",
    "floor_prices",
    *_RULES,
    "rule_prices",
    "could_hold",
    "gap",
    "moved",
    "conflict",
    "cut",
    "short",
    "parts",
    "dues",
)
_JUDGED = ("tasks", "prices", "limit_prices", "gap", "tolerance", "source", "why")
Names = dict[str, int]


@dataclass(frozen=True)
class Case:
    """One thing to do with a model.

    Parameters
    ----------
    kind : "notion", "scheduler", "simulate", "proposition" or "whole".
    name : of the notion, the scheduler, what is simulated, or the statement; of whole tasks the
        notion that says what is due, or "given".
    parameters : by their Python names; the notion itself checks them.
    expect : the right answer: objective, totals, shares, levels, tasks, dominant_shares, prices,
        rates, floor_prices, rule_prices, by name; bound_prices and node_prices as in answer files;
        could_hold, `gap` and `moved` of what is held; of guarantees that do not fit `conflict`
        (users; with rules the things in conflict) and `cut`; of whole tasks `short`, and the
        sorted `parts` and `dues`; `tolerance` (absolute) and `source`. A number may be a fraction
        in a text, "35/2"; `expected` has numbers throughout.
    printed : the source's printed answer where it differs from the right one, and `why`.
    accepts : allocations ({"tasks": {user: {server: x}}}) that the certificate must pass.
    refuses : allocations that it must not pass; if `gap` is given, a better allocation exists, and
        the certificate's gap must be at least `gap`.
    held : {user: {server: tasks}}, what users hold, to be audited against the answer.
    change : of a what-if, {set: {"weight.A": 2}, add_server: {name: count}, drop: [names]}, as on
        the command line.
    exit : the exit code that solving ends with.
    """

    kind: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    expect: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)
    accepts: tuple[dict[str, Any], ...] = ()
    refuses: tuple[dict[str, Any], ...] = ()
    held: dict[str, Any] = field(default_factory=dict)
    change: dict[str, Any] = field(default_factory=dict)
    exit: int = 0

    @property
    def expected(self) -> dict[str, Any]:
        """`expect`, with fractions such as "35/2" as numbers."""
        found: dict[str, Any] = numeric(self.expect)
        return found

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
        _held(row.get("held", {}), f"{place}.held", known, faults),
        _change(row.get("change", {}), f"{place}.change", faults),
        _exit(row.get("exit", 0), f"{place}.exit", faults),
    )


def _exit(given: Any, place: str, faults: Faults) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= 5:
        faults.add(place, shown(given), "an exit code, 0 to 5")
        return 0
    return given


def _change(given: Any, place: str, faults: Faults) -> dict[str, Any]:
    """What a what-if changes; the what-if checks that it can be."""
    row = table(given, place, faults)
    known_keys(row, ("set", "add_server", "drop"), place, faults)
    for key in ("set", "add_server"):
        for name, value in table(row.get(key, {}), f"{place}.{key}", faults).items():
            number(value, f"{place}.{key}.{name}", faults, AMOUNT)
    for k, name in enumerate(listed(row.get("drop", []), f"{place}.drop", faults)):
        text(name, f"{place}.drop[{k}]", faults)
    return {key: _copied(value) for key, value in row.items()}


def _held(
    given: Any, place: str, known: tuple[Names, Names, Names], faults: Faults
) -> dict[str, Any]:
    """{user: {server: tasks}}; of a user with modes a table by mode may stand for a number."""
    for user, row in table(given, place, faults).items():
        here = f"{place}.{user}"
        if user not in known[0]:
            faults.add(here, "an unknown user", nearest(user, known[0]))
        for server, x in table(row, here, faults).items():
            if server not in known[1]:
                faults.add(f"{here}.{server}", "an unknown server", nearest(server, known[1]))
            for mode, tasks in x.items() if isinstance(x, Mapping) else [("", x)]:
                at = f"{here}.{server}.{mode}".rstrip(".")
                number(_number(tasks), at, faults, AMOUNT)
    return _copied(given) if isinstance(given, Mapping) else {}


_FRACTION = re.compile(r"-?\d{1,18}/[1-9]\d{0,17}")


def _number(value: Any) -> Any:
    """The number that a text such as "35/2" says; any other value as it is."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return float(Fraction(value))
    return value


def numeric(value: Any) -> Any:
    """A table or list with fractions such as "35/2" as numbers, other values as they are."""
    if isinstance(value, Mapping):
        kept = ("source", "why", "conflict", "member", "resource", "flavor")
        return {k: v if k in kept else numeric(v) for k, v in value.items()}
    return [numeric(v) for v in value] if isinstance(value, list | tuple) else _number(value)


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
    given: Any, keys: tuple[str, ...], place: str, known: tuple[Names, Names, Names], faults: Faults
) -> dict[str, Any]:
    """A row of expect, printed, accepts or refuses, checked; values stay as they were."""
    row = table(given, place, faults)
    known_keys(row, keys, place, faults)
    user, server, resource = (
        (kind, names) for kind, names in zip(("user", "server", "resource"), known, strict=True)
    )
    for key, value in numeric(row).items():
        here = f"{place}.{key}"
        if key in ("source", "why"):
            text(value, here, faults)
        elif key in ("tolerance", "gap"):
            number(value, here, faults)
        elif key in ("cut", "moved", "short"):
            number(value, here, faults, AMOUNT)
        elif key == "objective":
            number(value, here, faults, FINITE)
        elif key == "conflict":
            for k, name in enumerate(listed(value, here, faults)):
                user_name = text(name, f"{here}[{k}]", faults)
                # rows of an instance with rules of its own: "rule carbon", "cpu on hydro"
                if isinstance(name, str) and name not in known[0] and " " not in name:
                    faults.add(f"{here}[{k}]", "an unknown user", nearest(user_name, known[0]))
        elif key in ("parts", "dues"):
            for k, part in enumerate(listed(value, here, faults)):
                number(part, f"{here}[{k}]", faults)
        elif key in _RULES:
            for k, each in enumerate(listed(value, here, faults)):
                table(each, f"{here}[{k}]", faults)
        elif key == "rule_prices":
            for name, price in table(value, here, faults).items():
                number(price, f"{here}.{name}", faults, FINITE)
        elif key in _BY_USER:
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
    if isinstance(value, list | tuple):
        return [_copied(inner) for inner in value]
    return value
