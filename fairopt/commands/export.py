"""fairopt export: what a plan says is due, as changes of the objects that an operator has."""

from __future__ import annotations

import click

from fairopt import storage
from fairopt.commands import output
from fairopt.files.answers import LARGEST_ANSWER

KINDS = ("kueue", "kueue-boost", "volcano", "kai", "resourcequotas", "slurm")


@click.command("export", context_settings={"max_content_width": 100})
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("plan")
@click.argument("files", nargs=-1)
@click.option(
    "--api",
    "version",
    default="v1beta2",
    show_default=True,
    metavar="VERSION",
    help="Version of Kueue's API for new objects: v1beta1 or v1beta2.",
)
@click.option(
    "--cohort",
    default="",
    metavar="NAME",
    help="A cohort for all new queues, in which what one leaves is lent to the others.",
)
@click.option("--new", is_flag=True, help="New objects although the plan is of Kueue's own.")
@click.option(
    "--boost",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="What a workload loses that is due nothing (kueue-boost).",
)
@click.option(
    "--of",
    "which",
    type=click.Choice(("account", "qos")),
    default="account",
    show_default=True,
    help="What a queue is (slurm).",
)
@click.option(
    "-o",
    "--output",
    "path",
    default=storage.STDIN,
    metavar="FILE",
    callback=output.early,
    help="Where the result goes; default stdout.",
)
def command(
    kind: str,
    plan: str,
    files: tuple[str, ...],
    version: str,
    cohort: str,
    new: bool,
    boost: int,
    which: str,
    path: str,
) -> int:
    """Write what PLAN says is due, as `fairopt plan -o` left it, for a scheduler.

    With FILES, which hold the objects that were planned, the result is merge patches with only
    what changes: quotas of Kueue's ClusterQueues and Cohorts (kueue), its annotation of those that
    run more than they are due (kueue-boost), promises of Volcano's and KAI's queues, and
    ResourceQuotas. Without them, new objects of Kueue or ResourceQuotas, or commands of sacctmgr.

    The plan is judged first: one that does not hold is not exported. The quota of a queue is what
    its whole tasks take, in exact quantities.
    """
    from fairopt.connect.exports.running import exported
    from fairopt.connect.plan import rows as plan_rows

    content = storage.read_text(plan, LARGEST_ANSWER, "a plan in JSON")
    source = storage.source_name(plan)
    data = plan_rows.loads(content, source)
    text, notes = exported(
        kind,
        data,
        files,
        version=version,
        cohort=cohort,
        new=new,
        boost=boost,
        of=which,
        source=source,
    )
    storage.write_text(path, text)
    for note in notes:
        output.to_stderr(note)
    return 0
