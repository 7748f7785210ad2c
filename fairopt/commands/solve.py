"""fairopt solve: from a model to an allocation with prices and a certificate."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files
from fairopt.commands import complete, notion_options, output, progress
from fairopt.commands.lazy import Grouped
from fairopt.errors import NotCertified


@click.command(
    "solve",
    cls=Grouped,
    epilog=f"\b\nNotions:\n{notion_options.listed()}",
    context_settings={"max_content_width": 100},
)
@complete.model_argument
@notion_options.options
@click.option("--case", type=int, metavar="K", help="Solve the model's case number K, from 1.")
@click.option(
    "--solver",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, clarabel, ecos, scs or highs; a named one is tried alone.",
)
@click.option(
    "--tolerance",
    "--gap",
    "tolerance",
    type=float,
    default=1e-6,
    show_default=True,
    help="Accept when every share is proved to be within this part.",
)
@click.option(
    "--limit",
    "limit_s",
    type=float,
    metavar="SECONDS",
    help="Then stop: the best answer so far, with the bound proved of it (exit code 4).",
)
@click.option(
    "--reduce/--no-reduce",
    default=True,
    show_default=True,
    help="Merge identical users and servers before solving, which is exact.",
)
@click.option(
    "--start", "begin", metavar="FILE", help="Begin from the answer before a change, saved with -o."
)
@click.option(
    "--near",
    "running",
    metavar="FILE",
    help="Of all optimal answers the one that moves fewest tasks of this one, saved with -o.",
)
@click.option(
    "--explain",
    "told",
    is_flag=True,
    help="Also print every check, what stops each user, and what that is worth.",
)
@click.option(
    "--kkt",
    is_flag=True,
    help="Print the conditions of optimality instead, pair by pair and row by row.",
)
@click.option(
    "--whole",
    is_flag=True,
    help="Print every user, server and level, on lines as long as they need.",
)
@output.as_json
@output.out
def command(
    model: str,
    notion: str | None,
    case: int | None,
    solver: str,
    tolerance: float,
    limit_s: float | None,
    reduce: bool,
    begin: str | None,
    running: str | None,
    told: bool,
    kkt: bool,
    whole: bool,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Allocate the resources of MODEL fairly, and prove it.

    MODEL is a file, a folder of CSV files, the name of a shipped model (`fairopt models`), or "-"
    for a model file on stdin. Without --notion the notion of the model's first case is solved, or
    proportional fairness if it has no cases; --alpha alone means alpha-fair.

    Exit code 0 means certified; 4 means that the answer shown is not.
    """
    problem = files.read(model)
    given = {key: value for key, value in parameters.items() if value is not None}
    wanted = notion_options.chosen(problem, notion, case, given)
    last = None if begin is None else files.load(begin)
    runs = None if running is None else files.load(running)
    # imported late, as this imports the solvers
    from fairopt import solve

    complaint = None
    try:
        with progress.shown(wanted.name) as moved:
            answer = solve(
                problem.instance,
                wanted,
                solver=solver,
                tolerance=tolerance,
                progress=moved,
                reduce=reduce,
                start=last,
                near=runs,
                limit_s=limit_s,
            )
    except NotCertified as error:
        if error.allocation is None:
            raise
        answer, complaint = error.allocation, error
    if path is not None:
        files.save(answer, path)
    if kkt:
        output.kkt_out(answer, problem.title or problem.name, complaint is None, whole, as_json)
    elif as_json:
        output.to_stdout(files.dumps(answer))
    else:
        from fairopt.report.tables import allocation_text

        title = problem.title or problem.name
        text = allocation_text(answer, title, complaint is None, whole)
        if told and answer.certificate is not None:
            text += f"\n\n{answer.certificate.explain()}"
        output.to_stdout(text)
    if complaint is not None:
        raise complaint
    return 0
