"""Kueue's queues as groups of a model: users, weights, quotas by flavor, and who may run where.

Every cluster queue and cohort is a group. What Kueue lends and borrows between queues of one tree
are rows of the feasible set (`fairopt.formulas.lowered`); nothing passes between trees. A queue
uses only the (flavor, resource) pairs that it lists. A node belongs to the flavors whose labels it
has; where flavors of one resource overlap, to those with the most labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.record import Workload
from fairopt.connect.cluster.shapes import Shape
from fairopt.connect.plan.kueue_cluster import used
from fairopt.connect.readers.kueue import Flavor, Pair, QueueNode, Queues, QuotaCell
from fairopt.connect.readers.kueue_share import KueueTree
from fairopt.connect.text.fields import PODS
from fairopt.files.quantities import short
from fairopt.instance import Instance
from fairopt.instance.quotas import Group, Quota, Quotas


def visible(queues: Queues) -> set[str]:
    """Labels by which flavors tell nodes apart."""
    return {key for flavor in queues.flavors.values() for key in flavor.labels}


def groups(queues: Queues) -> dict[str, tuple[str | None, Fraction]]:
    """{name: (parent, weight)} of all cohorts, then of all queues.

    A cohort that nobody gives is a root of weight 1. One named as a queue is "NAME (cohort)".
    """
    found: dict[str, tuple[str | None, Fraction]] = {}
    named = {node.parent for node in (*queues.queues.values(), *queues.cohorts.values())}
    for name in sorted({*queues.cohorts, *(named - {""})}):
        own = queues.cohorts.get(name)
        parent = own.parent if own else ""
        weight = own.weight if own else Fraction(1)
        found[cohort_name(queues, name)] = cohort_name(queues, parent) if parent else None, weight
    for name, node in sorted(queues.queues.items()):
        found[name] = cohort_name(queues, node.parent) if node.parent else None, node.weight
    return found


def cohort_name(queues: Queues, name: str) -> str:
    """The name of a cohort's group."""
    return f"{name} (cohort)" if name in queues.queues else name


