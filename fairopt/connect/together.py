"""What binds pods to each other: gangs that run together or not at all, and pods apart on nodes.

A gang is a PodGroup with as many pods as its minMember, a pod group of Kueue, or a Job that Kueue
admits as a whole. Pods of one anti-affinity over nodes, and pods of one host port, are one on a
node at most. What else pods ask of each other is listed as not modelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fairopt.connect.eligible import Requirement
from fairopt.connect.fields import Fields, named
from fairopt.instance.reading import Faults

if TYPE_CHECKING:
    from fairopt.connect.cluster import Workload
    from fairopt.connect.pods import Pod

GANGS, APART, PORTS = "gangs", "pod anti-affinity", "host ports"
"""what is said of pods that ask for what is not modelled"""
KUEUE = "kueue.x-k8s.io/pod-group-name"
_COUNT = "kueue.x-k8s.io/pod-group-total-count"
_GROUPS = {
    KUEUE: "",
    "scheduling.k8s.io/group-name": "scheduling.volcano.sh/",
    "scheduling.x-k8s.io/pod-group": "scheduling.x-k8s.io/",
    "pod-group-name": "scheduling.run.ai/",
    "pod-group.scheduling.sigs.k8s.io": "",
    "pod-group.scheduling/name": "",
}
"""labels and annotations that name a pod's group, with the API of its object"""
_JOB = "batch/"
_QUEUE, _FEWER = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/job-min-parallelism"
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OWN = frozenset(
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


def binds(meta: Fields, spec: Fields, space: str, owner: tuple[str, str]) -> Binds:
    """What binds a pod of this namespace and owner to others."""
    said = {**meta.table("annotations").data, **meta.strings("labels")}
    key = next((own for own in _GROUPS if own in said), "")
    group, size = None, 0
    if key:
        group = (_GROUPS[key] or key, space, str(said[key]))
        count = str(said.get(_COUNT, ""))
        size = int(count) if key == KUEUE and count.isdecimal() and len(count) < 8 else 0
    elif owner[0] == "Job":
        group = (_JOB, space, owner[1])
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
        if own is None or not _meets(own, labels):
            beyond.append(APART)
        else:
            apart.append(own)
    return Binds(
        group,
        size,
        tuple(sorted({*alone, *(_tag(space, own) for own in apart)})),
        tuple(apart),
        tuple(dict.fromkeys(beyond)),
    )


def _tag(space: str, own: Selector) -> str:
    return f"{space}: {', '.join(map(str, own))}"


def _selector(term: Fields) -> Selector | None:
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
    if not own or any(need.key in _OWN or need.operator not in known_words for need in own):
        return None
    return tuple(sorted(own))


def _meets(own: Selector, labels: Mapping[str, str]) -> bool:
    return all(need.holds("", labels) for need in own)


@dataclass
class Bindings:
    """What binds the pods that were read, and the objects that say how large gangs are."""

    faults: Faults
    size: dict[Group, int] = field(default_factory=dict)
    group: dict[str, Group] = field(default_factory=dict)
    """of pods by their full names"""
    seen: set[tuple[str, frozenset[tuple[str, str]], tuple[str, ...]]] = field(default_factory=set)
    selectors: dict[str, tuple[str, Selector]] = field(default_factory=dict)

    @staticmethod
    def knows(kind: Any, api: str) -> bool:
        """Whether an object says how large a gang is."""
        if kind == "Job":
            return api.startswith(_JOB)
        return kind == "PodGroup" and any(own and api.startswith(own) for own in _GROUPS.values())

    def take(self, data: Mapping[str, Any], place: str) -> None:
        """Take a Job or a PodGroup."""
        space, name = named(data, place, self.faults, spaced=True)
        kind, api = str(data.get("kind")), str(data.get("apiVersion", ""))
        given = Fields(data, f"{kind} {space}/{name}" if name else place, self.faults)
        spec, meta = given.table("spec"), given.table("metadata")
        if kind == "PodGroup":
            own = next(own for own in _GROUPS.values() if own and api.startswith(own))
            self.size[own, space, name] = _whole(spec, "minMember", 1)
        elif _QUEUE in meta.table("labels").data and _FEWER not in meta.table("annotations").data:
            many = _whole(spec, "parallelism", 1)
            self.size[_JOB, space, name] = min(many, _whole(spec, "completions", many))

    def pod(self, found: Pod, full: str) -> None:
        """Take what a pod says."""
        own = found.binds
        if own.group is not None:
            self.group[full] = own.group
            if own.size:
                self.size[own.group] = own.size
        labels = frozenset((key, x) for key, x in found.labels.items() if key not in _OWN)
        self.seen.add((found.namespace, labels, own.alone))
        for each in own.apart:
            self.selectors[_tag(found.namespace, each)] = (found.namespace, each)

    def bind(self, work: Iterable[Workload]) -> Iterator[tuple[str, str]]:
        """Say in each workload what binds its tasks; (why, pod) of what is not modelled."""
        work = list(work)
        live = Counter(self.group.values())
        broken = {
            tag
            for tag, (space, own) in self.selectors.items()
            for where, labels, tags in self.seen
            if where == space and tag not in tags and _meets(own, dict(labels))
        }
        for own in work:
            pods = [name for names in own.pods.values() for name in names]
            gang = self._gang(pods, live)
            if gang is None:
                yield from ((GANGS, name) for name in pods if self._bound(name))
            if lost := broken & set(own.together.alone):
                yield from ((APART, name) for name in pods)
            alone = tuple(tag for tag in own.together.alone if tag not in lost)
            own.together = replace(own.together, gang=gang or 1, alone=alone)

    def _bound(self, name: str) -> bool:
        """Whether a pod is in a gang: of a Job only where Kueue admits it as a whole."""
        group = self.group.get(name)
        return group is not None and (group[0] != _JOB or group in self.size)

    def _gang(self, pods: list[str], live: Mapping[Group, int]) -> int | None:
        """Pods that run together or not at all; 1 for none, None where it is not modelled so."""
        groups = Counter(self.group[name] for name in pods if self._bound(name))
        if not groups:
            return 1
        sizes = {self.size.get(group) for group in groups}
        whole = all(live[g] == k == self.size.get(g) for g, k in groups.items())
        if sum(groups.values()) == len(pods) and len(sizes) == 1 and whole:
            return sizes.pop()
        return None


def _whole(given: Fields, key: str, default: int) -> int:
    value = given.data.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        given.wrong(key, "a whole number >= 0")
        return default
    return value
