"""Objects of Kueue as kubectl prints them: queues, cohorts, flavors, local queues, workloads.

Versions v1beta1 and v1beta2 differ, for what is read here, in one name: `cohort` became
`cohortName`. A limit that is absent is none; a limit of 0 is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.eligible import Rules, Taint, Toleration
from fairopt.connect.cluster.pods import rules_of, toleration_of
from fairopt.connect.cluster.requests import request
from fairopt.connect.text.fields import Amounts, CheckedFields, named
from fairopt.files.quantities import WANTED, NoQuantity, quantity
from fairopt.instance.reading import Faults

KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue", "Workload")
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""label of a pod that names its local queue"""
Pair = tuple[str, str]
"""(flavor, resource)"""


@dataclass(frozen=True)
class QuotaCell:
    """What one (flavor, resource) of a node is given: exact amounts, None for no limit."""

    nominal: Fraction
    borrow: Fraction | None = None
    lend: Fraction | None = None


@dataclass(frozen=True)
class QueueNode:
    """A cluster queue or a cohort.

    Parameters
    ----------
    name : its name; parent : of its cohort, empty at the top.
    weight : of fair sharing, >= 0.
    quotas : what it is given, by (flavor, resource).
    usage : what it uses, by (flavor, resource), as its status says; of queues only.
    stopped : its stop policy, if it has one.
    reported : whether its status says what it uses, be it nothing.
    """

    name: str
    parent: str
    weight: Fraction
    quotas: Mapping[Pair, QuotaCell]
    usage: Mapping[Pair, Fraction] = field(default_factory=dict)
    stopped: str = ""
    reported: bool = False


