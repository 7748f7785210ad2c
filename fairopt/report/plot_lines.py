"""The plot of lines against a parameter: one per user or resource, named at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairopt.report.plot_data import Line, Panel, scale
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

NAMED = 8
"""most lines that are named at their ends; more have a legend"""
TOLD_APART = 28
"""most lines with a style of their own; of more, only the lowest and highest at the end"""
MARKED = 8
"""number of markers on a long line, about; a short line is marked at every point"""
WIDTH, HEIGHT, COLUMNS = 5.2, 3.3, 3
"""width and height of a panel in inches; panels per row"""
APART = 10.0
"""least distance of two names, in points"""


def draw_lines(
    panels: Sequence[Panel], xlabel: str, ylabel: str, top: float | None = None, more: str = ""
) -> Figure:
    """Draw the panels, with the same scales on all.

    Parameters
    ----------
    panels : at most six, each with the same lines in the same order.
    xlabel, ylabel : with units.
    top : upper end of the y axis; default as high as the lines.
    more : a last entry for the legend.
    """
    columns = min(len(panels), COLUMNS)
    rows = math.ceil(len(panels) / columns)
    size = (WIDTH, HEIGHT) if columns == 1 else (3.1 * columns, 2.6 * rows)
    figure = new_figure(size)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    used = list(grid.flat)[: len(panels)]
    for spare in list(grid.flat)[len(panels) :]:
        spare.set_visible(False)
    limits(used[0], panels, top)
    entries: list[tuple[Any, str]] = []
    for k, (axes, panel) in enumerate(zip(used, panels, strict=True)):
        handles = [
            draw(axes, line, n, f"{k}-{n}", len(panel.lines)) for n, line in enumerate(panel.lines)
        ]
        if NAMED < len(handles) <= TOLD_APART and not entries:
            entries = [
                (h, clipped(line.name)) for h, line in zip(handles, panel.lines, strict=True)
            ]
        for x in panel.failed:
            axes.plot(
                [x],
                [0.0],
                marker="x",
                color="black",
                markersize=5,
                clip_on=False,
                transform=axes.get_xaxis_transform(),
                zorder=5,
            )
        if panel.title:
            axes.set_title(panel.title, parse_math=False)
        if k % columns == 0:
            axis(axes, "y", ylabel)
        if k + columns >= len(panels):
            axis(axes, "x", xlabel)
            axes.tick_params(labelbottom=True)
    entries += notes(panels) + ([note("", more)] if more else [])
    legend(figure, entries)
    figure.draw_without_rendering()  # heights are known now
    for axes, panel in zip(used, panels, strict=True):
        name_ends(axes, named(panel.lines))
    return figure


def limits(axes: Axes, panels: Sequence[Panel], top: float | None) -> None:
    """Set the scales, which all panels share."""
    grid = sorted({x for panel in panels for x in panel.lines[0].x})
    kind = scale(grid)
    if kind == "symlog":
        axes.set_xscale("symlog", linthresh=next(x for x in grid if x > 0), linscale=0.6)
    else:
        axes.set_xscale(kind)
    if kind != "linear":
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    whole_numbers(axes, "x", grid)
    low, high = grid[0], grid[-1]
    if low == high:
        low, high = low - 0.5, high + 0.5
    axes.set_xlim(low, high)
    there = [y for panel in panels for line in panel.lines for y in line.y if y is not None]
    least, most = min(there), max(there)
    if top is not None:
        axes.set_ylim(min(0.0, least), max(top, most * 1.02))
        return
    room = 0.06 * (most - least) or 0.05 * abs(most) or 1.0
    # start at zero, unless that would squeeze the lines into a strip at the top
    axes.set_ylim(0.0 if 0 <= least < 0.6 * most else least - room, most + room)


def draw(axes: Axes, line: Line, k: int, gid: str, lines: int) -> Any:
    """Draw one line: filled markers where certified, hollow ones at points that are not."""
    look = mark(k) if lines <= TOLD_APART else {"color": GREY, "marker": "o", "linestyle": "-"}
    gap = [math.nan if y is None else y for y in line.y]
    thin = 1.5 if lines <= TOLD_APART else 0.7
    every = max(1, math.ceil(len(gap) / MARKED))
    filled = [
        j
        for j, ok in enumerate(line.certified)
        if ok and (alone(line.y, j) or ((j + k) % every == 0 and lines <= TOLD_APART))
    ]
    (drawn,) = axes.plot(
        line.x,
        gap,
        linewidth=thin,
        markersize=4.5,
        markevery=filled,
        clip_on=False,
        zorder=3,
        gid=f"line-{gid}",
        **look,
    )
    hollow = [j for j, ok in enumerate(line.certified) if not ok]
    if hollow:
        axes.plot(
            [line.x[j] for j in hollow],
            [gap[j] for j in hollow],
            linestyle="",
            markersize=5.5,
            marker=look["marker"],
            markerfacecolor="white",
            markeredgecolor=look["color"],
            markeredgewidth=1.2,
            clip_on=False,
            zorder=4,
            gid=f"hollow-{gid}",
        )
    return drawn


def alone(y: Sequence[float | None], j: int) -> bool:
    """Whether a point has no neighbour to join it to, so that only a marker shows it."""
    near = [y[k] for k in (j - 1, j + 1) if 0 <= k < len(y)]
    return all(neighbour is None for neighbour in near)


def notes(panels: Sequence[Panel]) -> list[tuple[Any, str]]:
    """Legend entries for the special markers in use."""
    found = []
    lines = [line for panel in panels for line in panel.lines]
    if len(panels[0].lines) > TOLD_APART:
        words = f"{len(panels[0].lines)} lines; those least and most at the end are named"
        found.append(note("", words))
    if any(
        y is not None and not ok
        for line in lines
        for y, ok in zip(line.y, line.certified, strict=True)
    ):
        found.append(note("o", "hollow: not certified"))
    if any(panel.failed for panel in panels):
        found.append(note("x", "no answer"))
    return found


class End(NamedTuple):
    """Where a line ends, and its name; `marker` distinguishes lines that end at one place."""

    y: float
    name: str
    colour: str
    marker: str


def named(lines: Sequence[Line]) -> list[End]:
    """The ends of the lines to be named."""
    ends = []
    for k, line in enumerate(lines):
        last = [y for y in line.y if y is not None]
        if last:
            ends.append(End(last[-1], clipped(line.name), mark(k)["color"], mark(k)["marker"]))
    if len(lines) <= NAMED:
        return ends
    if len(lines) <= TOLD_APART:
        return []
    ends.sort(key=lambda end: end.y)
    return [end._replace(colour="#404040", marker="") for end in (ends[0], ends[-1])]


def name_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write names right of the axes, pushed apart, each joined to the end of its line."""
    from matplotlib.transforms import ScaledTranslation

    if not ends:
        return
    ends = sorted(ends, key=lambda end: end.y)
    figure = axes.get_figure(root=True)
    assert figure is not None
    points = 72.0 / figure.dpi
    want = [float(axes.transData.transform((1.0, end.y))[1]) * points for end in ends]
    floor = float(axes.bbox.y0) * points
    place = spread(want, APART, floor, floor + float(axes.bbox.height) * points)
    for end, at, to in zip(ends, want, place, strict=True):
        # beside the axes everything is in points: names would move apart with the scale of the data
        up = to - at
        axes.annotate(
            "",
            (1.0, end.y),
            xycoords=("axes fraction", "data"),
            xytext=(15.0, up),
            textcoords="offset points",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "linewidth": 0.6,
                "shrinkA": 0.0,
                "shrinkB": 3.0,
            },
        )
        here = ScaledTranslation(15.0 / 72, up / 72, figure.dpi_scale_trans)
        axes.plot(
            [1.0],
            [end.y],
            transform=axes.get_yaxis_transform() + here,
            clip_on=False,
            marker=end.marker,
            markersize=4.5,
            color=end.colour,
            gid="name",
        )
        axes.annotate(
            end.name,
            (1.0, end.y),
            xycoords=("axes fraction", "data"),
            xytext=(21.0, up),
            textcoords="offset points",
            va="center",
            ha="left",
            color=end.colour,
            fontsize=8.5,
            annotation_clip=False,
            parse_math=False,
        )


def spread(want: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Positions as near as possible to `want` (ascending), at least `apart`, in [low, high].

    Neighbours that are too near become a block around the mean of their wanted positions.
    """
    blocks: list[tuple[float, int]] = []  # wanted position of its first member (mean), size
    for k, place in enumerate(want):
        first, size = place - k * apart, 1
        while blocks and blocks[-1][0] >= first:
            other, more = blocks.pop()
            first = (first * size + other * more) / (size + more)
            size += more
        blocks.append((first, size))
    top = high - (len(want) - 1) * apart
    firsts = [max(low, min(first, top)) for first, size in blocks for _ in range(size)]
    return [first + k * apart for k, first in enumerate(firsts)]
