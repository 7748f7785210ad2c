"""Picture of prices by steps: how many steps each step size takes, or what it leaves open."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairopt.report.plot_style import COLOURS, axis, file_format, new_figure, save, styled

if TYPE_CHECKING:
    from fairopt.dynamics.prices import Priced


def check(path: str | os.PathLike[str]) -> None:
    """Raise UsageError for a file that no picture can be written to."""
    file_format(path)


def plot(runs: Sequence[Priced], edge: float | None, path: str | os.PathLike[str]) -> None:
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
