"""fairopt replay: what users held over time beside what they were due."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files, storage
from fairopt.commands import notion_options, output, progress

FORMS = ("csv", "sacct", "kueue")


@click.command("replay", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--log",
    "log",
    metavar="LOG",
    help="What was held: CSV of time, user, server, tasks, or jobs (--format).",
)
@click.option("--wants", metavar="W", help="What was wanted: CSV of time, user, tasks.")
@click.option(
    "--policy",
    metavar="P",
    default="slice",
    show_default=True,
    help="A ledger: kai:half=7d,k=1, kueue:half=24h, slurm, condor, karma:alpha=.5, "
    "window:length=7d, budget:most=100, or slice for none.",
)
@click.option(
    "--slice",
    "length",
    metavar="TIME",
    default="1h",
    show_default=True,
    help="Length of a slice, such as 30m, 1h, 1d.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="csv",
    show_default=True,
    help="Of LOG; sacct and kueue say what was wanted too.",
)
@notion_options.options
@output.as_json
@output.out
def command(
    model: str,
    log: str | None,
    wants: str | None,
    policy: str,
    length: str,
    form: str,
    notion: str | None,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Put a log beside what was due: by each slice alone, by a ledger, and in hindsight.

    A row of LOG or W is the level from then on; time is hours, or a date and time. Without W the
    wants are what was held, so that nothing more can be due. Without LOG the ledger itself is run,
    and what it gives is what is held. sacct is `sacct -P -o User,Account,Partition,Submit,Start,
    End,AllocTRES`, kueue is `kubectl get workloads -A -o json`.

    What is owed is what was due in hindsight and not held. The ratios to hindsight are proved.
    """
    from fairopt.notions import MaxMin
    from fairopt.overtime.logs import read_log
    from fairopt.overtime.replay import replay
    from fairopt.report.replay_text import replay_text

    problem = files.read(model)
    given = {key: value for key, value in parameters.items() if value is not None}
    asked = (
        MaxMin()
        if notion is None and not given
        else notion_options.chosen(problem, notion, None, given)
    )
    inst = problem.instance
    held: Any = None
    wanted: Any = None
    said = ""
    if log is not None and form != "csv":
        from fairopt.connect.jobs_log import read_jobs

        jobs = read_jobs(log, inst, form)
        held, wanted = jobs.held, jobs.wants
        if jobs.left_out:
            said = f"{jobs.left_out} of {jobs.jobs} jobs are of nobody in the model"
    elif log is not None:
        held = read_log(log, inst)
    if wants is not None:
        wanted = read_log(wants, inst, wants=True)
    with progress.shown("slices", "slices") as told:
        found = replay(inst, held, wanted, length, policy, asked, told)
    dump = storage.encoded(found.to_dict())
    if path is not None:
        storage.write_text(path, dump + "\n")
    words = replay_text(found, problem.title or problem.name)
    output.to_stdout(dump if as_json else words + (f"\nnote: {said}" if said else ""))
    return 0
