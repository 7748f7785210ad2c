"""fairopt export: what a plan says is due, as changes of the objects that an operator has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fairopt import storage
from fairopt.commands import output
from fairopt.errors import NotCertified, UsageError
from fairopt.files.answers import LARGEST

if TYPE_CHECKING:
    from fairopt.connect.exports.originals import Object

KINDS = ("kueue", "kueue-boost", "volcano", "kai", "resourcequotas", "slurm")
_PATCHES = (
    "Merge patches: only what changes of {what}. Apply each with",
    "  kubectl patch {of} NAME --type merge --patch-file FILE",
)


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
    from fairopt.connect import judging, plan_rows

    content = storage.read_text(plan, LARGEST, "a plan in JSON")
    source = storage.source_name(plan)
    data = plan_rows.loads(content, source)
    verdict = judging.judge(data, source)
    if not verdict.certified:
        raise NotCertified(f"{source}: the plan does not hold; fairopt verify {plan} says why")
    text, notes = _made(kind, data, files, version, cohort, new, boost, which)
    storage.write_text(path, text)
    for note in notes:
        output.to_stderr(note)
    return 0


def _made(
    kind: str,
    data: Mapping[str, Any],
    files: tuple[str, ...],
    version: str,
    cohort: str,
    new: bool,
    boost: int,
    which: str,
) -> tuple[str, list[str]]:
    """The text of an export, and what is worth saying of it."""
    from fairopt.connect import export_kueue
    from fairopt.connect.exports import (
        kueue_boosts,
        kueue_patches,
        originals,
        promises,
        resource_quotas,
        slurm_commands,
    )

    if kind == "kueue" and (new or "kueue" not in data):
        if files:
            raise UsageError("export kueue: found files; wanted none, as the plan is of no queues")
        return export_kueue.text(data, export_kueue.objects(data, version, cohort)), []
    if kind == "slurm":
        return slurm_commands.commands(data, which)
    if not files and kind != "resourcequotas":
        wanted = "the files that were planned, whose objects are changed"
        more = ", or --new for new ones" if kind == "kueue" else ""
        raise UsageError(f"export {kind}: found no files; wanted {wanted}{more}")
    notes: list[str] = []
    made: list[Object]
    if kind == "kueue":
        from fairopt.connect import sources

        found = kueue_patches.patches(data, sources.cluster(files), files)
        made, notes = found.objects, found.notes
        head = ("quotas of Kueue", "clusterqueue|cohort")
    elif kind == "kueue-boost":
        made = kueue_boosts.boosts(data, files, boost)
        head = ("workloads that run more than they are due", "workload -n NAMESPACE")
    elif kind == "volcano":
        made, notes = promises.volcano(data, files)
        head = ("queues of Volcano", "queue.scheduling.volcano.sh")
    elif kind == "kai":
        made, notes = promises.of_kai(data, files)
        head = ("queues of KAI", "queue.scheduling.run.ai")
    else:
        made = resource_quotas.quotas(data, files)
        return originals.text(made, ["Quotas of namespaces: kubectl apply -f FILE"]), notes
    remarks = [line.format(what=head[0], of=head[1]) for line in _PATCHES]
    return originals.text(made, remarks), notes
