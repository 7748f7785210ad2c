"""From a cluster to a model: shapes, users and what each holds; and who has no place.

A user is a workload with a node that can hold at least one of its tasks. Its limit is what it holds
and waits for. A queue of several users is a group; kinds of cards are modes of the users that ask
for nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairopt.connect.cluster import nodes
from fairopt.connect.cluster.eligible import Rules
from fairopt.connect.cluster.nodes import CardKinds
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.cluster.shapes import Offers, Shape, left_over, shapes
from fairopt.connect.plan import apart, kueue_model, volcano_model
from fairopt.connect.plan.places import in_zones, places_of
from fairopt.connect.text.fields import PODS, Amounts
from fairopt.errors import BadInput, Fault
from fairopt.files.quantities import short
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.quotas import Group, Mode, Quotas

MOST_NESTED = 5000
"""most users that are divided among queue by queue; with more, weights are multiplied down"""


@dataclass(frozen=True)
class ClusterProblem:
    """A cluster as an instance, with the exact amounts beside the floating ones.

    Parameters
    ----------
    instance : N users, I shapes, R resources that somebody asks for; with groups and modes.
    plain : the same without groups, modes and what keeps tasks apart.
    users : the workload of each user.
    shapes : the shape of each server.
    speed : (N, I) throughput of one task of a user on a shape, beside its fastest kind of card.
    held : (N, I) tasks held on each shape.
    held_out : (N,) tasks held on nodes that are out of service.
    stuck : workloads that can run nowhere -> why, in words.
    over : nodes whose undivided pods ask for more than they have.
    kinds : labels that tell kinds of cards apart, with the speed of each kind.
    kueue : flavors and queues of Kueue, if there are any.
    """

    cluster: ClusterRecord
    instance: Instance
    plain: Instance
    users: tuple[Workload, ...]
    shapes: tuple[Shape, ...]
    speed: Floats
    held: Ints
    held_out: Ints
    stuck: tuple[tuple[str, Workload, str], ...]
    over: tuple[str, ...]
    kinds: tuple[CardKinds, ...] = ()
    kueue: kueue_model.Placing | kueue_model.KueueSaid | None = None

    @property
    def nested(self) -> bool:
        """Whether what a queue is due is divided within the queue first."""
        return self.instance.quotas is not None or len(set(self.users_by_queue)) == len(self.users)

    @property
    def bounded(self) -> bool:
        """Whether quotas or ceilings bound what queues may use."""
        own = self.instance.quotas
        return own is not None and bool(own.quotas or own.bounds)

    @property
    def users_by_queue(self) -> list[str]:
        """The queue of each user."""
        return [own.queue for own in self.users]

    def demand(self, n: int) -> Amounts:
        """The exact amounts of one task of user n, of the instance's resources."""
        own = self.users[n].demand
        return {key: own[key] for key in self.instance.resources if key in own}


