"""What `kubectl get nodes,pods -A -o json` prints, in any order and any number of files: a Cluster.

Only nodes, pods and resource quotas are looked at; objects of another kind are refused by name, as
a file of the wrong kind would otherwise be read as an empty cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.gangs import Bindings
from fairopt.connect.cluster.nodes import DELETED, Node, node
from fairopt.connect.cluster.pods import Pod, pod
from fairopt.connect.cluster.record import ClusterRecord, QueueCeiling, Undivided, Workload
from fairopt.connect.cluster.together import Together, Topology
from fairopt.connect.plan.kueue_cluster import with_kueue
from fairopt.connect.readers import armada, kai, yunikorn
from fairopt.connect.readers.kueue import KINDS, QUEUE_LABEL, Queues
from fairopt.connect.readers.volcano import API, GROUP, QUEUE, ROOT, VolcanoQueues
from fairopt.connect.readers.volcano import KINDS as VOLCANO
from fairopt.connect.text.fields import COUNTED, REQUESTS, CheckedFields, named
from fairopt.connect.text.streams import ITEMS
from fairopt.errors import UsageError
from fairopt.instance.reading import Faults, shown

OWNER, NAMESPACE, LABEL = "owner", "namespace", "label="
UNDIVIDED = ("kube-system",)
SCOPED = "quotas of some pods only"
APIS = {"kueue": "kueue.x-k8s.io/", "volcano": API, "kai": kai.API, "armada": armada.API}
"""schedulers whose objects are known, by the beginning of their apiVersion"""
PLAIN = "kubernetes"
"""resources whose name in a quota may stand for what is requested of them"""

_Key = tuple[
    str,
    str,
    tuple[tuple[str, Any], ...],
    Any,
    tuple[str, str],
    tuple[str, str, str],
    tuple[tuple[str, ...], tuple[Topology, ...]],
    tuple[str, str],
]


@dataclass
class Collector:
    """Objects of Kubernetes, taken one at a time; `cluster` makes one cluster of them.

    Parameters
    ----------
    group_by : what is one workload: the pods of an `owner` (a Deployment, a Job, ...; its queue is
        the namespace), of a `namespace`, or of one value of a label (`label=KEY`); the value is
        the queue as well.
    undivided : namespaces whose pods are taken off their nodes, as those of DaemonSets are.
    faults : where faults are added, each with the name of its object and the field.

    `kinds` is whose objects were taken: "kubernetes", a name of APIS, or "yunikorn".
    """

    group_by: str = OWNER
    undivided: Collection[str] = UNDIVIDED
    faults: Faults = field(default_factory=lambda: Faults("<objects>"))

    def __post_init__(self) -> None:
        if self.group_by not in (OWNER, NAMESPACE) and not (
            self.group_by.startswith(LABEL) and self.group_by != LABEL
        ):
            wanted = f"{OWNER}, {NAMESPACE} or {LABEL}KEY"
            raise UsageError(f"group-by: found {self.group_by!r}; wanted {wanted}")
        self._nodes: dict[str, Node] = {}
        self._seen: set[tuple[str, str]] = set()
        self._work: dict[_Key, Workload] = {}
        self._fixed: list[Undivided] = []
        self._beyond: dict[str, list[str]] = {}
        self._ceilings: list[QueueCeiling] = []
        self._armada: dict[str, float] = {}
        self.kinds: set[str] = set()
        self.kueue = Queues(self.faults)
        self.volcano = VolcanoQueues(self.faults)
        self._yunikorn = yunikorn.YuniKorn(self.faults, self.volcano, self._beyond)
        self._bindings = Bindings(self.faults)

    def take(self, data: Any, place: str, listed: str = "") -> None:
        """Take one object, or a List of some.

        Parameters
        ----------
        data : the object.
        place : where it stands in its file, for messages.
        listed : the kind of the list that it was in, which says what an item without a kind is.
        """
        if not isinstance(data, Mapping):
            self.faults.add(place, shown(data), WANTED)
            return
        if yunikorn.known(data):
            self.kinds.add("yunikorn")
            self._yunikorn.take(data, place)
            return
        kind = data.get("kind") or LISTS.get(listed, "")
        api = str(data.get("apiVersion", ""))
        gangs = self._bindings.knows(kind, api)
        if gangs:
            self._bindings.take(data, place)
        if kind not in LISTS:
            self.kinds.add(next((name for name, own in APIS.items() if api.startswith(own)), PLAIN))
        if kind in TAKEN:
            TAKEN[kind](self, data, place)
        elif kind in KINDS and api.startswith(APIS["kueue"]):
            self.kueue.take(str(kind), data, place)
        elif kind in VOLCANO and api.startswith(API):
            self.volcano.take(str(kind), data, place)
        elif kind == "Queue" and api.startswith(kai.API):
            self.volcano.add(kai.queue(data, place, self.faults))
        elif kind == "Queue" and api.startswith(armada.API):
            self._take_armada(data, place)
        elif isinstance(kind, str) and kind in LISTS:
            items = data.get(ITEMS)
            if not isinstance(items, list | tuple):
                self.faults.add(f"{place}.{ITEMS}", shown(items), "a list")
                return
            for k, item in enumerate(items):
                self.take(item, f"{place}.{ITEMS}[{k}]", kind)
        elif not gangs:
            meta = data.get("metadata")
            name = meta.get("name") if isinstance(meta, Mapping) else None
            named = f"{place} ({name})" if isinstance(name, str) and name else place
            found = f"the kind {kind!r}" if isinstance(kind, str) and kind else "no kind"
            if isinstance(told := data.get("schema"), str):
                found = (
                    f"{told}, which is fairopt's own and no cluster (report and what-if take it)"
                )
            self.faults.add(named, found, WANTED)

    def _take_armada(self, data: Mapping[str, Any], place: str) -> None:
        name, weight, limited = armada.queue(data, place, self.faults)
        if name in self._armada:
            self.faults.add(f"Queue {name}", "this name a second time", "every name once")
        self._armada[name] = weight
        if limited:
            self._beyond.setdefault(armada.LIMITS, []).append(name)

    def _take_node(self, data: Mapping[str, Any], place: str) -> None:
        found = node(data, place, self.faults)
        if found.name in self._nodes and found.name:
            self.faults.add(f"node {found.name}", "this name a second time", "every node once")
        self._nodes[found.name] = found

    def _take_pod(self, data: Mapping[str, Any], place: str) -> None:
        found = pod(data, place, self.faults)
        if found is None:
            return
        full = f"{found.namespace}/{found.name}"
        if (found.namespace, found.name) in self._seen and found.name:
            self.faults.add(f"pod {full}", "this name a second time", "every pod once")
        self._seen.add((found.namespace, found.name))
        self._bindings.pod(found, full)
        why = found.fixed or (found.namespace if found.namespace in self.undivided else "")
        if why:
            if found.node:
                self._fixed.append(Undivided(found.node, full, why, found.request))
            return
        for words in found.beyond:
            self._beyond.setdefault(words, []).append(full)
        own = self._workload(found)
        own.pods.setdefault(found.node, []).append(full)
        if found.node:
            own.held[found.node] = own.held.get(found.node, 0) + 1
        else:
            assert own.waiting is not None
            own.waiting += 1

    def _take_quota(self, data: Mapping[str, Any], place: str) -> None:
        space, name = named(data, place, self.faults, spaced=True)
        full = f"{space}/{name}"
        spec = CheckedFields(data, f"quota {full}" if name else place, self.faults).table("spec")
        scoped = "scopes" in spec or "scopeSelector" in spec
        for key in spec.table("hard").data if not scoped else ():
            if key in COUNTED or key.startswith(REQUESTS):
                most = spec.amounts("hard").get(key, Fraction(0))
                self._ceilings.append(QueueCeiling(space, name, key.removeprefix(REQUESTS), most))
        if scoped:
            self._beyond.setdefault(SCOPED, []).append(full)

    def _workload(self, found: Pod) -> Workload:
        if self.group_by == OWNER:
            queue, name = found.namespace, found.owner[1]
        elif self.group_by == NAMESPACE:
            queue, name = found.namespace, found.namespace
        else:
            queue = name = found.labels.get(self.group_by.removeprefix(LABEL), "")
            if not queue:  # pods without the label have nothing in common
                queue, name = "(no label)", f"{found.namespace}/{found.owner[1]}"
        amounts = tuple(found.request.items())
        # which cluster queue a local queue belongs to may be said later
        local = found.namespace, found.labels.get(QUEUE_LABEL, "")
        said = [str(found.annotations.get(key, "")) for key in (QUEUE, GROUP)]
        if kai.QUEUE in found.labels:  # the label decides
            said = [found.labels[kai.QUEUE], ""]
        volcano = (found.namespace, said[0], said[1]) if any(said) else ("", "", "")
        alone = found.binds.alone, found.binds.spread
        asked = yunikorn.application(found)
        key = (queue, name, amounts, found.rules, local, volcano, alone, asked)
        if key not in self._work:
            bound = Together(alone=found.binds.alone)
            self._work[key] = Workload(queue, name, found.request, found.rules, together=bound)
        return self._work[key]

    def cluster(self, weights: Mapping[str, float] | None = None) -> ClusterRecord:
        """The cluster of everything taken, in an order that does not depend on that of the objects.

        Raises
        ------
        BadInput : with every fault of every object.
        """
        self._deleted()
        self._of_kueue()
        self._of_volcano()
        for words, full in self._bindings.bind(self._work.values(), self._nodes.values()):
            self._beyond.setdefault(words, []).append(full)
        self.faults.found.sort()
        self.faults.stop()
        found = ClusterRecord(
            [self._nodes[name] for name in sorted(self._nodes)],
            sorted(
                self._work.values(),
                key=lambda w: (w.queue, w.name, tuple(w.demand.items()), _order(w)),
            ),
            sorted(self._fixed, key=lambda row: (row.node, row.name)),
            {words: sorted(self._beyond[words]) for words in sorted(self._beyond)},
            {**self._armada, **self.volcano.weights(), **(weights or {})},
            sorted(self._ceilings),
            volcano=self.volcano or None,
        )
        return with_kueue(found, self.kueue) if self.kueue else found

    def _of_kueue(self) -> None:
        """Put pods of local queues in their cluster queues, and Kueue's objects in order."""
        if not self.kueue:
            return
        self.kueue.check()
        for (_, name, _, _, (space, local), *_), work in self._work.items():
            if local and (space, local) in self.kueue.local:
                work.queue, work.name = self.kueue.local[space, local], f"{space}/{name}"
            elif local:
                self.faults.add(
                    f"pods of {space}/{name}",
                    f"the local queue {local!r}",
                    f"its LocalQueue in {space} (kubectl get localqueues -A)",
                )

    def _of_volcano(self) -> None:
        """Put pods in their queues of Volcano; workloads that no queue tells apart are one."""
        if self.volcano and self.kueue:
            self.faults.add(
                "queues", "those of Kueue and of Volcano", "the queues of one of both only"
            )
        if self.volcano:
            self.volcano.check()
        one: dict[_Key, Workload] = {}
        for known, work in self._work.items():
            group, name, amounts, rules, local, (space, said, of), alone, (asked, app) = known
            queue = self.volcano.queue_of(space, said, of) if self.volcano else ""
            if self.volcano.yunikorn:
                space, queue = local[0], self.volcano.placed(local[0], asked)
                name = app if queue and app and self.group_by == OWNER else name
            if queue is None:
                self.faults.add(
                    f"pods of {space}/{name}",
                    f"the PodGroup {of!r}",
                    f"its PodGroup in {space} (kubectl get podgroups.scheduling.volcano.sh -A)",
                )
            elif queue and (wanted := self.volcano.wanted(queue)):
                self.faults.add(f"pods of {space}/{name}", f"the queue {queue!r}", wanted)
            elif queue:
                work.queue, work.name = queue, f"{space}/{name}"
            elif self.volcano and (group == ROOT or group in self.volcano.queues):
                work.queue = f"{group} (namespace)"
            own = (space if queue else "", queue or "", "")
            key = group, name, amounts, rules, local, own, alone, ("", "")
            first = one.setdefault(key, work)
            if first is not work:
                first.waiting = (first.waiting or 0) + (work.waiting or 0)
                for node_name, tasks in work.held.items():
                    first.held[node_name] = first.held.get(node_name, 0) + tasks
                for node_name, names in work.pods.items():
                    first.pods.setdefault(node_name, []).extend(names)
        self._work = one

    def _deleted(self) -> None:
        """A node that pods are bound to and that is gone is one out of service, with no room."""
        bound = {row.node for row in self._fixed}
        bound |= {name for own in self._work.values() for name in own.held}
        for name in bound - self._nodes.keys():
            self._nodes[name] = Node(name, {}, out=DELETED)


def _order(work: Workload) -> tuple[Any, ...]:
    rules = work.rules
    return rules.selector, rules.terms is not None, rules.terms or (), rules.tolerations


TAKEN: dict[str, Callable[[Collector, Mapping[str, Any], str], None]] = {
    "Node": Collector._take_node,
    "Pod": Collector._take_pod,
    "ResourceQuota": Collector._take_quota,
}
"""kinds of Kubernetes itself, and what takes an object of each"""
LISTS = {"List": "", **{f"{kind}List": kind for kind in (*TAKEN, "Job")}}
"""lists, and the kind of those of their items that name none"""
WANTED = (
    f"{', '.join(f'a {kind}' for kind in TAKEN)}, an object of Kueue, a Queue or PodGroup of "
    "Volcano, a Queue of KAI or Armada, queues of YuniKorn, a Job, or a List of them "
    "(kubectl get nodes,pods -A -o json)"
)
