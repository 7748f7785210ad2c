"""Volcano's queues as groups of a model: weights, floors, ceilings, what is kept, priorities.

`deserved` and `guarantee` are floors of the group, `capability` its ceiling. What is guaranteed is
kept even while a queue is idle: it is the queue's own nominal amount of which nothing is lent, and
the rest of the cluster is the nominal amount of the root, from which all may borrow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairopt.connect.cluster.record import Workload
from fairopt.connect.readers.volcano import ROOT, VolcanoQueue, VolcanoQueues
from fairopt.instance import Instance
from fairopt.instance.quotas import Bound, Group, Guarantee, Quota, Quotas


def quotas(
    given: VolcanoQueues,
    instance: Instance,
    owners: Sequence[Workload],
    weights: Mapping[str, float],
) -> Quotas:
    """Groups and quotas of the users of an instance, in the order of their workloads.

    Parameters
    ----------
    weights : of queues; 1 for those not named.
    """
    queues = {ROOT: VolcanoQueue(ROOT, ""), **given.queues}
    names = [ROOT, *sorted(queues.keys() - {ROOT})]
    # outside of Volcano: a group of its own at the top, without quotas
    others = sorted({own.queue for own in owners} - queues.keys())
    users = set(instance.users)
    called = {name: f"{name} (queue)" if name in users else name for name in (*names, *others)}

    def weight(name: str) -> float:
        return float(weights.get(name, 1.0))

    groups = [
        Group(called[name], called[queues[name].parent] if name != ROOT else None, weight(name))
        for name in names
    ]
    groups += [Group(called[name], None, weight(name)) for name in others]
    guarantees, bounds = [], []
    for name in names:
        own = queues[name]
        for resource in instance.resources:
            promised = _promised(queues, name, resource)
            if promised is not None:
                guarantees.append(Guarantee(called[name], resource, float(promised)))
            if resource in own.capability:
                bounds.append(Bound(called[name], resource, float(own.capability[resource])))
    rank = {
        user: queues[own.queue].priority
        for user, own in zip(instance.users, owners, strict=True)
        if own.queue in queues and queues[own.queue].priority
    }
    return Quotas(
        groups=groups,
        group={u: called[w.queue] for u, w in zip(instance.users, owners, strict=True)},
        guarantees=guarantees,
        bounds=bounds,
        priority=rank,
        quotas=_kept(queues, called, instance),
    )


def _promised(queues: Mapping[str, VolcanoQueue], name: str, resource: str) -> Fraction | None:
    """What a queue is promised of a resource, no more than the ceilings above it; None where a
    promise of other resources does not hold it back, or nothing is promised."""
    own = queues[name]
    if not (own.deserved or own.guarantee):
        return None
    said = [row[resource] for row in (own.deserved, own.guarantee) if resource in row]
    found = [max(said)] if said else []
    while name:
        if resource in queues[name].capability:
            found.append(queues[name].capability[resource])
        name = queues[name].parent
    return min(found, default=None)


def _kept(
    queues: Mapping[str, VolcanoQueue], called: Mapping[str, str], inst: Instance
) -> list[Quota]:
    """Rows that keep what is guaranteed, for every resource of which anything is."""
    below: dict[str, list[str]] = {name: [] for name in queues}
    for name in sorted(queues):
        if name != ROOT:
            below[queues[name].parent].append(name)
    rows = []
    for r, resource in enumerate(inst.resources):
        if not any(own.guarantee.get(resource) for own in queues.values()):
            continue
        kept: dict[str, Fraction] = {}
        for name in _upwards(below):
            inside = sum((kept[child] for child in below[name]), Fraction(0))
            if name == ROOT:
                there = float(inst.pool[:, r].sum())
                nominal, lend = max(0.0, there - float(inside)), math.inf
            else:
                kept[name] = max(inside, queues[name].guarantee.get(resource, Fraction(0)))
                nominal, lend = float(kept[name] - inside), 0.0
            rows.append(Quota(called[name], resource, nominal, math.inf, lend))
    return rows


def _upwards(below: Mapping[str, Sequence[str]]) -> list[str]:
    """All queues below the root and the root, each after those below it."""
    order = [ROOT]
    for name in order:
        order += below[name]
    return order[::-1]
