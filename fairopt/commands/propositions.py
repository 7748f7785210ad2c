"""fairopt propositions: the papers' statements, tried on random instances."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairopt.commands import output, sweep_workers, work
from fairopt.errors import NotCertified

if TYPE_CHECKING:
    from fairopt.propositions.trials import TrialRow

SCHEMA = "fairopt/propositions/v1"
FORMATS = ("terminal", "markdown", "latex", "csv")


@click.command("propositions", context_settings={"max_content_width": 100})
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "listed", is_flag=True, help="List the statements in words, and stop.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of random instances for each row.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the instances; the same seed gives the same table.",
)
@work.jobs
@work.dask
@work.resume
@click.option(
    "--save-counterexamples",
    "folder",
    metavar="DIR",
    help="Write each counterexample as a model file into DIR.",
)
@click.option("--replay", metavar="FILE", help="Only judge the counterexample in FILE again.")
@click.option(
    "--expect-violation",
    "expected",
    is_flag=True,
    help="Exit code 0 if a violation is found, 4 if none is.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="terminal",
    show_default=True,
    help="Format of the table.",
)
@output.as_json
@output.out
def command(
    names: tuple[str, ...],
    listed: bool,
    trials: int,
    seed: int,
    jobs: int,
    dask: str | None,
    resume: str | None,
    folder: str | None,
    replay: str | None,
    expected: bool,
    form: str,
    as_json: bool,
    path: str | None,
) -> int:
    """Test the statements of the papers on random instances, one row of a table each.

    NAME is a statement (--list shows them) or a paper, such as kesidis2018; default all. Every
    statement is tested on instances that meet its hypotheses. It is tested again on instances
    that break one hypothesis, to show that the hypothesis is needed. Counterexamples are shrunk;
    --replay judges one again from its file. With --resume, Ctrl-C keeps the finished work.

    Exit code 4 if a statement was violated with all its hypotheses met.
    """
    from fairopt import propositions

    if listed:
        output.to_stdout(_listed(propositions.selected(names or None)))
        return 0
    if replay is not None:
        return _replay(replay, expected, as_json, path)
    sweep_workers.check(jobs, dask)
    chosen = propositions.selected(names or None)
    if folder is not None:
        propositions.made_folder(folder)
    begun = work.at_work("propositions", "pieces of work", 2 * len(chosen), jobs, dask, resume)
    with begun as (executor, told):
        rows = propositions.run(chosen, trials, seed, executor, resume, told)
    saved = propositions.save(rows, folder) if folder is not None else {}
    plain = [_plain(row, saved.get(row.label)) for row in rows]
    _out({"seed": seed, "trials": trials, "rows": plain}, _table(rows, saved, form), as_json, path)
    return _code(any(row.refuted for row in rows), expected)


def _code(violated: bool, expected: bool) -> int:
    return 0 if violated == expected else NotCertified.exit_code


def _out(data: dict[str, Any], shown: str, as_json: bool, path: str | None) -> None:
    dump = json.dumps({"schema": SCHEMA, **data}, indent=2, allow_nan=False)
    if path is not None:
        from fairopt import storage

        storage.write_text(path, dump + "\n")
    output.to_stdout(dump if as_json else shown)


def _replay(file: str, expected: bool, as_json: bool, path: str | None) -> int:
    from fairopt import propositions

    checks = propositions.replay(file)
    lines = [
        f"{'holds   ' if check.holds else 'VIOLATED'}  {what}  margin {check.margin:.2g}  "
        f"{check.witness}".rstrip()
        for what, check in checks
    ]
    plain = [
        {"statement": what, "holds": c.holds, "margin": _finite(c.margin), "witness": c.witness}
        for what, c in checks
    ]
    _out({"replayed": plain}, "\n".join(lines), as_json, path)
    return _code(any(not check.holds for _, check in checks), expected)


def _listed(names: tuple[str, ...]) -> str:
    from fairopt import propositions

    lines = []
    for name in names:
        one = propositions.find(name)
        asks = ", ".join(h.name for h in one.hypotheses)
        lines += [name + (f" ({one.reading})" if one.reading else ""), f"    {one.words}"]
        lines.append(f"    {one.source}" + (f"; given: {asks}" if asks else ""))
    return "\n".join(lines)


def _table(rows: list[TrialRow], saved: dict[str, Path], form: str) -> str:
    from fairopt.filling.compared import text

    head = ["statement", "source", "held", "undecided", "worst margin", "verdict"]
    lines = []
    for row in rows:
        paper = row.name.partition("/")[0]
        margin = "-" if row.margin is None else f"{row.margin:.2g}"
        lines.append(
            [
                f"  without {row.without}" if row.without else row.name,
                "" if row.without else row.source.removeprefix(paper).strip(" ,;"),
                f"{row.held}/{row.trials}",
                str(sum(row.undecided.values()) or "-"),
                margin,
                _verdict(row, saved.get(row.label)),
            ]
        )
    if form != "terminal":
        return text(head, lines, form)
    width = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    left = (0, 1, len(head) - 1)
    return "\n".join(
        "  ".join(
            cell.ljust(width[k]) if k in left else cell.rjust(width[k])
            for k, cell in enumerate(line)
        ).rstrip()
        for line in [head, *lines]
    )


def _verdict(row: TrialRow, file: Path | None) -> str:
    """The verdict of a row, with the file or the size of its counterexample."""
    reading = f"{row.reading}, " if row.reading else ""
    if row.counterexample is None:
        if not row.held:
            return "not decided"
        return "no counterexample" if row.without else f"{reading}holds"
    users, servers, resources = row.counterexample.instance.shape
    where = f"see {file}" if file is not None else f"{users} x {servers} x {resources}"
    return f"needed: {where}" if row.without else f"{reading}refuted: {where}"


def _plain(row: TrialRow, file: Path | None) -> dict[str, Any]:
    """A row as JSON data; margins that are not finite are null."""
    from fairopt.files.tables import tables_of

    found: dict[str, Any] = {
        "name": row.name,
        "without": row.without or None,
        "words": row.words,
        "source": row.source,
        "reading": row.reading or None,
        "trials": row.trials,
        "held": row.held,
        "violated": row.violated,
        "undecided": row.undecided,
        "worst_margin": None if row.margin is None else _finite(row.margin),
        "witness": row.witness,
        "counterexample": None,
    }
    if row.counterexample is not None:
        model = row.counterexample
        found["counterexample"] = {
            "file": None if file is None else str(file),
            "source": model.source,
            "resources": list(model.instance.resources),
            **tables_of(model.instance),
            "case": [case.to_dict() for case in model.cases],
        }
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
