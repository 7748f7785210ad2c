"""The plot of simulated rules: mean service rates over the load, with intervals."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from fairopt.errors import UsageError
from fairopt.report.plot_data import PANELS, Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import clipped, file_format, mark, save, styled

if TYPE_CHECKING:
    from fairopt.dynamics.runs import Runs


def plot(runs: Runs, path: str | os.PathLike[str]) -> None:
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
