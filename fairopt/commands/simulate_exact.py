"""What `simulate markov` and `simulate lying` share: nothing is drawn, laws are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from fairopt import files, storage
from fairopt.commands import output
from fairopt.errors import UsageError


def options(function: Callable[..., int]) -> Callable[..., int]:
    """How exact, who works, and where the results go."""
    for option in reversed(
        (
            click.option(
                "--edge",
                type=float,
                default=1e-8,
                show_default=True,
                help="The box grows until a class is at its edge with at most this chance.",
            ),
            click.option(
                "--flow",
                type=float,
                default=1e-8,
                show_default=True,
                help="What goes out is what comes in, to this part of it; at most 1e-6.",
            ),
            click.option(
                "--states",
                "most",
                type=click.IntRange(min=2),
                metavar="N",
                help="Most states of a box, 250 bytes each; default 8,000,000.",
            ),
            click.option(
                "-j",
                "--jobs",
                "workers",
                type=click.IntRange(min=1),
                default=1,
                show_default=True,
                metavar="N",
                help="Processes here. The output does not depend on it.",
            ),
            click.option(
                "--resume",
                metavar="FILE",
                help="Keep finished rows in FILE; skip those it holds already.",
            ),
            click.option(
                "--plot",
                "picture",
                metavar="FILE",
                callback=output.early,
                help="Draw into FILE (.png, .pdf or .svg).",
            ),
            output.as_json,
            output.out,
        )
    ):
        function = option(function)
    return function


def picture_of(picture: str | None) -> None:
    """Refuse a picture that cannot be drawn before anything is computed."""
    if picture is not None:
        from fairopt.report.plot_style import file_format

        file_format(picture)


def leave(
    kind: str,
    problem: files.Model,
    rows: list[dict[str, Any]],
    table: str,
    as_json: bool,
    path: str | None,
) -> int:
    """Leave the rows in the file, as JSON or as a table with the reasons of rows without answer.

    Raises
    ------
    UsageError : no row has an answer, and all for the same reason.
    """
    import json

    from fairopt.commands.simulate import SCHEMA

    reasons = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    if len(reasons) == 1 and all(row["reason"] for row in rows):
        raise UsageError(reasons[0])
    dump = json.dumps(
        {"schema": SCHEMA, "kind": kind, "model": problem.name, "rows": rows}, indent=1
    )
    if path is not None:
        storage.write_text(path, dump + "\n")
    told = [problem.title or problem.name, "", table, *(f"no answer: {why}" for why in reasons)]
    output.to_stdout(dump if as_json else "\n".join(told))
    return 4 if reasons else 0
