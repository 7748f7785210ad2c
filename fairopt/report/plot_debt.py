"""The picture of a replay: what is owed to each user over time, under one policy or several."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.report.plot_data import Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import clipped, file_format, save, styled

MOST_LINES = 8
"""most users with a line: those to whom most is owed, or who hold most that is another's"""
PANELS = 6


def plot(
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
    names = _users(list(shown.values()))
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


def _users(replays: Sequence[Mapping[str, Any]]) -> list[str]:
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
    first = sorted(size, key=lambda name: -size[name])[:MOST_LINES]
    return [name for name in size if name in first]


__all__ = ["plot"]
