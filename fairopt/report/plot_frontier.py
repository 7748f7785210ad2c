"""The plot of a frontier of two measures, with every point of the sweep behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairopt.errors import UsageError
from fairopt.measures import frontier, known, less_is_better, value
from fairopt.report.plot_data import Row, key, parameters, series, shown, varied
from fairopt.report.plot_style import (
    GREY,
    axis,
    clipped,
    legend,
    mark,
    new_figure,
    note,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (5.2, 3.8)
"""width and height in inches"""
LONGEST = 60
"""most characters of a label; a longer one would cover the points"""


def draw_frontier(
    rows: Sequence[Row], x: str, y: str, words: tuple[str, str], lowest: Sequence[str] | None
) -> Figure:
    """All points, hollow where not certified, and the frontier drawn as a step line.

    Between two points of the frontier, only the worse value of both is known to be reachable, so
    the line has steps and no slopes.

    Parameters
    ----------
    x, y : names of measures. words : {name: label} of the axes.
    lowest : as in `frontier`.

    Raises
    ------
    UsageError : no row has both measures, or as in `frontier`.
    """
    from matplotlib.lines import Line2D

    known(rows, (x, y))
    there = [row for row in rows if not math.isnan(sum(place(row, x, y)))]
    best = frontier([row for row in rows if sure(row)], x, y, lowest)
    if not there:
        raise UsageError(f"plot: found no row with both {x} and {y}; wanted at least one")
    less = less_is_better(x, lowest), less_is_better(y, lowest)
    figure = new_figure(SIZE)
    axes = figure.add_subplot()
    entries = points(axes, there, best, x, y)
    if len(there) < len(rows):
        entries.append(note("", f"{len(rows) - len(there)} of {len(rows)} without an answer"))
    at = [place(row, x, y) for row in best]
    # a step goes to the worse of both ends first
    (joined,) = axes.plot(
        [a for a, _ in at],
        [b for _, b in at],
        color="black",
        linewidth=1.1,
        zorder=3,
        drawstyle="steps-post" if less[0] else "steps-pre",
        gid="frontier",
    )
    axes.margins(0.1, 0.12)
    for side, name in (("x", x), ("y", y)):
        whole_numbers(axes, side, [value(row, name) or 0.0 for row in there])
    axis(axes, "x", words[0])
    axis(axes, "y", words[1])
    corner(axes, less)
    if best and series(rows)[0] is None:
        joined = Line2D([], [], color="black", linewidth=1.1, marker="o", markersize=5)
    legend(figure, [*([(joined, "frontier")] if best else []), *entries])
    label_ends(axes, best, at, varied(rows))
    return figure


def place(row: Row, x: str, y: str) -> tuple[float, float]:
    """The coordinates of a row, NaN where it has no number."""
    a, b = value(row, x), value(row, y)
    return (math.nan if a is None else a), (math.nan if b is None else b)


def sure(row: Row) -> bool:
    """Whether the row is certified; a row without the key "certified" counts as certified."""
    return bool(row.get("certified", True))


def points(
    axes: Axes, rows: Sequence[Row], best: Sequence[Row], x: str, y: str
) -> list[tuple[Any, str]]:
    """Draw every point, coloured by a second parameter of few values; returns legend entries."""
    name, values = series(rows)
    on = {id(row) for row in best}
    size = 5.0 if len(rows) <= 400 else 3.0
    entries: list[tuple[Any, str]] = []
    for k, wanted in enumerate(values or [None]):
        look = mark(k) if name else {"color": GREY, "marker": "o"}
        of = [row for row in rows if name is None or key(parameters(row)[name]) == wanted]
        kinds = {  # fill, edge, in front of
            "": ([r for r in of if sure(r) and id(r) not in on], look["color"], look["color"], 2),
            "-hollow": ([r for r in of if not sure(r)], "white", look["color"], 4),
            "-frontier": (
                [r for r in of if id(r) in on],
                look["color"] if name else "black",
                "black",
                5,
            ),
        }
        for kind, (these, fill, edge, order) in kinds.items():
            at = [place(row, x, y) for row in these]
            if not at:
                continue
            (drawn,) = axes.plot(
                [a for a, _ in at],
                [b for _, b in at],
                linestyle="",
                marker=look["marker"],
                markersize=size,
                markeredgecolor=edge,
                markeredgewidth=1.0,
                markerfacecolor=fill,
                zorder=order,
                gid=f"points-{k}{kind}",
            )
            if name is None and kind == "":
                entries.append((drawn, "other points"))
        if name is not None and of:
            handle = note(look["marker"], "", look["color"], look["color"])[0]
            entries.append((handle, f"{name} = {shown(wanted)}"))
    if not all(map(sure, rows)):
        entries.append(note("o", "hollow: not certified"))
    return entries


def label_ends(
    axes: Axes, best: Sequence[Row], at: Sequence[Any], names: Mapping[str, Any]
) -> None:
    """Write the parameters at both ends of the frontier."""
    top = max((b for _, b in at), default=0.0)
    for k in sorted({0, len(best) - 1} if best else ()):
        row = best[k]
        words = ", ".join(
            f"{clipped(name)} = {shown(parameters(row)[name])}"
            for name in names
            if name in parameters(row)
        )
        if not words or len(words) > LONGEST:
            continue
        left, above = k == 0, at[k][1] == top
        axes.annotate(
            words,
            at[k],
            xytext=(-3 if left else 3, 6 if above else -6),
            textcoords="offset points",
            ha="left" if left else "right",
            va="bottom" if above else "top",
            fontsize="small",
            parse_math=False,
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )


def corner(axes: Axes, less: tuple[bool, bool]) -> None:
    """Write which direction is better, in the corner that no point can be in."""
    arrow = {(True, True): "↙", (True, False): "↖", (False, True): "↘", (False, False): "↗"}
    axes.text(
        0.02 if less[0] else 0.98,
        0.02 if less[1] else 0.98,
        f"better {arrow[less]}",
        transform=axes.transAxes,
        ha="left" if less[0] else "right",
        va="bottom" if less[1] else "top",
        color="#595959",
        fontsize="small",
    )
