"""What binds pods to each other: gangs that run together or not at all, and pods apart on nodes.

A gang is a PodGroup with as many pods as its minMember, a pod group of Kueue, or a Job that Kueue
admits as a whole. Pods of one anti-affinity over nodes, and pods of one host port, are one on a
node at most. What else pods ask of each other is listed as not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairopt.connect.cluster.eligible import Requirement
from fairopt.connect.text.fields import CheckedFields

GANGS, APART, PORTS = "gangs", "pod anti-affinity", "host ports"
"""what is said of pods that ask for what is not modelled"""
KUEUE = "kueue.x-k8s.io/pod-group-name"
_COUNT = "kueue.x-k8s.io/pod-group-total-count"
GROUPS = {
    KUEUE: "",
    "scheduling.k8s.io/group-name": "scheduling.volcano.sh/",
    "scheduling.x-k8s.io/pod-group": "scheduling.x-k8s.io/",
    "pod-group-name": "scheduling.run.ai/",
    "pod-group.scheduling.sigs.k8s.io": "",
    "pod-group.scheduling/name": "",
}
"""labels and annotations that name a pod's group, with the API of its object"""
JOB = "batch/"
QUEUE_OF_JOB, FEWER = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/job-min-parallelism"
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "pod-template-generation",
    }
)
"""labels in which pods of one workload differ"""

Group = tuple[str, str, str]
"""(API or label, namespace, name) of a gang"""
Selector = tuple[Requirement, ...]


@dataclass(frozen=True)
class Together:
    """What binds the tasks of a workload to each other.

    Parameters
    ----------
    gang : tasks that run together or not at all.
    per_node : most of them on one node.
    alone : names of what at most one task on a node may have, of whatever workload.
    """

    gang: int = 1
    per_node: int | None = None
    alone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything binds them."""
        return self != Together()

    def plain(self) -> dict[str, Any]:
        """The keys of a plan's row."""
        found: dict[str, Any] = {} if self.gang == 1 else {"gang": self.gang}
        if self.per_node is not None:
            found["per_node"] = self.per_node
        return {**found, **({"alone": list(self.alone)} if self.alone else {})}


def of_row(row: Mapping[str, Any]) -> Together:
    """What a plan's row says, whose form was checked."""
    return Together(row.get("gang", 1), row.get("per_node"), tuple(row.get("alone", ())))


@dataclass(frozen=True)
class Binds:
    """What one pod says of others: its group with the size that it names itself (0 for none), what
    it must have alone, and the selectors of those that it must not meet."""

    group: Group | None = None
    size: int = 0
    alone: tuple[str, ...] = ()
    apart: tuple[Selector, ...] = ()
    beyond: tuple[str, ...] = ()


def binds(meta: CheckedFields, spec: CheckedFields, space: str, owner: tuple[str, str]) -> Binds:
    """What binds a pod of this namespace and owner to others."""
    said = {**meta.table("annotations").data, **meta.strings("labels")}
    key = next((own for own in GROUPS if own in said), "")
    group, size = None, 0
    if key:
        group = (GROUPS[key] or key, space, str(said[key]))
        count = str(said.get(_COUNT, ""))
        size = int(count) if key == KUEUE and count.isdecimal() and len(count) < 8 else 0
    elif owner[0] == "Job":
        group = (JOB, space, owner[1])
    beyond, alone = [], []
    for container in spec.tables("containers"):
        for port in container.tables("ports"):
            number = port.data.get("hostPort")
            if number and port.text("hostIP") in ("", "0.0.0.0", "::"):
                alone.append(f"host port {number}/{port.text('protocol') or 'TCP'}")
            elif number:
                beyond.append(PORTS)
    apart = []
    labels = meta.strings("labels")
    for term in spec.table("affinity").table("podAntiAffinity").tables(_REQUIRED):
        own = _selector(term)
        if own is None or not meets(own, labels):
            beyond.append(APART)
        else:
            apart.append(own)
    return Binds(
        group,
        size,
        tuple(sorted({*alone, *(tag_of(space, own) for own in apart)})),
        tuple(apart),
        tuple(dict.fromkeys(beyond)),
    )


def tag_of(space: str, own: Selector) -> str:
    """The name of pods of a namespace that are kept apart."""
    return f"{space}: {', '.join(map(str, own))}"


def _selector(term: CheckedFields) -> Selector | None:
    """The labels that a term over nodes selects in the pod's own namespace; None for others."""
    known = {"topologyKey", "labelSelector"}
    if term.text("topologyKey") != _HOST or any(term.data[key] for key in term.data.keys() - known):
        return None
    chosen = term.table("labelSelector")
    own = [Requirement(key, "In", (x,)) for key, x in chosen.strings("matchLabels").items()]
    for each in chosen.tables("matchExpressions"):
        own.append(
            Requirement(
                each.text("key"), each.text("operator"), tuple(sorted(each.texts("values")))
            )
        )
    known_words = ("In", "NotIn", "Exists", "DoesNotExist")
    if not own or any(need.key in OWN or need.operator not in known_words for need in own):
        return None
    return tuple(sorted(own))


def meets(own: Selector, labels: Mapping[str, str]) -> bool:
    """Whether a pod of these labels is selected."""
    return all(need.holds("", labels) for need in own)
