"""The content of a sweep's plot as plain data: the parameter on the axis, lines and panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fairopt.errors import UsageError

PANELS = 6
"""most panels in a picture; each has one setting of the parameters that are not on the axis"""
SERIES = 6
"""most values of a second parameter with a colour of their own in a frontier"""
DECADES = 1.5
"""a grid that spans fewer decades is drawn on a linear axis, however it is spaced"""

Row = Mapping[str, Any]


class Line(NamedTuple):
    """One line of a panel; a value is None where the row has no such number."""

    name: str
    x: list[float]
    y: list[float | None]
    certified: list[bool]


class Panel(NamedTuple):
    """Lines of rows that differ only in the parameter; `failed` marks rows without an answer."""

    title: str
    lines: list[Line]
    failed: list[float]


def rows_of(sweep: Any) -> list[Row]:
    """The rows of a sweep, or the rows given; if notions differ, "notion" becomes a parameter.

    Raises
    ------
    UsageError : there are no rows, or `sweep` is neither a sweep nor a list of rows.
    """
    rows = getattr(sweep, "rows", sweep)
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes, Mapping)):
        raise UsageError(f"plot: found {type(sweep).__name__}; wanted a sweep, or a list of rows")
    rows = list(rows)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"plot: found {len(rows)} rows; wanted at least one, each a mapping")
    names = [(row.get("notion") or {}).get("name") for row in rows]
    if len(set(names)) < 2:
        return rows
    return [
        {**row, "parameters": {"notion": name, **parameters(row)}}
        for row, name in zip(rows, names, strict=True)
    ]


def chosen(rows: Sequence[Row], where: Mapping[str, Any] | None) -> list[Row]:
    """Rows whose parameters are those of `where`.

    Raises
    ------
    UsageError : there is none; the message lists the values that occur.
    """
    for name, wanted in (where or {}).items():
        there = values(rows, name)
        rows = [row for row in rows if _same(parameters(row).get(name), wanted)]
        if not rows:
            found = ", ".join(map(shown, there[:12])) or "no such parameter"
            raise UsageError(f"where: found {name} = {shown(wanted)}; wanted one of {found}")
    return list(rows)


def parameters(row: Row) -> Mapping[str, Any]:
    """The parameters of a row; {} where it has none."""
    return row.get("parameters") or {}


def values(rows: Sequence[Row], name: str) -> list[Any]:
    """Distinct values of a parameter: ascending if they are numbers, else in input order."""
    found = dict.fromkeys(key(parameters(row)[name]) for row in rows if name in parameters(row))
    return sorted(found) if all(map(is_number, found)) else list(found)


def varied(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Parameters that have several values, with these."""
    names = dict.fromkeys(name for row in rows for name in parameters(row))
    found = {name: values(rows, name) for name in names}
    return {
        name: each
        for name, each in found.items()
        if len(each) > 1 or any(name not in parameters(row) for row in rows)
    }


def parameter_of(rows: Sequence[Row], over: str | None) -> str:
    """The parameter on the axis: `over`, or the numeric parameter with most values.

    Raises
    ------
    UsageError : no row has the parameter, it is not numeric, or no parameter varies.
    """
    numbers = {name: len(v) for name, v in varied(rows).items() if all(map(is_number, v))}
    if over is None:
        if not numbers:
            raise UsageError("plot: found no number that varies; wanted a sweep over a parameter")
        return max(numbers, key=lambda name: numbers[name])
    if not values(rows, over) or not all(map(is_number, values(rows, over))):
        raise UsageError(f"over: found {over!r}; wanted one of {', '.join(numbers) or 'none'}")
    return over


def panels(
    rows: Sequence[Row], over: str, pick: Callable[[Row], Mapping[str, Any]], words: Any
) -> list[Panel]:
    """One panel per setting of the other parameters, with one line per name that `pick` gives.

    Parameters
    ----------
    pick : (row) -> {name: number}, empty where the row has no answer.
    words : (parameter) -> its short name for the titles.

    Raises
    ------
    UsageError : there are too many settings, or no row has an answer.
    """
    others = [name for name in varied(rows) if name != over]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if is_number(parameters(row).get(over)):
            setting = tuple(key(parameters(row).get(name)) for name in others)
            groups.setdefault(setting, []).append(row)
    if len(groups) > PANELS:
        raise UsageError(
            f"plot: found {len(groups)} settings of {', '.join(others)}; wanted at most {PANELS}: "
            "choose with where={...}, or draw the frontier"
        )
    names = dict.fromkeys(name for row in rows for name, y in pick(row).items() if is_number(y))
    if not names:
        raise UsageError("plot: found no row with an answer; wanted at least one")
    found = []
    for setting, group in groups.items():
        group = sorted(group, key=lambda row: float(parameters(row)[over]))
        title = ", ".join(
            f"{words(k)} = {shown(v)}"
            for k, v in zip(others, setting, strict=True)
            if v is not None
        )
        at = [float(parameters(row)[over]) for row in group]
        sure = [bool(row.get("certified", True)) for row in group]
        lines = [
            Line(name, at, [number(pick(row).get(name)) for row in group], sure) for name in names
        ]
        failed = [
            x
            for x, row in zip(at, group, strict=True)
            if not any(map(is_number, pick(row).values()))
        ]
        found.append(Panel(title, lines, failed))
    return found


def series(rows: Sequence[Row]) -> tuple[str | None, list[Any]]:
    """A varying parameter of at most SERIES values, to colour points by, and its values.

    (None, []) where there is none besides a single number that varies.
    """
    found = varied(rows)
    if len(found) == 1 and all(is_number(v) for v in next(iter(found.values()))):
        return None, []
    few = [
        name
        for name in found
        if 2 <= len(found[name]) <= SERIES and all(name in parameters(row) for row in rows)
    ]
    if not few:
        return None, []
    name = min(few, key=lambda k: len(found[k]))
    return name, found[name]


def scale(grid: Sequence[float]) -> str:
    """The axis: "log" for a grid more even in logarithms, "symlog" if it has 0, else "linear"."""
    grid = sorted(set(grid))
    positive = [x for x in grid if x > 0]
    if len(positive) < 3 or grid[0] < 0 or math.log10(positive[-1] / positive[0]) < DECADES:
        return "linear"
    steps = [b - a for a, b in zip(positive, positive[1:], strict=False)]
    ratios = [math.log(b / a) for a, b in zip(positive, positive[1:], strict=False)]
    if _spread(ratios) >= _spread(steps):
        return "linear"
    return "log" if grid[0] > 0 else "symlog"


def _spread(values: Sequence[float]) -> float:
    """Largest over smallest step: 1 when evenly spaced."""
    return max(values) / min(values)


def number(found: Any) -> float | None:
    """The value as a float; None if it is not a finite number."""
    return float(found) if is_number(found) else None


def is_number(found: Any) -> bool:
    """Whether the value is a finite number; True and False do not count."""
    return isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)


def shown(found: Any) -> str:
    """A value as text, numbers with six digits."""
    return f"{found:.6g}" if is_number(found) else str(found)


def _same(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-9) if is_number(a) and is_number(b) else bool(a == b)


def key(found: Any) -> Any:
    """A hashable value that prints the same, for use as a key."""
    return found if found is None or isinstance(found, (int, float, str)) else str(found)
