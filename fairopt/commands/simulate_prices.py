"""fairopt simulate prices: proportional fairness by prices that the resources set on their own."""

from __future__ import annotations

import math
from typing import Any

import click

from fairopt import files
from fairopt.commands import progress
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks


def sizes(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    """(first, last, how many) of FROM:TO:COUNT; None where nothing was said."""
    if value is None:
        return None
    try:
        first, last, count = value.split(":")
        found = float(first), float(last), int(count)
    except ValueError:
        found = (0.0, 0.0, 0)
    if not (0 < found[0] <= found[1] < math.inf and 1 <= found[2] <= 1000):
        raise click.BadParameter(f"found {value!r}; wanted FROM:TO:COUNT, as 0.001:1:13")
    return found


@click.command("prices", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--theta",
    "span",
    callback=sizes,
    metavar="FROM:TO:COUNT",
    help="Step sizes, spaced by ratios; default three decades up to twice the largest "
    "that settles on a pool, 0.001:1:13 on several servers.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=400),
    default=100_000,
    show_default=True,
    help="Most steps for each.",
)
@asks.taking(*asks.LEFT)
def command(
    model: str,
    span: tuple[float, float, int] | None,
    steps: int,
    run: asks.Run,
) -> int:
    """How many steps the prices of (6) of bonald2015 take on MODEL to come within 1e-6.

    Beside the exact answer, which is certified. A size that does not settle is said so: how far the
    last tasks are off, and how far their mean over the second half of the steps. --plot draws steps
    (or what is missing) against theta.
    """
    import numpy as np

    from fairopt.dynamics.prices import by_prices, edge
    from fairopt.notions import ProportionalFair
    from fairopt.report import plot_simulated, plot_style
    from fairopt.solving import solve

    problem = files.read(model)
    if run.picture is not None:
        plot_style.file_format(run.picture)
    exact = solve(problem.instance, ProportionalFair())
    most = edge(exact)
    first, last, count = span or ((2e-3 * most, 2 * most, 13) if most else (1e-3, 1.0, 13))
    runs = []
    with progress.shown("step sizes", "sizes") as told:
        for k, theta in enumerate(np.geomspace(first, last, count).tolist()):
            runs.append(by_prices(exact, theta, steps))
            if told is not None:
                told(k + 1, count)
    if run.picture is not None:
        plot_simulated.prices(runs, most, run.picture)
    rows = [
        {
            "theta": r.theta,
            "ended": r.ended,
            "steps": r.steps,
            "off": _finite(r.off),
            "mean_off": _finite(r.mean_off),
        }
        for r in runs
    ]
    from fairopt.commands.simulate import SCHEMA

    data = {
        "schema": SCHEMA,
        "kind": "prices",
        "model": problem.name,
        "steps": steps,
        "edge": most,
        "exact": dict(zip(problem.instance.users, exact.totals.tolist(), strict=True)),
        "rows": rows,
    }
    common.leave(data, _text(problem.title or problem.name, rows, most), run)
    return 0


def _text(title: str, rows: list[dict[str, Any]], most: float | None) -> str:
    from fairopt.filling.compared import text

    lines = [
        [
            f"{row['theta']:.4g}",
            row["ended"],
            *(
                "-" if row[key] is None else f"{row[key]:.3g}" if key != "steps" else str(row[key])
                for key in ("steps", "off", "mean_off")
            ),
        ]
        for row in rows
    ]
    head = ["theta", "ended", "steps", "off", "mean off"]
    last = [] if most is None else ["", f"settles below theta = {most:.4g} once it is near"]
    what = "Prices of resources by steps of theta"
    return "\n".join([title, what, "", text(head, lines, "terminal"), *last])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
