"""fairopt sweep: one model over a grid of parameters, one row per point."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files
from fairopt.commands import complete, notion_options, output, sweep_table, sweep_workers, work
from fairopt.commands.lazy import Grouped
from fairopt.errors import UsageError

KINDS = ("frontier", "shares", "utilisation")


@click.command("sweep", cls=Grouped, context_settings={"max_content_width": 100})
@complete.model_argument
@click.option(
    "--over",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help="What to sweep, the last one fastest. VALUES is START:STOP:COUNT (both ends), "
    "log:START:STOP:COUNT or a list A,B,C; NAME a parameter of the notion (alpha, "
    "t_pf, t_drf, ...) or weight.USER, limit.USER, count.SERVER, "
    "capacity.SERVER.RESOURCE, demand.USER.RESOURCE, rule.NAME; of groups weight.GROUP and "
    "guarantee, nominal, borrow, lend or most, as nominal.GROUP.RESOURCE.",
)
@notion_options.options
@click.option(
    "--case", type=int, metavar="K", help="Sweep the notion of the model's case number K, from 1."
)
@work.jobs
@work.dask
@work.resume
@click.option(
    "--answers",
    is_flag=True,
    help="Keep tasks and prices of every point, for the servers of `fairopt report`.",
)
@click.option("--plot", "picture", metavar="FILE", help="Draw into FILE (.png, .pdf or .svg).")
@click.option("--plot-kind", "kind", type=click.Choice(KINDS), help="What to draw.")
@click.option(
    "--solver",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, clarabel, ecos, scs or highs; a named one is tried alone.",
)
@click.option(
    "--gap",
    type=float,
    default=1e-6,
    show_default=True,
    help="Certify when gap and residual are at most this.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(sweep_table.FORMATS),
    default="terminal",
    show_default=True,
    help="Format of the table on stdout; csv has every column.",
)
@output.as_json
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    callback=output.early,
    help="Write every row to FILE (.csv, .json or .parquet), whole or not at all.",
)
def command(
    model: str,
    axes: tuple[str, ...],
    notion: str | None,
    case: int | None,
    jobs: int,
    dask: str | None,
    resume: str | None,
    answers: bool,
    picture: str | None,
    kind: str | None,
    solver: str,
    gap: float,
    form: str,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Solve, judge and measure MODEL for every combination of the values given by --over.

    The notion is --notion. Without it, the model's own if that takes the swept parameters, else the
    one they belong to: t_pf and t_drf mean the trade-off, alpha means alpha-fairness. The table
    goes to stdout, or with -o every number of it to a file. A point without an answer is a row with
    the reason. With --resume, Ctrl-C keeps the finished points. Exit code 4 if a row is not
    certified.
    """
    sweep_workers.check(jobs, dask)
    sweep_table.check(path, picture)
    problem = files.read(model)
    given = {key: value for key, value in parameters.items() if value is not None}
    pairs, labels = sweep_table.points(problem, axes, notion, case, given)
    from fairopt import sweep

    with work.at_work("sweep", "points", len(pairs), jobs, dask, resume) as (executor, told):
        found = sweep(
            None,
            pairs,
            executor,
            resume,
            told,
            solver=solver,
            gap=gap,
            parameters=labels,
            answers=answers,
        )
    reasons = {row["reason"] for row in found.rows}
    if len(reasons) == 1 and all(row["status"] == "refused" for row in found.rows):
        raise UsageError(reasons.pop())
    sweep_table.out(found, problem, path, picture, kind, form, as_json)
    return 0 if found.certified else 4
