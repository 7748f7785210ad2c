"""The plot of each server's use of a resource over time, one panel per server (Figure 6)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.report.plot_data import Line, Panel
from fairopt.report.plot_lines import draw_lines
from fairopt.report.plot_style import clipped, file_format, save, styled

if TYPE_CHECKING:
    from fairopt.dynamics.servers import OverTime

MOST = 6
"""most panels in one picture"""


def check(path: str | os.PathLike[str], instance: Instance) -> None:
    """Before any work is done, raise UsageError for a picture that cannot be drawn."""
    file_format(path)
    if len(instance.servers) > MOST:
        found = f"a model of {len(instance.servers)} servers"
        raise UsageError(f"plot: found {found}; wanted at most {MOST}")


def plot(
    run: OverTime, beside: Mapping[str, Sequence[Floats]], r: int, path: str | os.PathLike[str]
) -> None:
    """Draw the use of resource r over time into a PNG, PDF or SVG file.

    Parameters
    ----------
    run : the servers over time.
    beside : name -> use (I, R) under a notion recomputed exactly, one per phase.
    r : position of the resource. path : ends in .png, .pdf or .svg.

    Raises
    ------
    UsageError : another ending, or more servers than panels. MissingExtra : without matplotlib.
    """
    inst, x = run.instance, [float(t) for t in range(len(run.tasks))]
    check(path, inst)
    panels = []
    for i, server in enumerate(inst.servers):
        own = {"PS-DSF": run.used[:, i, r].tolist()}
        for name, phases in beside.items():
            own[name] = [
                float(used[i, r])
                for used, phase in zip(phases, run.phases, strict=True)
                for _ in range(phase.begin, phase.end)
            ]
        lines = [Line(name, x, y, [True] * len(x)) for name, y in own.items()]
        panels.append(Panel(f"server {clipped(server)}", lines, []))
    with styled():
        what = f"{clipped(inst.resources[r])} used (part of the capacity)"
        save(draw_lines(panels, "round", what, top=1.0), path)
