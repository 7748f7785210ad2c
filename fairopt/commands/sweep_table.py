"""The output of `fairopt sweep`: a table, a file, a picture."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from fairopt import storage
from fairopt.commands import output
from fairopt.errors import MissingExtra

FORMATS = ("terminal", "markdown", "latex", "csv")
USERS = 4
"""with more users than this the table has no columns of totals; a file has them"""
MEASURES = ("efficiency", "sqrt_var_f", "sqrt_sum_v", "jain")
"""measures shown in the table; a file has all measures"""
REASONS = 5
"""most different reasons printed"""
REASON = 200
"""longest reason printed whole"""


def check(path: str | None, picture: str | None) -> None:
    """Refuse files that cannot be written before anything is solved."""
    if path is not None and path != storage.STDIN:
        from fairopt.sweeping import result

        if result.form_of(path) == ".parquet":
            result.need_parquet()
    if picture is not None:
        from pathlib import Path

        from fairopt.report.plot_style import file_format

        file_format(picture)
        storage.check_folder(Path(picture))
        if find_spec("matplotlib") is None:
            raise MissingExtra("--plot needs matplotlib: pip install 'fairopt[plot]'")


def out(
    found: Any,
    model: Any,
    path: str | None,
    picture: str | None,
    kind: str | None,
    form: str,
    as_json: bool,
) -> None:
    """Write the rows to the file or stdout, draw the picture, and report what is not certified."""
    if path == storage.STDIN:
        as_json = as_json or form == "terminal"
    elif path is not None:
        found.save(path)
    if as_json:
        output.to_stdout(found.to_json())
    elif form == "csv" and path in (None, storage.STDIN):
        output.to_stdout(found.to_csv())
    elif path is None:
        output.to_stdout(text(found, model, form))
    if picture is not None:
        from fairopt.report.plots import plot

        plot(found, picture, kind=kind)
    count = sum(row["certified"] for row in found.rows)
    if path not in (None, storage.STDIN) or count < len(found.rows):
        where = f": {path}" if path not in (None, storage.STDIN) else ""
        say = output.remark if count == len(found.rows) else output.to_stderr
        say(f"{len(found.rows)} points, {count} certified{where}")
    for line in _reasons(found.rows):
        output.to_stderr(f"  {line}")


def text(found: Any, model: Any, form: str) -> str:
    """The table: swept values, tasks of each user, measures, verdict."""
    from fairopt.filling.compared import text as table
    from fairopt.report.words import number

    def shown(value: Any) -> str:
        if isinstance(value, float):
            return number(value)
        return "-" if value is None else str(value)

    inst = model.instance
    users = inst.users if len(inst.users) <= USERS else ()
    names = list(found.swept)
    several = len({row["notion"]["name"] for row in found.rows}) > 1
    head = [*names, *(["notion"] if several else []), *users, "objective", *MEASURES, "certificate"]
    lines = [
        [
            *(shown(row["parameters"].get(name)) for name in names),
            *([row["notion"]["name"]] if several else []),
            *(shown(row["totals"].get(user)) for user in users),
            shown(row["objective"]),
            *(shown(row["measures"].get(name)) for name in MEASURES),
            row["verdict"] or row["status"],
        ]
        for row in found.rows
    ]
    return table(head, lines, form)


def _reasons(rows: Any) -> list[str]:
    """Each different reason once, with the number of its rows."""
    counts: dict[str, int] = {}
    for row in rows:
        if row["reason"]:
            words = " ".join(row["reason"].split())
            said = f"{row['status']}: {words if len(words) <= REASON else words[:REASON] + '...'}"
            counts[said] = counts.get(said, 0) + 1
    lines = [f"{count} {said}" for said, count in list(counts.items())[:REASONS]]
    return lines + (["..."] if len(counts) > REASONS else [])