def problem(
    cluster: ClusterRecord,
    kinds: Sequence[CardKinds] = (),
    visible: Collection[str] = (),
    source: str | None = None,
) -> ClusterProblem:
    """The problem of a cluster.

    Parameters
    ----------
    kinds : labels that tell kinds of cards apart, with their speeds.
    visible : labels that tell nodes apart although no workload asks for them.
    source : what messages call the files that the cluster was read from.

    Raises
    ------
    BadInput : no node is in service, there is no workload, or none can run anywhere.
    """
    in_service = [node for node in cluster.nodes if not node.out]
    wrong = []
    if not in_service:
        found = f"{len(cluster.nodes)} nodes, none in service" if cluster.nodes else "none"
        wrong.append(Fault("nodes", found, "at least one node that is ready and not cordoned"))
    if not cluster.workloads:
        wrong.append(Fault("pods", "none to divide among", "at least one that runs or waits"))
    if wrong:
        raise BadInput(wrong, source)
    nodes.check(kinds, in_service)
    rules = sorted({w.rules for w in cluster.workloads}, key=_order)
    if cluster.kueue is not None:
        visible = {*visible, *kueue_model.visible(cluster.kueue)}
    visible = {*visible, *(w.together.spread.key for w in cluster.workloads if w.together.spread)}
    rows = shapes(cluster, rules, kinds, visible)
    kueue = None if cluster.kueue is None else kueue_model.Placing(cluster.kueue, rows)
    offered = {key for row in rows for key in row.capacity}
    at = {own: k for k, own in enumerate(rules)}
    users, stuck, allowed, offers = [], [], [], Offers(rows)
    for name, work in zip(_names(cluster.workloads), cluster.workloads, strict=True):
        if PODS not in offered:  # nodes from a table need not say how many pods they hold
            work = _without_pods(work)
        places, why = places_of(work, offers, at[work.rules])
        if work.together.spread is not None:
            work, places, why = in_zones(work, work.together.spread, rows, places, why)
        if work.asked == 0:
            continue
        if kueue is not None and not why:
            places, why = kueue.places(work, places)
        if why:
            stuck.append((name, work, why))
        else:
            users.append((name, work))
            allowed.append(places)
    if not users:
        raise BadInput([Fault(f"workload {name}", why, "a place to run") for name, _, why in stuck])
    resources = sorted({key for _, work in users for key in work.demand})
    owners = [own for _, own in users]
    plain = Instance(
        [[float(w.demand.get(key, 0)) for key in resources] for w in owners],
        [[float(row.capacity.get(key, 0)) for key in resources] for row in rows],
        placement=np.array(allowed),
        weight=[own.weight for own in owners],
        limit=[np.inf if w.asked is None else w.asked for w in owners],
        count=[row.count for row in rows],
        users=[name for name, _ in users],
        servers=[row.name for row in rows],
        resources=resources,
    )
    speed = _speed(owners, rows, kinds)
    if kueue is not None:
        instance = plain.replace(quotas=kueue.quotas(plain, owners))
    elif cluster.volcano is not None:
        given = volcano_model.quotas(cluster.volcano, plain, owners, cluster.weights)
        instance = plain.replace(quotas=given)
    else:
        instance = with_groups(plain, owners, cluster.weights)
    if (speed != 1).any():
        instance = instance.replace(modes=modes(plain, speed))
    instance = apart.with_rows(instance, [own.together for own in owners])
    held, out = held_by_shape(owners, rows)
    _, over = left_over(cluster)
    return ClusterProblem(
        cluster,
        instance,
        plain,
        tuple(owners),
        tuple(rows),
        speed,
        held,
        out,
        tuple(stuck),
        tuple(over),
        tuple(kinds),
        kueue,
    )


def set_aside(problem: ClusterProblem, nothing: Mapping[str, str]) -> ClusterProblem:
    """The problem without workloads for whom nothing is left; `nothing`: what leaves them none."""
    names, servers = problem.instance.users, np.arange(len(problem.shapes))
    some = np.array([n for n, name in enumerate(names) if name not in nothing])
    stuck = [
        (name, work, f"nothing is left: {nothing[name]}")
        for name, work in zip(names, problem.users, strict=True)
        if name in nothing
    ]
    return replace(
        problem,
        instance=problem.instance.select(some, servers),
        plain=problem.plain.select(some, servers),
        users=tuple([problem.users[n] for n in some]),
        speed=problem.speed[some],
        held=problem.held[some],
        held_out=problem.held_out[some],
        stuck=(*problem.stuck, *stuck),
    )


def _order(rules: Rules) -> tuple[object, ...]:
    return rules.selector, rules.terms is not None, rules.terms or (), rules.tolerations


def _names(workloads: Sequence[Workload]) -> list[str]:
    """Names of users: queue/workload, and where a workload has tasks of several kinds what one
    takes; numbered where that is the same too."""
    bases = [own.queue if own.name == own.queue else f"{own.queue}/{own.name}" for own in workloads]
    alike: dict[str, list[Workload]] = {}
    for base, own in zip(bases, workloads, strict=True):
        alike.setdefault(base, []).append(own)
    found: list[str] = []
    used: set[str] = set()
    for base, own in zip(bases, workloads, strict=True):
        base, k = base + _apart(own, alike[base]), 1
        name = base
        while name in used:
            k += 1
            name = f"{base} ({k})"
        used.add(name)
        found.append(name)
    return found


