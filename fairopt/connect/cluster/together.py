"""What binds pods to each other: gangs that run together or not at all, and pods apart on nodes.

A gang is a PodGroup with as many pods as its minMember, a pod group of Kueue, or a Job that Kueue
admits as a whole. A workload that is one PodGroup of more pods runs with minMember of them or more.
Pods of one anti-affinity over nodes, and pods of one host port, are one on a node at most. What
else pods ask of each other is listed as not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
HOST = "kubernetes.io/hostname"
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
class Topology:
    """What a pod says of zones: no value of a label has more than `skew` pods more than another.

    Parameters
    ----------
    key : the label of nodes. tag : the pods that are counted, by namespace and labels.
    least : of fewer zones than these one more is empty (minDomains).
    rules, taints : whether nodes that the pod's own rules, or taints, keep it off are no zones.
    """

    key: str
    skew: int
    tag: str
    least: int = 1
    rules: bool = True
    taints: bool = False

    def __str__(self) -> str:
        return f"topology spread over {self.key or 'nothing'}, maxSkew {self.skew}"


@dataclass(frozen=True)
class Zones:
    """Zones over which tasks are spread, none with more than `skew` tasks more than another.

    Parameters
    ----------
    key : the label of nodes that tells them apart.
    zones : (name, shapes of its nodes); of some there may be none that a task may use.
    """

    key: str
    skew: int
    zones: tuple[tuple[str, tuple[str, ...]], ...]

    def plain(self) -> dict[str, Any]:
        """As in a plan's row."""
        zones = {name: list(shapes) for name, shapes in self.zones}
        return {"key": self.key, "skew": self.skew, "zones": zones}

    @staticmethod
    def of_row(row: Mapping[str, Any]) -> Zones:
        """The same read back, whose form was checked."""
        zones = tuple((name, tuple(shapes)) for name, shapes in row["zones"].items())
        return Zones(row["key"], row["skew"], zones)

    def uneven(self, tasks: Mapping[str, int]) -> bool:
        """Whether tasks by shape have too many in a zone beside another, or some in no zone."""
        counts = [sum(tasks.get(name, 0) for name in shapes) for _, shapes in self.zones]
        out = sum(tasks.values()) != sum(counts)
        return out or max(counts, default=0) - min(counts, default=0) > self.skew


@dataclass(frozen=True)
class Together:
    """What binds the tasks of a workload to each other.

    Parameters
    ----------
    gang : tasks that run together or not at all.
    per_node : most of them on one node.
    alone : names of what at most one task on a node may have, of whatever workload.
    at_least : fewest tasks with which it runs at all.
    spread : the zones over which they are spread.
    """

    gang: int = 1
    per_node: int | None = None
    alone: tuple[str, ...] = ()
    at_least: int = 1
    spread: Zones | None = None

    def __bool__(self) -> bool:
        """Whether anything binds them."""
        return self != Together()

    def plain(self) -> dict[str, Any]:
        """The keys of a plan's row."""
        found: dict[str, Any] = {} if self.gang == 1 else {"gang": self.gang}
        if self.at_least > 1:
            found["at_least"] = self.at_least
        if self.per_node is not None:
            found["per_node"] = self.per_node
        if self.spread is not None:
            found["spread"] = self.spread.plain()
        return {**found, **({"alone": list(self.alone)} if self.alone else {})}


def of_row(row: Mapping[str, Any]) -> Together:
    """What a plan's row says, whose form was checked."""
    alone, least, spread = tuple(row.get("alone", ())), row.get("at_least", 1), row.get("spread")
    return Together(
        row.get("gang", 1),
        row.get("per_node"),
        alone,
        least,
        None if spread is None else Zones.of_row(spread),
    )


@dataclass(frozen=True)
class Binds:
    """What one pod says of others: its group with the size that it names itself (0 for none), what
    it must have alone, the selectors of those that it must not meet, and over what it is spread."""

    group: Group | None = None
    size: int = 0
    alone: tuple[str, ...] = ()
    apart: tuple[Selector, ...] = ()
    beyond: tuple[str, ...] = ()
    spread: tuple[Topology, ...] = ()
    counted: tuple[Selector, ...] = ()
    """the pods that each of these counts"""


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
    spread, counted = [], []
    for term in spec.tables("topologySpreadConstraints"):
        found = _spread(term, space, labels)
        if isinstance(found, str):
            beyond.append(found)
        elif found is not None:
            spread.append(found[0])
            counted.append(found[1])
    return Binds(
        group,
        size,
        tuple(sorted({*alone, *(tag_of(space, own) for own in apart)})),
        tuple(apart),
        tuple(dict.fromkeys(beyond)),
        tuple(spread),
        tuple(counted),
    )


def _spread(
    term: CheckedFields, space: str, labels: Mapping[str, str]
) -> tuple[Topology, Selector] | str | None:
    """What a constraint says and whom it counts; words where that is not modelled, None where the
    scheduler need not keep it."""
    if term.text("whenUnsatisfiable") not in ("", "DoNotSchedule"):
        return None
    skew, least = (term.data.get(key) for key in ("maxSkew", "minDomains"))
    for key, own in (("maxSkew", skew), ("minDomains", least)):
        if own is not None and (isinstance(own, bool) or not isinstance(own, int) or own < 1):
            term.wrong(key, "a whole number >= 1")
            return None
    found = Topology(
        term.text("topologyKey"),
        1 if skew is None else skew,
        "",
        1 if least is None else least,
        term.text("nodeAffinityPolicy") != "Ignore",
        term.text("nodeTaintsPolicy") == "Honor",
    )
    own = _labels(term.table("labelSelector"))
    more = [key for key in term.texts("matchLabelKeys") if key in labels]
    selector = tuple(
        sorted({*(own or ()), *(Requirement(key, "In", (labels[key],)) for key in more)})
    )
    if own is None or not found.key or not meets(selector, labels):
        return str(found)
    return replace(found, tag=tag_of(space, selector)), selector


def tag_of(space: str, own: Selector) -> str:
    """The name of pods of a namespace that are kept apart."""
    return f"{space}: {', '.join(map(str, own))}"


def _selector(term: CheckedFields) -> Selector | None:
    """The labels that a term over nodes selects in the pod's own namespace; None for others."""
    known = {"topologyKey", "labelSelector"}
    if term.text("topologyKey") != HOST or any(term.data[key] for key in term.data.keys() - known):
        return None
    return _labels(term.table("labelSelector"))


def _labels(chosen: CheckedFields) -> Selector | None:
    """The labels that a selector asks for; None for none, and for what is not modelled."""
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
