"""fairopt horizon: many slices of time divided at once."""

from __future__ import annotations

import math
from typing import Any

import click

from fairopt import files, storage
from fairopt.commands import notion_options, output, progress
from fairopt.errors import UsageError


@click.command("horizon", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option("--wants", metavar="W", required=True, help="CSV of time, user, tasks.")
@click.option(
    "--slice",
    "length",
    metavar="TIME",
    default="1h",
    show_default=True,
    help="Length of a slice, such as 30m, 1h, 1d.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="WHO:RESOURCE=HOURS",
    help="At most so many hours of a resource, such as A:gpu=60. May be repeated.",
)
@click.option(
    "--promise",
    "promises",
    multiple=True,
    metavar="WHO:RESOURCE=HOURS",
    help="At least so many. May be repeated.",
)
@click.option("--carry", is_flag=True, help="What was not served may be served later.")
@notion_options.options
@output.as_json
@output.out
def command(
    model: str,
    wants: str,
    length: str,
    budgets: tuple[str, ...],
    promises: tuple[str, ...],
    carry: bool,
    notion: str | None,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Divide all slices of W at once, with prices of every hour and a certificate.

    A row of W is the level that the user wants from then on; users who never want anything are left
    out. With -o the answer is a file like that of `fairopt solve`: verify, plot and report read it.
    """
    import numpy as np

    from fairopt.allocation.writing import dumps
    from fairopt.overtime.durations import hours
    from fairopt.overtime.gridded import grid
    from fairopt.overtime.horizon import horizon, slice_names
    from fairopt.overtime.logs import read_log
    from fairopt.overtime.periods import Budget, Promise
    from fairopt.report.replay_text import horizon_text
    from fairopt.solving import solve

    problem = files.read(model)
    given = {key: value for key, value in parameters.items() if value is not None}
    asked = notion_options.chosen(problem, notion, None, given)
    try:
        step = hours(length, "--slice")
    except ValueError as error:
        raise UsageError(str(error)) from None
    inst = problem.instance
    log = read_log(wants, inst, wants=True)
    start, steps = grid(log.span, step)
    amount = log.means(start, step, steps, len(inst.users), 1)[:, :, 0]
    there = np.flatnonzero((amount > 0).any(axis=0))
    if not len(there):
        raise UsageError(f"wants: found nobody who wants anything in {wants}; wanted somebody")
    small = inst.select(there, np.arange(len(inst.servers)))
    periods: list[Budget | Promise] = [
        *(Budget(*_record(one, "--budget")) for one in budgets),
        *(Promise(*_record(one, "--promise")) for one in promises),
    ]
    names = slice_names(start + step * np.arange(steps))
    whole = horizon(small, amount[:, there], step, periods, None, carry, names)
    with progress.shown(asked.name) as told:
        answer = solve(whole.instance, asked, progress=told)
    if path is not None:
        storage.write_text(path, dumps(answer))
    output.to_stdout(
        dumps(answer) if as_json else horizon_text(whole, answer, problem.title or problem.name)
    )
    return 0


def _record(given: str, option: str) -> tuple[str, str, float]:
    """Member, resource and hours of "A:gpu=60"."""
    member, colon, rest = given.rpartition(":")
    resource, equals, amount = rest.partition("=")
    try:
        value = float(amount)
    except ValueError:
        value = math.nan
    if not (colon and equals and value >= 0):
        raise UsageError(f"{option}: found {given!r}; wanted WHO:RESOURCE=HOURS, such as A:gpu=60")
    return member, resource, value
