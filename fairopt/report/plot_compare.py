"""The picture of a comparison: what each notion costs, and whom it leaves behind (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.errors import UsageError
from fairopt.report.html.compare_data import SHORT
from fairopt.report.plot_style import (
    COLOURS,
    axis,
    clipped,
    file_format,
    legend,
    new_figure,
    save,
    styled,
)


def plot(
    rows: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str],
    style: str = "paper",
    size: tuple[float, float] | None = None,
) -> None:
    """Draw a comparison into a PNG, PDF or SVG file.

    A line for each notion or scheduler: from its least to its most level, its efficiency relative
    to the largest, and the properties that fail. Rows without an answer are left out and counted.

    Parameters
    ----------
    rows : those of `fairopt.compare.rows`, or of the file of `fairopt compare -o`.
    path, style, size : as for `fairopt.report.plots.plot`.

    Raises
    ------
    UsageError : no row has an answer; an unknown style or ending. MissingExtra : no matplotlib.
    """
    file_format(path)
    there = [row for row in rows if row["status"] == "answered"]
    if not there:
        raise UsageError("plot: found no row with an answer; wanted at least one")
    with styled(style, size):
        figure = new_figure((7.2, 0.9 + 0.21 * len(there)))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        place = list(range(len(there)))
        least, most = [row["least"] for row in there], [row["most"] for row in there]
        left.hlines(place, least, most, color="#B0B0B0", linewidth=2)
        (low,) = left.plot(least, place, linestyle="", marker="o", color=COLOURS[1], gid="least")
        (high,) = left.plot(most, place, linestyle="", marker="s", color=COLOURS[0], gid="most")
        left.set_yticks(place, [_name(row) for row in there], parse_math=False)
        left.invert_yaxis()
        left.set_xlim(left=0)
        axis(left, "x", "level (tasks / tasks alone, by weight)")
        top = max(row["efficiency"] for row in there) or 1.0
        bars = right.barh(place, [row["efficiency"] / top for row in there], color="#9DC3E6")
        right.set_xlim(0, 1.0)
        axis(right, "x", "efficiency (part of the largest)")
        for k, row in enumerate(there):
            fails = " ".join(SHORT.get(name, name) for name in row["fails"])
            right.annotate(
                fails, (0.02, k), va="center", fontsize="small", color="#8B1A1A", parse_math=False
            )
        entries = [(low, "least level"), (high, "most level"), (bars, "efficiency")]
        failing = {name for row in there for name in row["fails"]}
        words = ", ".join(f"{SHORT.get(n, n)} {n}" for n in SHORT if n in failing)
        if words:
            entries.append((_nothing(), f"in red, what fails: {words}"))
        if len(there) < len(rows):
            entries.append((_nothing(), f"{len(rows) - len(there)} of {len(rows)} have no answer"))
        legend(figure, entries)
        save(figure, path)


def _name(row: Mapping[str, Any]) -> str:
    values = ", ".join(
        f"{v:g}" if isinstance(v, float) else str(v) for v in row["parameters"].values()
    )
    return clipped(f"{row['name']} ({values})" if values else str(row["name"]))


def _nothing() -> Any:
    """The sign of a legend entry that is words alone."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="")
