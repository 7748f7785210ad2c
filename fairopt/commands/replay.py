"""fairopt replay: what users held over time beside what they were due."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files, storage
from fairopt.commands import notion_options, output, progress
from fairopt.errors import UsageError

FORMS = ("csv", "sacct", "kueue")


@click.command("replay", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--log",
    "log",
    metavar="LOG",
    help="What was held: CSV of time, user, mode, server, tasks, or jobs (--format).",
)
@click.option("--wants", metavar="W", help="What was wanted: CSV of time, user, tasks.")
@click.option(
    "--policy",
    metavar="P",
    default="slice",
    show_default=True,
    help="A ledger: kai:half=7d,k=1, kueue:half=24h, slurm, condor, karma:alpha=.5, "
    "window:length=7d, budget:most=100, totals, or slice for none.",
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
@click.option(
    "--factor",
    "factors",
    multiple=True,
    metavar="USER=F",
    help="Priority factor of HTCondor, default 1. May be repeated.",
)
@click.option(
    "--jobs",
    "jobs",
    metavar="JOBS",
    help="CSV of arrival, alone (hours) and end: finish-time fairness is measured. Without end: "
    "user, tasks; the policy runs them, and they wait. sacct and kueue say it themselves.",
)
@click.option(
    "--rerun",
    is_flag=True,
    help="The policy runs the jobs of LOG (sacct, kueue) anew, instead of what was held.",
)
@click.option(
    "--machines",
    type=float,
    metavar="M",
    help="Of finish-time fairness; default the machines of the model.",
)
@click.option("--static", is_flag=True, help="N/M of the whole trace, not of each job's life.")
@click.option(
    "--resume", metavar="FILE", help="Keep finished slices in FILE, and go on from there."
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
    factors: tuple[str, ...],
    jobs: str | None,
    rerun: bool,
    machines: float | None,
    static: bool,
    resume: str | None,
    notion: str | None,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Put a log beside what was due: by each slice alone, by a ledger, and in hindsight.

    A row of LOG or W is the level from then on; time is hours, or a date and time. Without W the
    wants are what was held, so that nothing more can be due. Without LOG the ledger itself is run,
    and what it gives is what is held. Jobs without an end are run by the ledger until all have
    ended; what is owed then counts what they asked for as they came. sacct is `sacct -P -o
    User,Account,Partition,Submit,Start,End,AllocTRES`, kueue is `kubectl get workloads -A -o json`.

    Where users have modes LOG says the mode, and what is held, due and owed is output. What is owed
    is what was due in hindsight and not held. The ratios to hindsight are proved.
    """
    from fairopt.notions import MaxMin
    from fairopt.overtime.jobs import read_jobs as read_table
    from fairopt.overtime.ledger import Ledger
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
    book = Ledger.of(policy, _factors(factors, policy, inst.users))
    times = None if jobs is None else read_table(jobs, inst)
    if rerun and (log is None or form == "csv" or times is not None):
        raise UsageError("--rerun: found no --log with --format sacct or kueue alone; wanted that")
    if log is not None and form != "csv":
        from fairopt.connect.readers.jobs_log import read_jobs

        ran = read_jobs(log, inst, form)
        held, wanted = (None, None) if rerun else (ran.held, ran.wants)
        if times is None and len(ran.ended.user):
            times = ran.anew if rerun else ran.ended
        said = ran.told
    elif log is not None:
        held = read_log(log, inst)
    if wants is not None:
        wanted = read_log(wants, inst, wants=True)
    with progress.shown("slices", "slices") as told:
        found = replay(
            inst, held, wanted, length, book, asked, told, resume, times, machines, static
        )
    dump = storage.encoded(found.to_dict())
    if path is not None:
        storage.write_text(path, dump + "\n")
    words = replay_text(found, problem.title or problem.name)
    output.to_stdout(dump if as_json else words + (f"\nnote: {said}" if said else ""))
    return 0


def _factors(given: tuple[str, ...], policy: str, users: tuple[str, ...]) -> dict[str, float]:
    """{user: factor} of "A=4"; only HTCondor has such."""
    found: dict[str, float] = {}
    for one in given:
        name, _, amount = one.rpartition("=")
        try:
            value = float(amount)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf") or name not in users:
            raise UsageError(f"--factor: found {one!r}; wanted USER=F, F > 0, such as {users[0]}=4")
        found[name] = value
    if found and policy.partition(":")[0] != "condor":
        raise UsageError(f"--factor: found policy {policy}; wanted condor")
    return found
