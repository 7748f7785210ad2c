"""The style of plots: colours for the colour-blind, axis labels, reproducible files."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairopt import storage
from fairopt.errors import MissingExtra, UsageError
from fairopt.measures import about

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), without yellow, which is hard to see on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (2, 2)),
)
GREY = "#8C8C8C"
STYLE: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "fairopt",
    "pdf.fonttype": 42,
    "path.simplify": False,
}
STYLES: dict[str, Any] = {
    "paper": {},
    "slides": {
        "font.size": 14,
        "axes.labelsize": 14,
        "axes.titlesize": 14,
        "xtick.labelsize": 12.5,
        "ytick.labelsize": 12.5,
        "legend.fontsize": 12.5,
        "axes.linewidth": 1.2,
        "lines.linewidth": 2.4,
        "lines.markersize": 8,
    },
}
"""what changes for print and for a screen seen from afar"""
SIZES = (1.0, 40.0)
"""least and most width and height of a picture in inches"""
_SIZE: ContextVar[tuple[float, float] | None] = ContextVar("size", default=None)
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""metadata without date and version, so that equal pictures are equal files"""

MEASURES = {
    "efficiency": "efficiency Σ φ x (weighted tasks)",
    "sqrt_var_f": "√var F over users (dominant shares)",
    "sqrt_sum_v": "√Σ V within servers (dominant shares)",
    "min_level": "lowest level (shares of the criterion)",
    "max_level": "highest level (shares of the criterion)",
    "jain": "Jain's index of the levels",
    "nash_welfare": "Nash welfare (shares of the criterion)",
    "price_of_fairness": "price of fairness (part of the largest efficiency)",
    "blocked_users": "blocked users",
}
PARAMETERS = {
    "t_pf": "t_pf, weight of var F (no unit)",
    "t_drf": "t_drf, weight of Σ V (no unit)",
    "alpha": "alpha (no unit)",
}
NAME = 24
"""most characters of a name; a longer one is cut"""


def axis_words(name: str, labels: Mapping[str, str] | None) -> str:
    """The axis label of a parameter or measure."""
    if labels and name in labels:
        return labels[name]
    if name in PARAMETERS:
        return PARAMETERS[name]
    known = about(name)
    if known is None:
        return clipped(name)
    if name in MEASURES:
        return MEASURES[name]
    return f"{clipped(name.removeprefix('utilisation.'))} used ({known.unit})"


def clipped(name: str) -> str:
    """A name on one line, cut to NAME characters."""
    name = " ".join(str(name).split())
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


@contextmanager
def styled(style: str = "paper", size: tuple[float, float] | None = None) -> Iterator[None]:
    """Use this style inside, whatever the user's Matplotlib settings, which are then restored.

    Parameters
    ----------
    style : a key of STYLES. size : width and height of pictures in inches; default by content.

    Raises
    ------
    UsageError : an unknown style, or a size out of range.
    MissingExtra : matplotlib is not installed.
    """
    if style not in STYLES:
        raise UsageError(f"style: found {style!r}; wanted one of {', '.join(STYLES)}")
    if size is not None and not all(SIZES[0] <= side <= SIZES[1] for side in size):
        found = f"{size[0]:g} by {size[1]:g}"
        raise UsageError(f"size: found {found}; wanted {SIZES[0]:g} to {SIZES[1]:g} inches")
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtra("plot needs matplotlib: pip install 'fairopt[plot]'") from error
    with mpl.rc_context(), warnings.catch_warnings():
        # a name in a script that the font lacks is drawn as boxes, without a warning
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update({**STYLE, **STYLES[style]})
        asked = _SIZE.set(size)
        try:
            yield
        finally:
            _SIZE.reset(asked)


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty picture, of the size asked for by `styled`, or else of this one in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=_SIZE.get() or size, layout="constrained")


def whole_numbers(axes: Axes, side: str, values: Iterable[float]) -> None:
    """Ticks at whole numbers alone, if all values are whole and the axis is linear."""
    from matplotlib.ticker import MaxNLocator

    on = axes.xaxis if side == "x" else axes.yaxis
    if on.get_scale() == "linear" and all(float(v).is_integer() for v in values):
        on.set_major_locator(MaxNLocator(nbins=7, integer=True))


def file_format(path: str | os.PathLike[str]) -> str:
    """png, pdf or svg, from the ending of the name.

    Raises
    ------
    UsageError : another ending.
    """
    ending = Path(os.fspath(path)).suffix.lower().removeprefix(".")
    if ending not in METADATA:
        raise UsageError(
            f"plot: found {Path(os.fspath(path)).name!r}; wanted a name that ends in "
            f"{', '.join('.' + known for known in METADATA)}"
        )
    return ending


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the picture, whole or not at all; equal pictures give equal bytes."""
    ending = file_format(path)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=ending, metadata=METADATA[ending])
    storage.write_bytes(path, buffer.getvalue())


def mark(k: int) -> dict[str, Any]:
    """Colour, marker and line style of the k-th line; they differ for seven lines."""
    size = len(COLOURS)
    return {
        "color": COLOURS[k % size],
        "marker": MARKERS[k % size],
        "linestyle": DASHES[(k + k // size) % size],
    }


def legend(figure: Figure, entries: Sequence[tuple[Any, str]]) -> None:
    """Draw a legend below the picture; names are shown literally, not as TeX formulas."""
    if not entries:
        return
    longest = max(len(words) for _, words in entries)
    columns = max(1, min(len(entries), int(figure.get_figwidth() * 72 / (5 * longest + 48))))
    lines = -(-len(entries) // columns)
    figure.set_figheight(figure.get_figheight() + 0.19 * max(0, lines - 1))
    drawn = figure.legend(
        [handle for handle, _ in entries],
        ["x"] * len(entries),
        loc="outside lower center",
        ncols=columns,
        handlelength=2.6,
        columnspacing=1.6,
    )
    for text, (_, words) in zip(drawn.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(words)


def note(marker: str, words: str, edge: str = "#404040", fill: str = "white") -> tuple[Any, str]:
    """A legend entry for a kind of point."""
    from matplotlib.lines import Line2D

    handle = Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markersize=5,
        markeredgecolor=edge,
        markerfacecolor=fill,
    )
    return handle, words


def axis(axes: Axes, side: str, words: str) -> None:
    """Label the x or y axis; the words are shown literally."""
    (axes.set_xlabel if side == "x" else axes.set_ylabel)(words, parse_math=False)