class Placing:
    """Which shapes belong to which flavor, and what the queues of an instance are given.

    Parameters
    ----------
    queues : of Kueue. shapes : the shapes of the nodes in service.
    """

    def __init__(self, queues: Queues, shapes: Sequence[Shape]) -> None:
        self.queues, self.shapes = queues, shapes
        labels = {row.name: dict(row.labels) for row in shapes}
        self.flavors, self.told = _flavors(queues, labels)

    def places(self, work: Workload, fits: Sequence[bool]) -> tuple[list[bool], str]:
        """On which of the shapes where a task fits its queue lets it run; if on none, why.

        A workload outside of all queues of Kueue may run wherever it fits.
        """
        node = self.queues.queues.get(work.queue)
        if node is None:
            return list(fits), ""
        asked = [r for r in work.demand if r != PODS or any(r == PODS for _, r in node.quotas)]
        missing = [r for r in asked if all(r != own for _, own in node.quotas)]
        if missing:
            return [], f"queue {node.name} has no quota of {', '.join(missing)}"
        found = [
            fit
            and all(
                any(self._lets(node, f, r, row, work) for f, own in node.quotas if own == r)
                for r in asked
            )
            for fit, row in zip(fits, self.shapes, strict=True)
        ]
        if any(found):
            return found, ""
        names = ", ".join(sorted({f for f, _ in node.quotas}))
        return found, f"no eligible node: none where it fits is of a flavor of its queue ({names})"

    def _lets(
        self, node: QueueNode, flavor: str, resource: str, row: Shape, work: Workload
    ) -> bool:
        if row.name not in self.flavors.get(flavor, ()):
            return False
        known = self.queues.flavors[flavor]
        tolerated = (*work.rules.tolerations, *known.tolerations)
        return all(any(t.tolerates(taint) for t in tolerated) for taint in known.taints)

    def quotas(self, instance: Instance, owners: Sequence[Workload]) -> Quotas:
        """Groups and quotas of the users of an instance, in the order of their workloads."""
        queues, there = self.queues, set(instance.resources)
        found = groups(queues)
        others = sorted({w.queue for w in owners} - queues.queues.keys())
        for name in others:  # outside of Kueue: a group of its own at the top, without quotas
            found.setdefault(name, (None, Fraction(1)))
        users = set(instance.users)
        named = {name: f"{name} (queue)" if name in users else name for name in found}
        roots = {_root(found, w.queue) for w in owners}
        kept = [name for name in found if _root(found, name) in roots]
        of_kueue = [name for name in kept if name not in others]
        given = dict(_members(queues))
        pairs = sorted(
            {p for name in of_kueue if name in given for p in given[name].quotas if p[1] in there}
        )
        records = []
        for name in of_kueue:
            own = given[name].quotas if name in given else {}
            top = found[name][0] is None
            for flavor, resource in pairs if top else [p for p in sorted(own) if p[1] in there]:
                limits = own.get((flavor, resource), QuotaCell(Fraction(0)))
                # at the top of a tree nothing comes from outside, and nothing leaves
                borrow, lend = (0.0, 0.0) if top else (_limit(limits.borrow), _limit(limits.lend))
                nominal = float(limits.nominal)
                records.append(Quota(named[name], resource, nominal, borrow, lend, flavor))
        free = {p: others for p in pairs} if others else {}
        for (flavor, resource), members in free.items():
            most = float(instance.pool[:, instance.resources.index(resource)].sum())
            records += [Quota(named[m], resource, most, 0.0, 0.0, flavor) for m in members]
        return Quotas(
            groups=tuple(
                [
                    Group(
                        named[name],
                        named[up] if (up := found[name][0]) else None,
                        float(found[name][1]) or 1.0,
                    )
                    for name in kept
                ]
            ),
            group={u: named[w.queue] for u, w in zip(instance.users, owners, strict=True)},
            quotas=tuple(records),
            flavors={f: sorted(self.flavors.get(f, ())) for f in sorted({f for f, _ in pairs})},
            last=tuple([named[name] for name in kept if not found[name][1]]),
        )

    def notes(self, instance: Instance) -> list[str]:
        """What is worth saying: flavors without nodes, quotas above what the nodes hold."""
        told = list(self.told)
        promised: dict[Pair, Fraction] = {}
        for node in _nodes(self.queues):
            for pair, own in node.quotas.items():
                promised[pair] = promised.get(pair, Fraction(0)) + own.nominal
        for (flavor, resource), amount in sorted(promised.items()):
            rows = [row for row in self.shapes if row.name in self.flavors.get(flavor, ())]
            there = sum(
                (row.count * row.capacity.get(resource, Fraction(0)) for row in rows), Fraction(0)
            )
            if rows and amount > there:
                asked, have = short(resource, float(amount)), short(resource, float(there))
                told.append(
                    f"quotas promise {asked} {resource} of flavor {flavor}; its nodes have {have}"
                )
        told += [
            f"queue {node.name} is stopped ({node.stopped}); its workloads are divided all the same"
            for node in self.queues.queues.values()
            if node.stopped
        ]
        if self.queues.queues and not used(self.queues):
            told.append(
                "Kueue's own share is unknown: no ClusterQueue has a status, and no Workload "
                "is admitted"
            )
        return told

    def shares(self) -> list[dict[str, Any]]:
        """Kueue's own share of every queue and cohort that has one, as plain data."""
        return shares(self.queues)


