"""Files of any kind that we read, together one cluster: Kubernetes, CSV tables, Slurm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fairopt import storage
from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.plan import kueue_cluster
from fairopt.connect.readers import armada, htcondor, kubernetes, slurm, slurm_jobs, yarn, yunikorn
from fairopt.connect.readers.kubernetes import OWNER, UNDIVIDED, Collector
from fairopt.connect.readers.tables import Tables, begins
from fairopt.connect.text import reading
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults

FORMATS = {
    "kubernetes": "objects of Kubernetes (kubectl get nodes,pods -A -o json)",
    "kueue": "objects of Kueue (kubectl get clusterqueues,cohorts,resourceflavors,localqueues -A)",
    "volcano": "queues of Volcano (kubectl get queues.scheduling.volcano.sh)",
    "kai": "queues of KAI (kubectl get queues.scheduling.run.ai)",
    "armada": "queues of Armada (armadactl get queues)",
    "yunikorn": "queues of YuniKorn (queues.yaml, its ConfigMap, or its REST API)",
    "tables": "tables of nodes, teams and what they hold (CSV)",
    "slurm": "what Slurm prints (scontrol show node -o, sacct -P, squeue, sshare -P, "
    "sacctmgr -P show assoc)",
    "htcondor": "ads of HTCondor (condor_status -json, condor_q -json)",
    "yarn": "an allocation file of YARN (fair-scheduler.xml)",
}
"""every kind of input that is read, and how a message calls it"""
NOUNS = {
    kubernetes.SCOPED: "quota",
    kueue_cluster.SETS: "workload",
    **dict.fromkeys((armada.LIMITS, yunikorn.LIMITS, yunikorn.FENCES, yarn.MEMORY_ONLY), "queue"),
    **dict.fromkeys((htcondor.REQUIREMENTS, slurm_jobs.TOGETHER), "job"),
}
"""what is not modelled and is told of other things than pods, and what these are"""
_OBJECTS = ("kueue", "volcano", "kai", "armada")
"""kinds that are objects of Kubernetes too"""

Told = Callable[[int, int], None] | None


def cluster(
    paths: Sequence[str],
    group_by: str = OWNER,
    undivided: Collection[str] = UNDIVIDED,
    weights: Mapping[str, float] | None = None,
    told: Told = None,
    kind: str | None = None,
) -> ClusterRecord:
    """The cluster that all files together describe, in whatever order they come.

    Parameters
    ----------
    paths : files, or "-" for standard input, plain or gzip: JSON or YAML as kubectl prints it, CSV
        tables (`tables`), what `scontrol show node -o` and `sshare -P` print.
    group_by, undivided : as of `kubernetes.Collector`.
    weights : weight of queues; 1 for those that are not named.
    told : called with (bytes read, bytes in all).
    kind : a key of FORMATS that must be among the files; None for any.

    Raises
    ------
    BadInput : with every fault, each with the name of its object and the field.
    """
    found = Sources(" and ".join(storage.source_name(path) for path in paths), group_by, undivided)
    size, done = reading.sizes(paths), 0
    for path in paths:
        found.take_file(path, told, size, done)
        done += reading.sizes([path])
    if kind is not None:
        found.must_have(kind)
    return found.cluster(weights)


class Sources:
    """What was read of one cluster so far, from files of any kind and from objects.

    Parameters
    ----------
    source : what messages call all of it.
    group_by, undivided : as of `kubernetes.Collector`.
    """

    def __init__(
        self, source: str, group_by: str = OWNER, undivided: Collection[str] = UNDIVIDED
    ) -> None:
        self.faults = Faults(source)
        self.kinds: set[str] = set()
        self.objects = Collector(group_by, undivided, self.faults)
        self.tables = Tables(self.faults)
        self.condor = htcondor.CondorPool(self.faults)
        self.jobs = slurm_jobs.Jobs(self.faults)
        self.limits = slurm.Limits(self.faults)
        self.yarn = yarn.Yarn(self.faults)

    def take(self, data: Any, place: str, listed: str = "") -> None:
        """Take an object of Kubernetes, or an ad of HTCondor."""
        if htcondor.kind(data):
            self.kinds.add("htcondor")
            self.condor.take(data, place)
        else:
            self.objects.take(data, place, listed)

    def must_have(self, kind: str) -> None:
        """Refuse files that hold nothing of a key of FORMATS, by what they hold.

        Raises
        ------
        BadInput : with what was wrong before.
        """
        found = self.kinds | self.objects.kinds
        own = {kind, *(_OBJECTS if kind == "kubernetes" else ())}
        if found and not found & own:
            told = " and ".join(words for name, words in FORMATS.items() if name in found)
            self.faults.add("files", told, FORMATS[kind])
            self.faults.stop()

    def cluster(self, weights: Mapping[str, float] | None = None) -> ClusterRecord:
        """The cluster of everything taken.

        Raises
        ------
        BadInput : with every fault.
        """
        if self.yarn:
            self.yarn.into(self.objects.volcano, self.tables.nodes)
        if self.limits:
            every = [*self.tables.teams.values(), *self.jobs.work.values()]
            self.limits.into(self.objects.volcano, {work.queue for work in every})
        found = self.objects.cluster(weights)
        if self.limits:
            found = self.limits.joined(found, weights or {})
        if self.condor:
            found = self.condor.joined(found)
        if self.objects.volcano.yunikorn:
            for work in self.tables.teams.values():
                full = self.objects.volcano.placed("", work.queue)
                work.queue = full if full in self.objects.volcano.queues else work.queue
        if self.tables:
            found = self.tables.joined(found)
        if self.jobs:
            found = self.jobs.joined(found)
        return self.yarn.joined(found) if self.yarn else found

    def take_file(self, path: str, told: Told = None, size: int = 0, done: int = 0) -> None:
        """Take one file of any kind; `told`, `size` and `done` as of `reading.opened`.

        Raises
        ------
        BadInput : a file that cannot be read on, with what was wrong before.
        """
        source = storage.source_name(path)
        with reading.opened(path, told, size, done) as stream:
            try:
                first = reading.head(stream).removeprefix(b"\xef\xbb\xbf")
                kind = self._kind(first)
                self.kinds |= {kind} - {""}
                if kind == "tables":
                    self.tables.take(stream, source)
                elif first.startswith(b"NodeName="):
                    self.tables.take_slurm(stream, source)
                elif kind == "yarn":
                    self.yarn.take(stream, source)
                elif first[:6].lower() == b"jobid|":
                    self.jobs.take(self.tables.lines(stream, source), source)
                elif slurm.COLUMN in first.partition(b"\n")[0]:
                    self.limits.take(self.tables.lines(stream, source), source)
                elif first.startswith(b"Account|"):
                    self.tables.take_shares(stream, source)
                else:
                    for place, data, listed in reading.objects(stream, source):
                        self.take(data, place, listed)
            except BadInput as error:
                # what was wrong before the file became unreadable is told as well
                self.faults.found.extend(error.faults)
                self.faults.stop()

    @staticmethod
    def _kind(first: bytes) -> str:
        """What a file is by how it begins; empty for one whose objects say what they are."""
        if begins(first):
            return "tables"
        line = first.partition(b"\n")[0]
        printed = line.startswith((b"NodeName=", b"Account|")) or line[:6].lower() == b"jobid|"
        printed = printed or (b"|" in line and slurm.COLUMN in line)
        return "slurm" if printed else "yarn" if first.lstrip()[:1] == b"<" else ""
