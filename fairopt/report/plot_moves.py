"""The picture of few moves: how many tasks are moved, and fewest, where everybody may miss some."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.errors import UsageError
from fairopt.report.plot_data import Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import file_format, save, styled


def plot(
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


__all__ = ["plot"]
