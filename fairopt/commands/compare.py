"""fairopt compare: every notion and every scheduler on one model, side by side."""

from __future__ import annotations

import json
from typing import Any

import click

from fairopt.commands import asked, complete, output, progress

FORMATS = ("terminal", "markdown", "latex", "csv")
USERS = 4
"""with more users than this the table has no columns of totals; --json has them"""


@click.command("compare", context_settings={"max_content_width": 100})
@complete.model_argument
@click.option("--seed", type=int, default=0, show_default=True, help="For random schedulers.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="Format of the table.",
)
@click.option(
    "--plot",
    "picture",
    metavar="FILE",
    callback=output.early,
    help="Draw into FILE (.png, .pdf or .svg).",
)
@output.as_json
@output.out
def command(
    model: str, seed: int, form: str, picture: str | None, as_json: bool, path: str | None
) -> int:
    """Every notion and every scheduler on MODEL, a plan or what kubectl prints, one row each.

    Columns: tasks of each user (up to four users), efficiency (sum of weighted tasks), use of the
    resources (mean over resources), least and most level x_n / (weight * tasks alone), the
    properties that fail, and the certificate. Notions that refuse the model say why. Exit code 4
    if a row that has an answer is not certified, or a solver failed.
    """
    from fairopt import compare
    from fairopt.filling.compared import text

    if picture is not None:
        from fairopt.report.plot_style import file_format

        file_format(picture)
    problem = asked.asked(model).model
    with progress.shown("compare", "rows") as told:
        table = compare.rows(problem.instance, seed, told)
    dump = json.dumps(
        {
            "schema": "fairopt/compare/v1",
            "model": problem.name,
            "seed": seed,
            "rows": [_finite(row) for row in table],
        },
        indent=2,
    )
    if path is not None:
        from fairopt import storage

        storage.write_text(path, dump + "\n")
    if picture is not None:
        from fairopt.report.plot_compare import plot

        plot(table, picture)
    if as_json:
        output.to_stdout(dump)
    else:
        lines, notes = _lines(problem.instance, table)
        shown = [text(lines[0], lines[1:], form).rstrip("\n")]
        if notes and form in ("terminal", "markdown"):
            bullet = "- " if form == "markdown" else ""
            shown.append("\n".join(bullet + note for note in notes))
        output.to_stdout("\n\n".join(shown))
        if form == "terminal":
            output.remark("which notion to choose, and why: docs/choose/notion.md")
    return 0 if all(compare.accepted(row) for row in table) else 4


def _lines(inst: Any, table: list[dict[str, Any]]) -> tuple[list[list[str]], list[str]]:
    """The table with its head, and the notes below it: why rows have no answer."""
    from fairopt.report.html.compare_data import SHORT
    from fairopt.report.words import number

    users = inst.users if len(inst.users) <= USERS else ()
    head = [
        "notion or scheduler",
        *users,
        "efficiency",
        "used",
        "least",
        "most",
        "fails",
        "certificate",
    ]
    lines, notes = [head], []
    for row in table:
        values = ", ".join(_plain(v) for v in row["parameters"].values())
        name = f"{row['name']} ({values})" if values else row["name"]
        if row["status"] != "answered":
            empty = ["-"] * (len(head) - 2)
            lines.append([name, *empty, row["status"]])
            notes.append(f"{name} {row['status']}: {' '.join(row['reason'].split())}")
            continue
        used = list(row["utilisation"].values())
        lines.append(
            [
                name,
                *(number(row["totals"][user]) for user in users),
                number(row["efficiency"]),
                f"{100 * sum(used) / len(used):.1f}%",
                f"{row['least']:.4g}",
                f"{row['most']:.4g}",
                " ".join(SHORT.get(name, name) for name in row["fails"]) or "-",
                row["verdict"],
            ]
        )
    below = {row["name"]: row["below_most"] for row in table if "below_most" in row}
    if below:
        some = ", ".join(f"{name.removeprefix('fill:')} {x}" for name, x in below.items())
        notes.insert(0, f"whole tasks below the most that any packing may hold, proved: {some}")
    failing = {name for row in table for name in row.get("fails", ())}
    if failing:
        notes.insert(0, ", ".join(f"{v} {k}" for k, v in SHORT.items() if k in failing))
    return lines, notes


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    """The value with null in place of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value
