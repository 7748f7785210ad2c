"""What Kueue's objects add to a cluster: queues of workloads, and pod sets without pods."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fairopt.connect.cluster.eligible import Rules
from fairopt.connect.cluster.nodes import Node as Machine
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.readers.kueue import Queues
from fairopt.exact import as_printed

SETS = "pod sets of one workload together"


def with_kueue(cluster: ClusterRecord, queues: Queues) -> ClusterRecord:
    """The cluster with its workloads in cluster queues, and what waits in Kueue without pods."""
    nodes = cluster.nodes or machines(queues)
    for name, weight in cluster.weights.items():  # those that were asked for instead of its own
        if name in queues.queues:
            own = replace(queues.queues[name], weight=as_printed(weight))
            queues.queues[name] = own
    weights = {name: float(node.weight) or 1.0 for name, node in queues.queues.items()}
    work = sorted(workloads(queues, cluster), key=lambda w: (w.queue, w.name))
    beyond = dict(cluster.beyond)
    several: dict[tuple[str, str], int] = {}
    for each in queues.sets:
        key = each.namespace, each.workload
        several[key] = several.get(key, 0) + 1
    gangs = [f"{s}/{w}" for (s, w), count in several.items() if count > 1]
    if gangs:
        beyond[SETS] = sorted(gangs)
    return replace(
        cluster,
        nodes=nodes,
        workloads=work,
        weights={**weights, **cluster.weights},
        beyond=beyond,
        kueue=queues,
    )


def workloads(queues: Queues, cluster: ClusterRecord) -> list[Workload]:
    """The cluster's workloads by cluster queue, and pod sets of Kueue that have no pods yet.

    Pods of a queue are those that Kueue's label names; others stay in the group of their
    namespace, outside of all quotas. Admitted workloads are counted by their pods, and where no
    pods were given at all by their pod sets, as tasks that ask and hold nothing.
    """
    found = list(cluster.workloads)
    have_pods = any(work.held or work.waiting for work in found)
    merged: dict[tuple[str, str, tuple[tuple[str, Fraction], ...], Rules], Workload] = {}
    for own in queues.sets:
        if own.admitted is not None and have_pods:
            continue
        queue = queues.queue_of(own)
        label = own.workload if own.name == "main" else f"{own.workload}/{own.name}"
        rules = _tolerating(queues, queue, own.rules)
        key = queue, label, tuple(own.request.items()), rules
        if key not in merged:
            merged[key] = Workload(queue, label, own.request, rules)
        work = merged[key]
        work.waiting = (work.waiting or 0) + own.count
    return [*found, *merged.values()]


def _tolerating(queues: Queues, queue: str, rules: Rules) -> Rules:
    """The rules with the tolerations that the flavors of a queue give to its pods."""
    node = queues.queues.get(queue)
    names = dict.fromkeys(f for f, _ in node.quotas) if node else {}
    more = {t for f in names if f in queues.flavors for t in queues.flavors[f].tolerations}
    return replace(rules, tolerations=tuple(sorted({*rules.tolerations, *more})))


def machines(queues: Queues) -> list[Machine]:
    """A node for each flavor that offers what quotas promise of it, where no nodes were given."""
    offered: dict[str, dict[str, Fraction]] = {}
    for node in (*queues.queues.values(), *queues.cohorts.values()):
        for (flavor, resource), own in node.quotas.items():
            amounts = offered.setdefault(flavor, {})
            amounts[resource] = amounts.get(resource, Fraction(0)) + own.nominal
    return [
        Machine(f"all of {name}", amounts, dict(queues.flavors[name].labels))
        for name, amounts in sorted(offered.items())
        if name in queues.flavors
    ]


def used(queues: Queues) -> bool:
    """Whether anything says what queues use: a status, or workloads that were admitted."""
    return any(node.reported for node in queues.queues.values()) or any(
        own.admitted is not None for own in queues.sets
    )
