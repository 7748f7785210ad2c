"""Plots of what is simulated: curves, intervals, use of servers, prices by their steps."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.report.plot_data import PANELS, Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import (
    COLOURS,
    axis,
    clipped,
    file_format,
    mark,
    new_figure,
    save,
    styled,
)

if TYPE_CHECKING:
    from fairopt.dynamics.prices import Priced
    from fairopt.dynamics.runs import Runs
    from fairopt.dynamics.servers import OverTime

Curves = Mapping[str, Mapping[str, Sequence[float | None]]]
"""title of a panel -> name of a line -> its values, None where there is none"""


def curves(
    x: Sequence[float], panels: Curves, words: tuple[str, str], path: str | os.PathLike[str]
) -> None:
    """Draw curves over x (Figures 1 to 3 of bonald2015) into a PNG, PDF or SVG file.

    Parameters
    ----------
    words : of the axes.

    Raises
    ------
    UsageError : another ending, or more panels than fit. MissingExtra : without matplotlib.
    """
    file_format(path)
    if len(panels) > PANELS:
        raise UsageError(f"plot: found {len(panels)} panels; wanted at most {PANELS}")
    order = sorted(range(len(x)), key=x.__getitem__)
    at = [x[k] for k in order]
    drawn = [
        Panel(
            clipped(title),
            [
                Line(clipped(name), at, [y[k] for k in order], [True] * len(x))
                for name, y in lines.items()
            ],
            [x[k] for k in order if all(y[k] is None for y in lines.values())],
        )
        for title, lines in panels.items()
    ]
    with styled():
        save(draw_lines(drawn, *words), path)


def intervals(runs: Runs, path: str | os.PathLike[str]) -> None:
    """Draw gamma of every class against the load, one line per rule, into a PNG, PDF or SVG file.

    Bands are the 95% intervals; a band ends at the mean on a side where its interval is unbounded.

    Raises
    ------
    UsageError : another ending, or more classes than panels. MissingExtra : without matplotlib.
    """
    file_format(path)
    users = list(runs.rows[0].gamma)
    if len(users) > PANELS:
        raise UsageError(f"plot: found {len(users)} classes; wanted at most {PANELS}")
    loads = sorted({row.load for row in runs.rows})
    rules = list(dict.fromkeys(row.rule for row in runs.rows))
    panels, bands = [], []
    for user in users:
        found = {rule: [runs.row(load, rule).gamma[user] for load in loads] for rule in rules}
        panels.append(
            Panel(
                f"class {clipped(user)}",
                [
                    Line(rule, loads, [e.mean for e in each], [True] * len(loads))
                    for rule, each in found.items()
                ],
                [],
            )
        )
        bands.append(
            [
                (
                    [e.low if math.isfinite(e.low) else e.mean for e in each],
                    [e.high if math.isfinite(e.high) else e.mean for e in each],
                )
                for each in found.values()
            ]
        )
    with styled():
        figure = draw_lines(panels, "load (part of the fullest resource)", "mean service rate")
        for axes, lines in zip(figure.axes, bands, strict=False):
            for k, (low, high) in enumerate(lines):
                axes.fill_between(loads, low, high, color=mark(k)["color"], alpha=0.15, linewidth=0)
        save(figure, path)


def check_servers(path: str | os.PathLike[str], instance: Instance) -> None:
    """Before any work is done, raise UsageError for a picture that cannot be drawn."""
    file_format(path)
    if len(instance.servers) > PANELS:
        found = f"a model of {len(instance.servers)} servers"
        raise UsageError(f"plot: found {found}; wanted at most {PANELS}")


def servers(
    run: OverTime, beside: Mapping[str, Sequence[Floats]], r: int, path: str | os.PathLike[str]
) -> None:
    """Draw the use of resource r over time into a PNG, PDF or SVG file.

    Parameters
    ----------
    run : the servers over time.
    beside : name -> use (I, R) under a notion recomputed exactly, one per phase.
    r : position of the resource. path : ends in .png, .pdf or .svg.

    Raises
    ------
    UsageError : another ending, or more servers than panels. MissingExtra : without matplotlib.
    """
    inst, x = run.instance, [float(t) for t in range(len(run.tasks))]
    check_servers(path, inst)
    panels = []
    for i, server in enumerate(inst.servers):
        own = {"PS-DSF": run.used[:, i, r].tolist()}
        for name, phases in beside.items():
            own[name] = [
                float(used[i, r])
                for used, phase in zip(phases, run.phases, strict=True)
                for _ in range(phase.begin, phase.end)
            ]
        lines = [Line(name, x, y, [True] * len(x)) for name, y in own.items()]
        panels.append(Panel(f"server {clipped(server)}", lines, []))
    with styled():
        what = f"{clipped(inst.resources[r])} used (part of the capacity)"
        save(draw_lines(panels, "round", what, top=1.0), path)


def prices(runs: Sequence[Priced], edge: float | None, path: str | os.PathLike[str]) -> None:
    """Draw runs of several step sizes into a PNG, PDF or SVG file.

    Steps to the exact answer where any size settles, else how far the tasks and their mean are off.

    Parameters
    ----------
    edge : the largest step size that settles, drawn as a line; None where none is known.
    """
    with styled():
        figure = new_figure((5.2, 3.3))
        axes = figure.subplots()
        settled = {r.theta: r.steps for r in runs if r.steps is not None}
        if settled:
            axes.plot(
                list(settled), list(settled.values()), marker="o", color=COLOURS[0], label="settled"
            )
            words = "steps to 1e-6 (count)"
        else:
            for key, name, look in (("off", "last tasks", "o"), ("mean_off", "mean of half", "s")):
                x = [r.theta for r in runs if getattr(r, key) < 1e12]
                y = [getattr(r, key) for r in runs if getattr(r, key) < 1e12]
                axes.plot(x, y, marker=look, label=name, color=COLOURS[len(axes.lines)])
            words = "off the exact tasks (part of them)"
        lost = [r.theta for r in runs if r.steps is None and (settled or not r.off < 1e12)]
        if lost:
            axes.plot(
                lost,
                [0.02] * len(lost),
                linestyle="",
                marker="x",
                color="black",
                transform=axes.get_xaxis_transform(),
                label="does not settle",
            )
        if edge is not None:
            axes.axvline(
                edge,
                color=COLOURS[1],
                linestyle="--",
                linewidth=1.0,
                label="2 / largest eigenvalue",
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axis(axes, "x", "step size theta (no unit)")
        axis(axes, "y", words)
        axes.legend()
        save(figure, path)


# The picture of few moves: how many tasks are moved, and fewest, where everybody may miss some.


def plot_moves(
    points: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str],
    style: str = "paper",
    size: tuple[float, float] | None = None,
) -> None:
    """Draw the frontier of a plan into a PNG, PDF or SVG file.

    Parameters
    ----------
    points : of `stay.frontier` of a plan; those that are not proved are hollow.
    path : ends in .png, .pdf or .svg; written whole or not at all.

    Raises
    ------
    UsageError : another ending; fewer than two points. MissingExtra : without matplotlib.
    """
    file_format(path)
    if len(points) < 2:
        raise UsageError("plot: found no frontier; wanted a plan with --stay --frontier")
    at = [100 * float(Fraction(point["within"])) for point in points]
    sure = [point["kept"] == point["most"] for point in points]
    lines = [
        Line("moved", at, [float(p["running"] - p["kept"]) for p in points], sure),
        Line("fewest there can be", at, [float(p["running"] - p["most"]) for p in points], sure),
        Line("short of what is due", at, [float(p["short"]) for p in points], [True] * len(at)),
    ]
    with styled(style, size):
        save(draw_lines([Panel("", lines, [])], "everybody may miss (%)", "tasks"), path)


# The picture of a replay: what is owed to each user over time, under one policy or several.


MOST_INDEBTED = 8
"""most users with a line: those to whom most is owed, or who hold most that is another's"""


