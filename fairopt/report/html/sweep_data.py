"""A sweep as plain data for the page: its grid, and for each point measures, shares and answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairopt.measures import about
from fairopt.report.html.answer_data import amounts, names, one
from fairopt.report.html.verdict import finite
from fairopt.report.plot_style import axis_words
from fairopt.report.plots import usual_x
from fairopt.sweeping.result import Sweep

USERS = 200
"""most users with numbers of their own in a point without an answer kept; the first ones"""
NUMBERS = 400_000
"""most numbers of answers; of a larger sweep the page has totals and shares alone"""


def data(sweep: Sweep) -> dict[str, Any]:
    """A sweep as plain data.

    Returns
    -------
    dict : `axes` [{name, values}], `points` with `at` (positions on the axes), verdict, measures,
        `totals`, `shares`, `levels`, and where answers were kept `amounts`, judged again. `names`
        are those of the instances, of which a point has the one at its `names`.
    """
    rows = sweep.rows
    axes, places = _grid(rows, sweep.swept)
    users = list(dict.fromkeys(user for row in rows for user in row["totals"]))
    shown = users if sweep.instances else users[:USERS]
    measures = list(dict.fromkeys(name for row in rows for name in row["measures"]))
    kinds: list[dict[str, Any]] = []
    small = _size(sweep) <= NUMBERS
    points = []
    for k, row in enumerate(rows):
        point: dict[str, Any] = {
            "at": places[k],
            **{key: row[key] for key in ("status", "verdict", "certified", "reason")},
            **{key: _finite(row[key]) for key in ("gap", "residual", "objective")},
            "measures": {name: _one(row["measures"].get(name)) for name in measures},
            **{
                key: [_one(row[key].get(user)) for user in shown] if row[key] else []
                for key in ("totals", "shares", "levels")
            },
        }
        if small and "answer" in row:
            answer = sweep.answer(k)
            assert answer.certificate is not None
            named = names(answer.instance)
            if named not in kinds:
                kinds.append(named)
            found = answer.certificate
            point |= {
                "amounts": amounts(answer),
                "names": kinds.index(named),
                "verdict": found.verdict,
                "gap": finite(found.gap),
                "residual": finite(found.residual),
                "certified": bool(row["certified"]) and found.certified,
            }
        points.append(point)
    kept = any("amounts" in point for point in points)
    return {
        "kind": "sweep",
        "axes": axes,
        "points": points,
        "names": kinds,
        "users": shown,
        "measures": measures,
        "kept": kept,
        "words": {name: axis_words(name, None) for name in measures},
        "better": {name: entry.better for name in measures if (entry := about(name))},
        "x": _first(usual_x(rows), measures),
        "y": _first("efficiency", measures),
        "subtitle": _subtitle(sweep, kept, len(users) - len(shown)),
    }


def _grid(
    rows: Sequence[dict[str, Any]], swept: Sequence[str]
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The axes, and the position of each row on them; rows that fill no grid have one axis."""
    several = len({str(row["notion"]["name"]) for row in rows}) > 1
    axes = []
    for name in swept:
        values = list(dict.fromkeys(_plain(row["parameters"].get(name)) for row in rows))
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            values.sort()
        axes.append({"name": name, "values": values})
    places = [
        [axis["values"].index(_plain(row["parameters"].get(axis["name"]))) for axis in axes]
        for row in rows
    ]
    size = 1
    for axis in axes:
        size *= len(axis["values"])
    if axes and not several and size == len(rows) == len(set(map(tuple, places))):
        return axes, places
    words = [
        ", ".join(
            [
                str(row["notion"]["name"]),
                *(f"{k} = {_plain(v)}" for k, v in row["parameters"].items() if k in swept),
            ]
        )
        for row in rows
    ]
    return [{"name": "point", "values": words}], [[k] for k in range(len(rows))]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool | None) else str(value)


def _size(sweep: Sweep) -> int:
    """About how many numbers the answers of a sweep take on a page."""
    each = [
        users * (4 + 2 * min(servers, 4)) + servers * resources * 6
        for users, servers, resources in (i.shape for i in sweep.instances)
    ]
    return max(each, default=0) * len(sweep.rows)


def _subtitle(sweep: Sweep, kept: bool, left: int) -> str:
    count = sum(row["certified"] for row in sweep.rows)
    notions = ", ".join(dict.fromkeys(str(row["notion"]["name"]) for row in sweep.rows))
    words = f"{notions}: {len(sweep.rows):,} points over {', '.join(sweep.swept)}, "
    words += f"{count:,} certified"
    words += ", every one judged again for this page" if kept else ", as the file says"
    return words + (f"; {left:,} users are left out of the pictures" if left else "")


def _first(name: str, measures: Sequence[str]) -> str:
    """The measure, or another with a better end where no row has it."""
    rated = [m for m in measures if (entry := about(m)) is not None and entry.better]
    return name if name in measures or not rated else rated[0]


def _one(value: Any) -> float | int | None:
    return one(value) if isinstance(value, int | float) else None


def _finite(value: Any) -> float | None:
    return finite(value) if isinstance(value, int | float) else None
