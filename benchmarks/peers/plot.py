"""Seconds over size, both axes logarithmic, as an SVG file."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any


def draw(records: list[dict[str, Any]], path: Path) -> bool:
    """Whether the plot could be drawn: matplotlib is needed."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("growth.svg is left out: matplotlib is not installed", file=sys.stderr)
        return False
    mpl.use("svg")
    # the same figures give the same bytes
    mpl.rcParams["svg.hashsalt"] = "fairopt"
    from matplotlib.figure import Figure

    series = list(dict.fromkeys(record["series"] for record in records))
    figure = Figure(figsize=(4.6 * len(series), 3.6), layout="constrained")
    axes = figure.subplots(1, len(series), squeeze=False)[0]
    for axis, name in zip(axes, series, strict=True):
        own = [record for record in records if record["series"] == name]
        sides = list(dict.fromkeys(row["side"] for record in own for row in record["sides"]))
        for side, mark in zip(sides, "os^dvx", strict=False):
            at = [
                (record[name], statistics.median(row["all"]))
                for record in own
                for row in record["sides"]
                if row["side"] == side and "wall" in row
            ]
            if at:
                axis.loglog(*zip(*at, strict=True), marker=mark, label=side, linewidth=1.2)
        axis.set_xlabel(name)
        axis.set_ylabel("seconds")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})
    return True