def plot_debt(
    replays: Mapping[str, Mapping[str, Any]],
    path: str | os.PathLike[str],
    style: str = "paper",
    size: tuple[float, float] | None = None,
) -> None:
    """Draw what is owed over time into a PNG, PDF or SVG file.

    Parameters
    ----------
    replays : {title: a replay as plain data}, at most six, of the same users and slices.
    path : ends in .png, .pdf or .svg; written whole or not at all.

    Raises
    ------
    UsageError : another ending. MissingExtra : without matplotlib.
    """
    file_format(path)
    shown = dict(list(replays.items())[:PANELS])
    names = _indebted(list(shown.values()))
    panels = []
    for title, data in shown.items():
        hours = float(data["hours"])
        ends = [float(t) + hours for t in data["starts"]]
        rows = {one["name"]: one["debt"] for one in data["users"]}
        lines = [
            Line(name, ends, [float(y) for y in rows[name]], [True] * len(ends)) for name in names
        ]
        panels.append(Panel(clipped(title), lines, []))
    with styled(style, size):
        save(draw_lines(panels, "hours", f"owed ({next(iter(shown.values()))['unit']})"), path)


def _indebted(replays: Sequence[Mapping[str, Any]]) -> list[str]:
    """The users with the largest debts at any end, in their own order."""
    size = {
        one["name"]: max(
            abs(each["debt"][-1])
            for data in replays
            for each in data["users"]
            if each["name"] == one["name"]
        )
        for one in replays[0]["users"]
    }
    first = sorted(size, key=lambda name: -size[name])[:MOST_INDEBTED]
    return [name for name in size if name in first]