def _apart(own: Workload, alike: Sequence[Workload]) -> str:
    """By what tasks of one workload differ: " (4 cpu, 16Gi memory)"; empty if by nothing asked."""
    keys = sorted({key for each in alike for key in each.demand})
    differ = [key for key in keys if len({each.demand.get(key) for each in alike}) > 1]
    words = [f"{short(key, float(own.demand.get(key, 0)))} {key}" for key in differ]
    return f" ({', '.join(words)})" if words else ""


def _without_pods(work: Workload) -> Workload:
    demand = {key: amount for key, amount in work.demand.items() if key != PODS}
    return replace(work, demand=demand)


def measured(found: ClusterProblem) -> dict[str, str]:
    """Parameters of the plan's max-min: groups are measured by shares where kinds of cards differ.

    What a group uses of each resource has no meaning where it depends on the kind of card. Queues
    of KAI share what is over their quotas.
    """
    grouped = found.instance.quotas is not None and found.instance.modes
    above = found.cluster.volcano is not None and found.cluster.volcano.kai
    return {**({"measure": "sum"} if grouped else {}), **({"over": "above"} if above else {})}


def with_groups(
    plain: Instance, owners: Sequence[Workload], weights: Mapping[str, float]
) -> Instance:
    """The instance with a group for every queue.

    Where each queue has one user, and where there are more than MOST_NESTED users, there are no
    groups, and the weight of a queue is divided among its users.
    """
    queues = sorted({own.queue for own in owners})
    if len(queues) == len(owners) or len(owners) > MOST_NESTED:
        total = dict.fromkeys(queues, 0.0)
        for own in owners:
            total[own.queue] += own.weight
        parts = [weights.get(w.queue, 1.0) * w.weight / total[w.queue] for w in owners]
        return plain.replace(weight=parts)
    # names of groups and users are all different
    users = set(plain.users)
    named = {queue: f"{queue} (queue)" if queue in users else queue for queue in queues}
    groups = [Group(named[queue], weight=weights.get(queue, 1.0)) for queue in queues]
    member = {name: named[own.queue] for name, own in zip(plain.users, owners, strict=True)}
    return plain.replace(quotas=Quotas(groups=groups, group=member))


def modes(plain: Instance, speed: Floats) -> dict[str, list[Mode]]:
    """For users whose speed depends on the shape, a mode for each speed, fastest first."""
    found = {}
    for n in np.flatnonzero((speed != 1).any(axis=1)):
        here = np.flatnonzero(plain.placement[n])
        found[plain.users[n]] = [
            Mode(
                f"speed {a:g}",
                tuple(plain.demand[n].tolist()),
                float(a),
                tuple(plain.servers[i] for i in here if speed[n, i] == a),
            )
            for a in sorted(set(speed[n, here].tolist()), reverse=True)
        ]
    return found


def _speed(work: Sequence[Workload], rows: Sequence[Shape], kinds: Sequence[CardKinds]) -> Floats:
    speed = np.ones((len(work), len(rows)))
    for own in kinds:
        fastest = max(own.speed.values())
        by_row = [own.speed.get(dict(row.kinds).get(own.resource, ""), fastest) for row in rows]
        asks = [own.resource in w.demand for w in work]
        speed[asks] *= np.array(by_row) / fastest
    return speed


def held_by_shape(work: Sequence[Workload], rows: Sequence[Shape]) -> tuple[Ints, Ints]:
    """(N, I) tasks held on each shape, (N,) tasks held on nodes that are out."""
    at = {name: k for k, row in enumerate(rows) for name, _ in row.members if name}
    held, out = np.zeros((len(work), len(rows)), dtype=np.int64), np.zeros(len(work), np.int64)
    for n, own in enumerate(work):
        for name, tasks in own.held.items():
            if name in at:
                held[n, at[name]] += tasks
            else:
                out[n] += tasks
    return held, out
