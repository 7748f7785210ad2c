"""fairopt fill: place whole tasks, one at a time, by one scheduler or by all of them."""

from __future__ import annotations

import json
from typing import Any

import click

from fairopt import files
from fairopt.commands import complete, output, progress

FORMATS = ("terminal", "markdown", "latex", "csv")


@click.command("fill", context_settings={"max_content_width": 100})
@complete.model_argument
@click.option(
    "--scheduler",
    default="rps-dsf",
    show_default=True,
    metavar="NAME",
    help="drf, tsf, cdrf, bf-drf, ps-dsf, rps-dsf, rrr-ps-dsf, rrr-rps-dsf, ...",
)
@click.option(
    "--selection",
    metavar="NAME",
    help="joint, first-fit, best-fit, best-fit-any, random-server, rrr, in-order; "
    "the default depends on the scheduler.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draws.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    metavar="T",
    help="Show statistics over T runs; the default with --all is 200.",
)
@click.option(
    "--all",
    "everyone",
    is_flag=True,
    help="Show every scheduler, the fluid notions and the integer optimum.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="Format of the tables.",
)
@output.as_json
@output.out
def command(
    model: str,
    scheduler: str,
    selection: str | None,
    seed: int,
    trials: int | None,
    everyone: bool,
    form: str,
    as_json: bool,
    path: str | None,
) -> int:
    """Place whole tasks on the servers of MODEL, one at a time; none is taken back.

    Without --trials and --all one filling is shown and judged; -o saves it, for `verify`. With
    either a table of means, population standard deviations and 95% intervals is shown. Exit code
    4 when the filling, or a fluid notion of --all, is not certified.
    """
    problem = files.read(model)
    inst = problem.instance
    if everyone:
        data, tables = _everyone(inst, 200 if trials is None else trials, seed)
    elif trials is not None:
        data, tables = _statistics(inst, scheduler, selection, trials, seed)
    else:
        return _one(problem, scheduler, selection, seed, form, as_json, path)
    from fairopt import storage
    from fairopt.filling.compared import text

    dump = json.dumps({"schema": "fairopt/fill/v1", "seed": seed, **data}, indent=2)
    if path is not None:
        storage.write_text(path, dump + "\n")
    shown = "\n\n".join(text(head, lines, form).rstrip("\n") for head, lines in tables)
    refused = [f"{row['name']}: {row['error']}" for row in data.get("rows", []) if "error" in row]
    if refused and form == "terminal":
        shown += "\n\n" + "\n".join(refused)
    output.to_stdout(dump if as_json else shown)
    return 4 if any(row.get("certified") is False for row in data.get("rows", [])) else 0


def _one(
    problem: Any,
    scheduler: str,
    selection: str | None,
    seed: int,
    form: str,
    as_json: bool,
    path: str | None,
) -> int:
    from fairopt.certificates import certify
    from fairopt.filling import fill
    from fairopt.filling.compared import text

    answer = fill(problem.instance, scheduler, selection, seed)
    answer = answer.with_(certificate=certify(answer))
    if path is not None:
        files.save(answer, path)
    if as_json:
        output.to_stdout(files.dumps(answer))
    elif form != "terminal":
        inst, stopped = answer.instance, answer.steps[0]["stopped"]
        lines = [
            [user, *(f"{x:g}" for x in answer.tasks[n]), stopped[user]]
            for n, user in enumerate(inst.users)
        ]
        output.to_stdout(text(["user", *inst.servers, "stopped by"], lines, form))
    else:
        from fairopt.report.tables import allocation_text

        output.to_stdout(allocation_text(answer, title=problem.title or problem.name))
    certificate = answer.certificate
    return 0 if certificate is not None and certificate.certified else 4


def _statistics(
    inst: Any, scheduler: str, selection: str | None, trials: int, seed: int
) -> tuple[dict[str, Any], list[Any]]:
    from fairopt.filling import run_trials
    from fairopt.filling.compared import statistics
    from fairopt.formulas.schedulers import find

    with progress.shown(scheduler, "fillings") as told:
        stats = run_trials(inst, scheduler, selection, trials, seed, progress=told)
    tasks, unused = statistics(inst, stats)
    data = {
        "scheduler": scheduler,
        "selection": find(scheduler, selection)[1],
        "trials": trials,
        "tasks": tasks,
        "unused": unused,
        "total": {"mean": stats.total, "sd": stats.total_sd},
    }
    numbers = ("mean", "sd", "low", "high")
    heads = ["tasks of", "on"], ["unused on", "of"]
    tables = []
    for head, entries in zip(heads, (tasks, unused), strict=True):
        lines = [
            [str(v) if k not in numbers else f"{v:.6g}" for k, v in entry.items()]
            for entry in entries
        ]
        tables.append(([*head, "mean", "sd", "95% from", "to"], lines))
    tables[0][1].append(["total", "", f"{stats.total:.6g}", f"{stats.total_sd:.6g}", "", ""])
    return data, tables


def _everyone(inst: Any, trials: int, seed: int) -> tuple[dict[str, Any], list[Any]]:
    from fairopt.filling.compared import rows

    with progress.shown("fill", "schedulers") as told:
        table = rows(inst, trials, seed, told)
    table += _fluid(inst)
    users = inst.users[:6]
    more = [f"{len(inst.users) - 6} more"] if len(inst.users) > 6 else []
    lines = []
    for row in table:
        tasks = row["tasks"]
        cells = ["-" if tasks is None else f"{tasks[user]:.6g}" for user in users]
        rest = ["-" if tasks is None else f"{sum(list(tasks.values())[6:]):.6g}"] if more else []
        total = "-" if row["total"] is None else f"{row['total']:.6g}"
        spread = "-" if row["sd"] is None else f"{row['sd']:.4g}"
        gap = "-" if row.get("gap") is None else f"{row['gap']:.4g}"
        lines.append([row["name"], row["selection"], *cells, *rest, total, spread, gap])
    head = ["scheduler", "selection", *users, *more, "total", "sd of total", "to most"]
    return {"trials": trials, "rows": table}, [(head, lines)]


def _fluid(inst: Any) -> list[dict[str, Any]]:
    """A row for each fluid notion."""
    from fairopt import solve
    from fairopt.errors import FairoptError
    from fairopt.notions import NOTIONS, make

    table: list[dict[str, Any]] = []
    for name in (name for name, notion in NOTIONS.items() if notion.fluid):
        row: dict[str, Any] = {"name": name, "trials": 1, "sd": 0.0}
        try:
            answer = solve(inst, make(name), uncertified="return")
        except FairoptError as error:
            failed = {"selection": "failed", "tasks": None, "total": None, "sd": None}
            table.append({**row, **failed, "certified": False, "error": str(error)})
            continue
        certified = answer.certificate is not None and answer.certificate.certified
        tasks = dict(zip(inst.users, answer.totals.tolist(), strict=True))
        table.append(
            {
                **row,
                "selection": "fluid" if certified else "fluid, not certified",
                "tasks": tasks,
                "total": float(answer.totals.sum()),
                "certified": certified,
            }
        )
    return table
