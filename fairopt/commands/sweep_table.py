"""The output of `fairopt sweep`: a table, a file, a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from fairopt import storage
from fairopt.commands import notion_options, output
from fairopt.errors import BadInput, Fault, MissingExtra, UsageError
from fairopt.files import Model
from fairopt.instance import Instance
from fairopt.notions import NOTIONS, Notion
from fairopt.sweeping.axis import Axis, axes_of
from fairopt.sweeping.grid import deduced, faults_of, grid, of_instance, parameters_of

TRIED = 50
"""most values of the swept parameters tried, until the notion accepts one"""


def points(
    model: Model, over: Sequence[str], name: str | None, case: int | None, given: Mapping[str, Any]
) -> tuple[list[tuple[Instance, Notion]], list[dict[str, Any]]]:
    """The points of the grid, and for each the swept values by name.

    Raises
    ------
    BadInput : everything wrong with --over, together.
    UsageError : no --over, or options that no notion takes.
    """
    if not over:
        raise UsageError("--over: found none; wanted at least one, as in --over alpha=0.5,1,2")
    axes, faults = axes_of(over)
    if name is not None:
        swept = {axis.name for axis in axes}
        name, named = notion_options.meant(name, given)
        given = {key: value for key, value in named.items() if key in given or key not in swept}
    for axis in axes:
        if axis.name in given:
            flag = notion_options.flag(axis.name)
            faults.append(Fault(f"--over {axis.name}", f"{flag} beside it", "one of the two"))
    axes = [axis for axis in axes if axis.name not in given]
    try:
        notion = _notion(model, axes, name, case, given, faults)
    except UsageError as error:
        if not faults:
            raise
        faults.append(Fault("notion", "options that make none", str(error)))
        notion = None
    values = {axis.name: axis.values for axis in axes}
    if notion is not None:
        faults.extend(faults_of(model.instance, notion, values))
    if faults:
        raise BadInput(faults)
    assert notion is not None
    return grid(model.instance, notion, values)


def _notion(
    model: Model,
    axes: Sequence[Axis],
    name: str | None,
    case: int | None,
    given: Mapping[str, Any],
    faults: list[Fault],
) -> Notion | None:
    """The notion with the given parameters, and the first swept values that it accepts."""
    everyone = {key for notion in NOTIONS.values() for key in parameters_of(notion)}
    own = [axis for axis in axes if axis.name in everyone and not of_instance(axis.name)]
    if name is None and case is None:
        name = _meant(model, [axis.name for axis in own], given, faults)
    if name is not None and name in NOTIONS:
        takes = parameters_of(NOTIONS[name])
        own = [axis for axis in own if axis.name in takes]
    wrong: BadInput | None = None
    for k in range(min(TRIED, max((len(axis.values) for axis in own), default=1))):
        first = {axis.name: axis.values[min(k, len(axis.values) - 1)] for axis in own}
        try:
            return notion_options.chosen(model, name, case, {**given, **first})
        except BadInput as error:
            wrong = wrong or error
    assert wrong is not None
    faults.extend(Fault(f"--over {f.place}", f.found, f.wanted) for f in wrong.faults)
    return None


def _meant(
    model: Model, swept: Sequence[str], given: Mapping[str, Any], faults: list[Fault]
) -> str | None:
    """The notion that takes the swept and given parameters; None means the model's own."""
    first = next((c for c in model.cases if c.kind == "notion"), notion_options.DEFAULT)
    names = [*swept, *given]
    if first.name in NOTIONS and set(names) <= set(parameters_of(NOTIONS[first.name])):
        return None
    meant = deduced(names)
    if meant is None and swept:
        faults.append(
            Fault("--over", ", ".join(names), "parameters of one notion; name it with --notion")
        )
    return meant


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
