"""Pictures of computed curves: panels of lines through points (Figures 1 to 3 of bonald2015)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fairopt.errors import UsageError
from fairopt.report.plot_data import PANELS, Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import clipped, file_format, save, styled

Curves = Mapping[str, Mapping[str, Sequence[float | None]]]
"""title of a panel -> name of a line -> its values, None where there is none"""


def plot(
    x: Sequence[float], curves: Curves, words: tuple[str, str], path: str | os.PathLike[str]
) -> None:
    """Draw curves over x into a PNG, PDF or SVG file.

    Parameters
    ----------
    words : of the axes.

    Raises
    ------
    UsageError : another ending, or more panels than fit. MissingExtra : without matplotlib.
    """
    file_format(path)
    if len(curves) > PANELS:
        raise UsageError(f"plot: found {len(curves)} panels; wanted at most {PANELS}")
    order = sorted(range(len(x)), key=x.__getitem__)
    at = [x[k] for k in order]
    panels = [
        Panel(
            clipped(title),
            [
                Line(clipped(name), at, [y[k] for k in order], [True] * len(x))
                for name, y in lines.items()
            ],
            [x[k] for k in order if all(y[k] is None for y in lines.values())],
        )
        for title, lines in curves.items()
    ]
    with styled():
        save(draw_lines(panels, *words), path)
