"""Pictures of a sweep: the frontier, shares or utilisation against a parameter (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.errors import UsageError
from fairopt.measures import about
from fairopt.report.plot_data import (
    Row,
    chosen,
    is_number,
    panels,
    parameter_of,
    parameters,
    rows_of,
    varied,
)
from fairopt.report.plot_frontier import draw_frontier
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import axis_words, clipped, file_format, save, styled

KINDS = ("frontier", "shares", "utilisation")
SHARES = {
    "tasks": "share (tasks)",
    "drf": "share (dominant share of all servers)",
    "drf-use": "share (part of all servers used)",
    "dominant-share": "share (sum of dominant shares)",
}
"""axis label of shares, by criterion"""


def plot(
    sweep: Any,
    path: str | os.PathLike[str],
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    over: str | None = None,
    where: Mapping[str, Any] | None = None,
    lowest: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    style: str = "paper",
    size: tuple[float, float] | None = None,
) -> None:
    """Draw a sweep into a PNG, PDF or SVG file; equal rows give equal bytes.

    Every row is in the picture: answers that are not certified are hollow markers, rows without
    an answer are crosses on the axis or counted in the legend.

    Parameters
    ----------
    sweep : a sweep, or rows as plain data with "parameters", "measures", "shares", "certified".
    path : ends in .png, .pdf or .svg; written whole or not at all.
    kind : "frontier" of two measures, "shares" (one line per user) or "utilisation" (one line per
        resource) against a parameter; default "shares" if only one parameter varies, else
        "frontier".
    x, y : measures of the frontier; default sqrt_var_f (sqrt_sum_v where only t_drf varies) and
        efficiency.
    over : the parameter on the axis; default the numeric one with most values. A grid that is even
        in logarithms has a logarithmic axis. Each setting of the other parameters is a panel.
    where : {parameter: value} of the rows to draw; default all.
    lowest : measures that are better when lower, as in `fairopt.measures.frontier`.
    labels : {parameter or measure: words} for the axes.
    style : "paper" or "slides", which has larger letters and thicker lines.
    size : width and height in inches; default by what is drawn.

    Raises
    ------
    UsageError : an unknown kind, ending, parameter or measure; nothing to draw.
    MissingExtra : matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import fairopt as fo
    >>> from fairopt.report.plots import plot
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> found = fo.sweep(inst, [fo.AlphaFair(a) for a in (1, 2, 4)])
    >>> plot(found, tempfile.mkdtemp() + '/shares.svg')
    """
    file_format(path)
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind: found {kind!r}; wanted one of {', '.join(KINDS)}")
    rows = chosen(rows_of(sweep), where)
    kind = kind or usual_kind(rows)
    given = {"x": x, "y": y, "lowest": lowest} if kind != "frontier" else {"over": over}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise UsageError(f"{', '.join(extra)}: found with kind={kind!r}; wanted without")
    with styled(style, size):
        if kind == "frontier":
            x, y = x or usual_x(rows), y or "efficiency"
            words = axis_words(x, labels), axis_words(y, labels)
            figure = draw_frontier(rows, x, y, words, lowest)
        else:
            over = parameter_of(rows, over)
            pick = shares if kind == "shares" else utilisation
            label = share_words(rows) if kind == "shares" else "used (part of the capacity)"
            found = panels(rows, over, pick, clipped)
            top = 1.0 if kind == "utilisation" else None
            without = sum(not is_number(parameters(row).get(over)) for row in rows)
            more = f"{without} of {len(rows)} have no {clipped(over)}" if without else ""
            title = (labels or {}).get(kind, label)
            figure = draw_lines(found, axis_words(over, labels), title, top, more)
        save(figure, path)


def usual_kind(rows: Sequence[Row]) -> str:
    """Shares if a single number varies and nothing else, else the frontier."""
    found = list(varied(rows).values())
    return "shares" if len(found) == 1 and all(map(is_number, found[0])) else "frontier"


def usual_x(rows: Sequence[Row]) -> str:
    """The measure of unfairness that belongs to the swept penalty."""
    found = varied(rows)
    return "sqrt_sum_v" if "t_drf" in found and "t_pf" not in found else "sqrt_var_f"


def shares(row: Row) -> dict[str, Any]:
    """{user: share} of a row; {} without an answer."""
    return dict(row.get("shares") or {})


def utilisation(row: Row) -> dict[str, Any]:
    """{resource: part used} of a row, without resources that no server has."""
    return {
        name.removeprefix("utilisation."): value
        for name, value in (row.get("measures") or {}).items()
        if name.startswith("utilisation.") and about(name) is not None and value is not None
    }


def share_words(rows: Sequence[Row]) -> str:
    """The axis label of the shares, by their criterion if all rows have the same."""
    from fairopt.notions import NOTIONS

    found = set()
    for row in rows:
        notion = row.get("notion") or {}
        own = getattr(NOTIONS.get(notion.get("name", "")), "criterion", None)
        given = {**(notion.get("parameters") or {}), **(row.get("parameters") or {})}
        found.add(str(given.get("criterion", own) or ""))
    if len(found) != 1:
        return "share"
    criterion = found.pop()
    return SHARES.get(criterion, f"share ({clipped(criterion)})" if criterion else "share")
