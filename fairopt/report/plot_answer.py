"""Pictures of one answer: servers filled by user, prices, levels, envy (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.frames import clean_by_way, clean_prices
from fairopt.errors import UsageError
from fairopt.instance import Floats
from fairopt.properties.compared import circles
from fairopt.properties.envy import envy
from fairopt.report.plot_style import (
    COLOURS,
    GREY,
    axis,
    clipped,
    file_format,
    legend,
    new_figure,
    note,
    save,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERVERS = 16
"""most servers drawn"""
USERS = 40
"""most users in an envy matrix"""


def plot(
    alloc: Allocation,
    path: str | os.PathLike[str],
    kind: str = "allocation",
    style: str = "paper",
    size: tuple[float, float] | None = None,
) -> None:
    """Draw an answer into a PNG, PDF or SVG file; equal answers give equal bytes.

    Parameters
    ----------
    kind : "allocation", every resource of every server filled by user; "prices", a heat map;
        "levels", a staircase; "envy", the tasks each user would run with what another holds.
    path, style, size : as for `fairopt.report.plots.plot`.

    Raises
    ------
    UsageError : an unknown kind, style or ending; prices of an answer without; too many users.
    MissingExtra : matplotlib is not installed.
    """
    file_format(path)
    if kind not in KINDS:
        raise UsageError(f"kind: found {kind!r}; wanted one of {', '.join(KINDS)}")
    with styled(style, size):
        save(KINDS[kind](alloc), path)


def allocation(alloc: Allocation) -> Figure:
    """A bar for every resource of every server, filled by user, the largest users in colour."""
    inst = alloc.instance
    shown = min(len(inst.servers), SERVERS)
    parts = _parts(alloc, shown)
    biggest = np.argsort(-parts.max(axis=2).sum(axis=1), kind="stable")[: len(COLOURS)]
    own = sorted(biggest.tolist())
    bars = [(i, r) for i in range(shown) for r in range(len(inst.resources)) if inst.pool[i, r] > 0]
    figure = new_figure((5.6, 0.8 + 0.22 * len(bars) + 0.12 * shown))
    axes = figure.add_subplot()
    place = [k + 0.6 * i for k, (i, _) in enumerate(bars)]
    left = np.zeros(len(bars))
    entries = []
    for k, n in enumerate(own):
        width = np.array([parts[n, i, r] for i, r in bars])
        drawn = axes.barh(
            place,
            width,
            left=left,
            color=COLOURS[k],
            edgecolor="white",
            linewidth=0.5,
            gid=f"user-{k}",
        )
        entries.append((drawn, clipped(inst.users[n])))
        left += width
    rest = np.array([alloc.utilisation[i, r] for i, r in bars]) - left
    if len(own) < len(inst.users):
        drawn = axes.barh(place, np.maximum(rest, 0.0), left=left, color=GREY, gid="others")
        entries.append((drawn, f"{len(inst.users) - len(own)} others"))
    names = [f"{clipped(inst.servers[i])}  {clipped(inst.resources[r])}" for i, r in bars]
    axes.set_yticks(place, names, parse_math=False)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(1.0, float(alloc.utilisation[:shown].max())))
    axis(axes, "x", "used (part of the capacity)")
    if shown < len(inst.servers):
        entries.append(note("", f"{len(inst.servers) - shown} more servers"))
    legend(figure, entries)
    return figure


def prices(alloc: Allocation) -> Figure:
    """A cell for every resource of every server: its price, coloured by what a machine costs."""
    inst = alloc.instance
    found = clean_prices(alloc)
    shown = min(len(inst.servers), SERVERS)
    machines = np.maximum((inst.pool > 0).T @ inst.count, 1)
    worth = (found * (inst.pool.sum(axis=0) / machines))[:shown]
    missing = inst.pool[:shown] == 0
    figure = new_figure((1.6 + 1.0 * len(inst.resources), 1.0 + 0.3 * shown))
    axes = figure.add_subplot()
    drawn = axes.imshow(np.where(missing, np.nan, worth), cmap="Blues", aspect="auto", vmin=0.0)
    top = float(worth.max()) or 1.0
    for i in range(shown):
        for r in range(len(inst.resources)):
            dark = worth[i, r] > 0.55 * top and not missing[i, r]
            axes.text(
                r,
                i,
                "–" if missing[i, r] else f"{found[i, r]:.4g}",
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=8,
            )
    axes.set_xticks(
        range(len(inst.resources)), [clipped(r) for r in inst.resources], parse_math=False
    )
    axes.set_yticks(range(shown), [clipped(s) for s in inst.servers[:shown]], parse_math=False)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    bar = figure.colorbar(drawn, ax=axes)
    bar.set_label("worth of a machine")
    if shown < len(inst.servers):
        axis(axes, "x", f"price per unit; {len(inst.servers) - shown} more servers")
    else:
        axis(axes, "x", "price per unit of the resource")
    return figure


def levels(alloc: Allocation) -> Figure:
    """Users from the lowest level up, as a staircase."""
    order = np.argsort(alloc.levels, kind="stable")
    level = alloc.levels[order]
    figure = new_figure((5.2, 3.0))
    axes = figure.add_subplot()
    edges = np.arange(len(level) + 1)
    axes.stairs(level, edges, fill=True, color="#9DC3E6", gid="levels")
    axes.stairs(level, edges, color=COLOURS[0], linewidth=1.5)
    if len(level) <= 12:
        names = [clipped(alloc.instance.users[n]) for n in order]
        axes.set_xticks(edges[:-1] + 0.5, names, parse_math=False)
        axis(axes, "x", "users, from the lowest level up")
    else:
        axis(axes, "x", "users, from the lowest level up (count)")
    axes.set_xlim(0, len(level))
    axes.set_ylim(0, (float(level.max()) or 1.0) * 1.05)
    axis(axes, "y", "level (share / weight)")
    return figure


def envies(alloc: Allocation) -> Figure:
    """A cell for every pair: tasks with what the other holds, over one's own; above 1 is envy.

    Users of two groups or priorities are not compared, and their cells are blank."""
    inst = alloc.instance
    size = len(inst.users)
    if size > USERS:
        raise UsageError(f"envy: found {size} users; wanted at most {USERS}")
    would = envy(alloc)
    own = np.diag(would)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(would == 0, 0.0, would / own[:, None])
    circle = circles(inst)
    compared = circle[:, None] == circle
    shown = np.clip(np.nan_to_num(ratio, posinf=2.0), 0.0, 2.0)
    side = 1.6 + 0.42 * size
    figure = new_figure((min(side + 0.6, 12.0), min(side, 11.0)))
    axes = figure.add_subplot()
    blank = np.where(compared, shown, np.nan)
    drawn = axes.imshow(blank, cmap="PuOr_r", vmin=0.0, vmax=2.0)
    if size <= 16:
        for n in range(size):
            for m in np.flatnonzero(compared[n]).tolist():
                envious = ratio[n, m] > 1 + 1e-6
                words = "> 1" if 1 < ratio[n, m] < 1.005 and envious else f"{ratio[n, m]:.2f}"
                axes.text(
                    m,
                    n,
                    words,
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if abs(shown[n, m] - 1) > 0.7 else "black",
                    fontweight="bold" if envious else "normal",
                )
    names = [clipped(user) for user in inst.users]
    axes.set_xticks(range(size), names, rotation=90, parse_math=False)
    axes.set_yticks(range(size), names, parse_math=False)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axis(axes, "x", "whose holdings, scaled by weight")
    axis(axes, "y", "who would run them")
    bar = figure.colorbar(drawn, ax=axes, extend="max")
    bar.set_label("tasks over one's own; above 1 is envy")
    return figure


def _parts(alloc: Allocation, shown: int) -> Floats:
    """(N, shown, R) part of each resource that each user takes."""
    pool = np.where(alloc.instance.pool > 0, alloc.instance.pool, 1.0)[:shown]
    return alloc.taken(clean_by_way(alloc), servers=slice(shown)) / pool


KINDS: dict[str, Callable[[Allocation], Figure]] = {
    "allocation": allocation,
    "prices": prices,
    "levels": levels,
    "envy": envies,
}
"""kind of picture -> who draws it"""
