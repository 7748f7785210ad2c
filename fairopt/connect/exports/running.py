"""One export of a plan: which objects, read from which files, in which form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.connect.exports import kueue as export_kueue
from fairopt.connect.exports import (
    kueue_boosts,
    kueue_patches,
    originals,
    promises,
    resource_quotas,
    slurm_commands,
)
from fairopt.connect.exports.originals import Object
from fairopt.connect.judging import plans as judging
from fairopt.connect.readers import sources
from fairopt.errors import NotCertified, UsageError

KINDS = ("kueue", "kueue-boost", "volcano", "kai", "resourcequotas", "slurm")
_PATCHES = (
    "Merge patches: only what changes of {what}. Apply each with",
    "  kubectl patch {of} NAME --type merge --patch-file FILE",
)


def exported(
    kind: str,
    plan: Mapping[str, Any],
    paths: Sequence[str] = (),
    *,
    version: str = "v1beta2",
    cohort: str = "",
    new: bool = False,
    boost: int = 100,
    of: str = "account",
    source: str = "plan",
) -> tuple[str, list[str]]:
    """The text of an export, and what is worth saying of it.

    Parameters
    ----------
    kind : one of KINDS. plan : as `plan_rows.loads` reads it.
    paths : files with the objects that were planned.
    version, cohort : of new objects of Kueue.
    new : new objects although the plan is of Kueue's own.
    boost : what a workload loses that is due nothing (kueue-boost).
    of : what a queue is: "account" or "qos" (slurm). source : what messages call the plan.

    Raises
    ------
    NotCertified : the plan does not hold.
    UsageError : another kind, or files where there should be none, or none where they are needed.
    BadInput : files that are damaged, or not those that were planned.
    """
    if kind not in KINDS:
        raise UsageError(f"export: found {kind!r}; wanted one of {', '.join(KINDS)}")
    if not judging.judge(plan, source).certified:
        raise NotCertified(f"{source}: the plan does not hold; fairopt verify says why")
    if kind == "kueue" and (new or "kueue" not in plan):
        if paths:
            raise UsageError("export kueue: found files; wanted none, as the plan is of no queues")
        return export_kueue.text(plan, export_kueue.objects(plan, version, cohort)), []
    if kind == "slurm":
        return slurm_commands.commands(plan, of)
    if not paths and kind != "resourcequotas":
        wanted = "the files that were planned, whose objects are changed"
        more = ", or --new for new ones" if kind == "kueue" else ""
        raise UsageError(f"export {kind}: found no files; wanted {wanted}{more}")
    notes: list[str] = []
    made: list[Object]
    if kind == "kueue":
        found = kueue_patches.patches(plan, sources.cluster(paths), paths)
        made, notes = found.objects, found.notes
        head = ("quotas of Kueue", "clusterqueue|cohort")
    elif kind == "kueue-boost":
        made = kueue_boosts.boosts(plan, paths, boost)
        head = ("workloads that run more than they are due", "workload -n NAMESPACE")
    elif kind == "volcano":
        made, notes = promises.volcano(plan, paths)
        head = ("queues of Volcano", "queue.scheduling.volcano.sh")
    elif kind == "kai":
        made, notes = promises.of_kai(plan, paths)
        head = ("queues of KAI", "queue.scheduling.run.ai")
    else:
        made = resource_quotas.quotas(plan, paths)
        return originals.text(made, ["Quotas of namespaces: kubectl apply -f FILE"]), notes
    remarks = [line.format(what=head[0], of=head[1]) for line in _PATCHES]
    return originals.text(made, remarks), notes