def shares(queues: Queues) -> list[dict[str, Any]]:
    """Kueue's own share of every queue and cohort that has one, as plain data.

    Without any status and any admitted workload nobody knows what is used: the share is None.
    """
    known = used(queues)
    tree = KueueTree(queues.queues, queues.cohorts, usage(queues))
    rows = []
    for kind, name in sorted(tree.nodes, reverse=True):
        own = tree.share((kind, name))
        rows.append(
            {
                "name": name,
                "kind": kind,
                "weight": float(tree.nodes[kind, name].weight),
                "ratio": float(own.ratio) if known else None,
                "resource": own.resource,
                "shown": own.shown if known else None,
                "borrowing": own.borrowing,
            }
        )
    return rows


@dataclass(frozen=True)
class KueueSaid:
    """What Kueue said when the cluster was read."""

    said: Mapping[str, Any]

    def notes(self, instance: Instance) -> list[str]:
        """What was worth saying then; `instance` is not looked at."""
        return list(self.said["notes"])

    def shares(self) -> list[dict[str, Any]]:
        """Kueue's own share of then."""
        order = ("name", "kind", "weight", "ratio", "resource", "shown", "borrowing")
        return [{key: row.get(key) for key in order} for row in self.said["shares"]]


def usage(queues: Queues) -> dict[str, dict[Pair, Fraction]]:
    """What each queue uses: as its status says, else the sum of its admitted workloads."""
    found = {name: dict(node.usage) for name, node in queues.queues.items() if node.usage}
    for own in queues.sets:
        queue = queues.queue_of(own)
        if own.admitted is None or queues.queues.get(queue) is None or queues.queues[queue].usage:
            continue
        mine = found.setdefault(queue, {})
        for pair, amount in own.admitted.items():
            mine[pair] = mine.get(pair, Fraction(0)) + amount
    return found


def _flavors(
    queues: Queues, servers: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, list[str]], list[str]]:
    """The servers of each flavor, and what is worth saying of them."""
    told = []
    found: dict[str, list[str]] = {name: [] for name in queues.flavors}
    shared: dict[tuple[str, ...], int] = {}
    for server, labels in servers.items():
        fits = [f for f in queues.flavors.values() if _matches(f, labels)]
        most = [f for f in fits if not _overlapped(queues, f, fits)]
        if len(most) < len(fits):
            key = tuple(sorted(f.name for f in fits))
            shared[key] = shared.get(key, 0) + 1
        for flavor in most:
            found[flavor.name].append(server)
    for name, own in sorted(found.items()):
        used = any(name == f for n in _nodes(queues) for f, _ in n.quotas)
        if used and not own:
            told.append(f"flavor {name} matches no node: nothing of its quota can be used")
    for names, count in sorted(shared.items()):
        told.append(
            f"{count} shapes match the flavors {', '.join(names)} at once; each counts as the one "
            "with the most labels"
        )
    return found, told


def _matches(flavor: Flavor, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in flavor.labels.items())


def _overlapped(queues: Queues, flavor: Flavor, fits: Iterable[Flavor]) -> bool:
    """Whether another flavor of the same resources has more labels, or as many and comes first."""
    mine = {r for n in _nodes(queues) for f, r in n.quotas if f == flavor.name}
    for other in fits:
        theirs = {r for n in _nodes(queues) for f, r in n.quotas if f == other.name}
        larger = (-len(other.labels), other.name) < (-len(flavor.labels), flavor.name)
        if other is not flavor and mine & theirs and larger:
            return True
    return False


def _nodes(queues: Queues) -> list[QueueNode]:
    return [*queues.queues.values(), *queues.cohorts.values()]


def _members(queues: Queues) -> list[tuple[str, QueueNode]]:
    """(name of the group, node) of all cohorts and queues."""
    cohorts = [(cohort_name(queues, n), node) for n, node in sorted(queues.cohorts.items())]
    return [*cohorts, *sorted(queues.queues.items())]


def _limit(amount: Fraction | None) -> float:
    return float("inf") if amount is None else float(amount)


def _root(found: Mapping[str, tuple[str | None, Fraction]], name: str) -> str:
    while (above := found[name][0]) is not None:
        name = above
    return name
