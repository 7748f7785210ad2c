"""Performance profiles: the part of the instances solved within so many times the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.fairbench.entrants import SHIPPED

SOLVED = ("exact", "solved")
FLOOR = 1e-3
"""seconds below which times count as the same"""
MOST_TIMES = 1e4
"""most times the seconds of the fastest that the picture shows"""


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """One panel for each kind of notion; who solves nothing of a kind has no line there."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fairopt"  # the same figures give the same bytes
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    everybody = [e for e in SHIPPED if any(r["entrant"] == e for r in records)]
    everybody += sorted({r["entrant"] for r in records} - set(everybody))
    drawn = {}
    panels = (("alpha-fair", False), ("max-min", True))
    for axis, (title, levels) in zip(axes, panels, strict=True):
        own = [r for r in records if r["name"].endswith("max-min") == levels]
        names = sorted({r["name"] for r in own})
        best = {
            name: min((_time(r) for r in own if r["name"] == name), default=np.inf)
            for name in names
        }
        for k, entrant in enumerate(everybody):
            ratio = sorted(_time(r) / best[r["name"]] for r in own if r["entrant"] == entrant)
            at = np.array([x for x in ratio if np.isfinite(x)])
            if not len(at):
                continue
            x = np.concatenate([[1.0], np.repeat(at, 2), [MOST_TIMES]])
            steps = np.arange(len(at) + 1) / len(names)
            y = np.concatenate([[0.0], np.repeat(steps, 2)[1:]])
            label = SHIPPED.get(entrant, entrant)
            style = ("-", "--", ":")[k // 10]
            line = axis.step(x, y[: len(x)], style, color=f"C{k % 10}", label=label, linewidth=1.4)
            drawn.setdefault(label, line[0])
        axis.set_xscale("log")
        axis.set_xlim(1, MOST_TIMES)
        axis.set_ylim(0, 1.02)
        axis.set_title(f"{title}: {len(names)} instances")
        axis.set_xlabel("seconds of a processor over those of the fastest that solves it")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("part of the instances solved")
    figure.legend(drawn.values(), drawn, fontsize=8, loc="outside lower center", ncols=5)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _time(record: dict[str, Any]) -> float:
    return max(record["processor"], FLOOR) if record["outcome"] in SOLVED else np.inf