@dataclass(frozen=True)
class Flavor:
    """A resource flavor: the labels its nodes have, taints that its tasks must tolerate, and
    tolerations that they are given."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True)
class PodSet:
    """Pods of one shape of a workload: the namespace and local queue it is in, how many, what one
    takes, which nodes it may use; `admitted` says how much of which flavor was assigned."""

    namespace: str
    workload: str
    local: str
    queue: str
    name: str
    count: int
    request: Amounts
    rules: Rules
    admitted: Mapping[Pair, Fraction] | None


@dataclass
class Queues:
    """Everything of Kueue that was read."""

    faults: Faults
    queues: dict[str, QueueNode] = field(default_factory=dict)
    cohorts: dict[str, QueueNode] = field(default_factory=dict)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    local: dict[tuple[str, str], str] = field(default_factory=dict)
    sets: list[PodSet] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.queues or self.cohorts or self.flavors or self.local or self.sets)

    def take(self, kind: str, data: Mapping[str, Any], place: str) -> None:
        """Take one object; faults are added with its name and field."""
        space, name = named(data, place, self.faults, spaced=kind in ("LocalQueue", "Workload"))
        whom = f"{kind} {space}/{name}" if space else f"{kind} {name}"
        given = CheckedFields(data, whom if name else place, self.faults)
        spec = given.table("spec")
        known: Any = {
            "ClusterQueue": self.queues,
            "Cohort": self.cohorts,
            "ResourceFlavor": self.flavors,
        }.get(kind, self.local)
        if kind != "Workload" and ((space, name) if kind == "LocalQueue" else name) in known:
            self.faults.add(whom, "this name a second time", "every name once")
        if kind == "ClusterQueue":
            parent = spec.text("cohortName") or spec.text("cohort")
            status = given.table("status")
            stopped = spec.text("stopPolicy")
            self.queues[name] = QueueNode(
                name,
                parent,
                _weight(spec),
                _quotas(spec),
                _usage(status),
                "" if stopped == "None" else stopped,
                "flavorsUsage" in status,
            )
        elif kind == "Cohort":
            parent = spec.text("parentName") or spec.text("parent")
            self.cohorts[name] = QueueNode(name, parent, _weight(spec), _quotas(spec))
        elif kind == "ResourceFlavor":
            self.flavors[name] = Flavor(
                name,
                spec.strings("nodeLabels"),
                tuple(
                    [
                        Taint(t.text("key"), t.text("value"), t.text("effect"))
                        for t in spec.tables("nodeTaints")
                    ]
                ),
                tuple([toleration_of(t) for t in spec.tables("tolerations")]),
            )
        elif kind == "LocalQueue":
            queue = spec.text("clusterQueue")
            if not queue:
                spec.wrong("clusterQueue", "the name of a ClusterQueue")
            self.local[space, name] = queue
        else:
            self._workload(space, name, spec, given.table("status"))

    def _workload(self, space: str, name: str, spec: CheckedFields, status: CheckedFields) -> None:
        over = {c.text("type") for c in status.tables("conditions") if c.text("status") == "True"}
        if "Finished" in over or spec.data.get("active") is False:
            return
        admission = status.table("admission")
        assigned = {a.text("name"): a for a in admission.tables("podSetAssignments")}
        for own in spec.tables("podSets"):
            label = own.text("name") or "main"
            count = own.data.get("count", 1)
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                own.wrong("count", "a whole number >= 0")
                count = 0
            template = own.table("template").table("spec")
            given = assigned.get(label)
            admitted = None
            if given is not None:
                use, flavor = given.amounts("resourceUsage"), given.strings("flavors")
                admitted = {(flavor[r], r): x for r, x in use.items() if r in flavor}
            self.sets.append(
                PodSet(
                    space,
                    name,
                    spec.text("queueName"),
                    admission.text("clusterQueue"),
                    label,
                    count,
                    request(template, CheckedFields({}, own.at("status"), self.faults)),
                    rules_of(template),
                    admitted,
                )
            )

    def queue_of(self, own: PodSet) -> str:
        """The cluster queue of a pod set; empty where its local queue is not known."""
        return own.queue or self.local.get((own.namespace, own.local), "")

    def check(self) -> None:
        """Add the faults between objects: cohorts in a circle, flavors and queues nobody knows."""
        for name in self.cohorts:
            seen, at = [name], self.cohorts[name].parent
            while at in self.cohorts and at not in seen:
                seen.append(at)
                at = self.cohorts[at].parent
            if at == name:
                circle = " -> ".join([*seen, name])
                self.faults.add(f"Cohort {name}", f"the circle {circle}", "parents in no circle")
        for node in (*self.queues.values(), *self.cohorts.values()):
            kind = "ClusterQueue" if node is self.queues.get(node.name) else "Cohort"
            for flavor in dict.fromkeys(f for f, _ in node.quotas):
                if flavor not in self.flavors:
                    self.faults.add(
                        f"{kind} {node.name}.spec.resourceGroups",
                        f"the flavor {flavor!r}, which is not given",
                        "its ResourceFlavor (kubectl get resourceflavors)",
                    )
        for (space, name), queue in self.local.items():
            if queue not in self.queues:
                self.faults.add(
                    f"LocalQueue {space}/{name}.spec.clusterQueue",
                    repr(queue),
                    "the name of a ClusterQueue that is given",
                )


def _quotas(spec: CheckedFields) -> dict[Pair, QuotaCell]:
    found: dict[Pair, QuotaCell] = {}
    for group in spec.tables("resourceGroups"):
        covered = group.texts("coveredResources")
        for flavor in group.tables("flavors"):
            name = flavor.text("name")
            if not name:
                flavor.wrong("name", "the name of a ResourceFlavor")
            for own in flavor.tables("resources"):
                resource = own.text("name")
                if covered and resource not in covered:
                    own.wrong("name", f"one of coveredResources: {', '.join(covered)}")
                if (name, resource) in found:
                    own.wrong("name", "every resource of a flavor once")
                found[name, resource] = QuotaCell(
                    _amount(own, "nominalQuota") or Fraction(0),
                    _amount(own, "borrowingLimit"),
                    _amount(own, "lendingLimit"),
                )
    return found


def _usage(status: CheckedFields) -> dict[Pair, Fraction]:
    found: dict[Pair, Fraction] = {}
    for flavor in status.tables("flavorsUsage"):
        for own in flavor.tables("resources"):
            total = _amount(own, "total")
            if total:
                found[flavor.text("name"), own.text("name")] = total
    return found


def _weight(spec: CheckedFields) -> Fraction:
    weight = _amount(spec.table("fairSharing"), "weight")
    return Fraction(1) if weight is None else weight


def _amount(given: CheckedFields, key: str) -> Fraction | None:
    """A quantity; None where it is absent."""
    value = given.data.get(key)
    if value is None:
        return None
    try:
        return quantity(value)
    except NoQuantity as error:
        given.faults.add(given.at(key), str(error), WANTED)
        return None
