"""Nodes that nothing can tell apart become one shape with a count.

Two nodes are of one shape if they offer the same after what is not divided has been taken off, and
no workload's rules, kind of card or visible label tells one from the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt.connect.cluster.eligible import Rules
from fairopt.connect.cluster.nodes import CardKinds, Node
from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.text.fields import CPU, MEMORY, Amounts
from fairopt.exact import reaches
from fairopt.files.quantities import short

TYPE = "node.kubernetes.io/instance-type"
ALIKE = 1.5
"""machines of one type have at most so many times as much of a resource as the smallest of them"""


@dataclass(frozen=True)
class Shape:
    """A row of identical machines.

    Parameters
    ----------
    name : what it is called: the type of its nodes, if these are alike, or what they offer.
    count : machines.
    capacity : what one machine offers to those that share.
    members : (name, count) of the entries, in order; tables may leave names out.
    refused : for each of the rules of the cluster, why its pods may not run here, or nothing.
    kinds : kind of card by resource.
    labels : the visible labels.
    """

    name: str
    count: int
    capacity: Amounts
    members: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, ...], ...]
    kinds: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


def left_over(cluster: ClusterRecord) -> tuple[dict[str, Amounts], list[str]]:
    """What each node offers after its undivided pods; names of nodes where these ask for more."""
    taken: dict[str, Amounts] = defaultdict(dict)
    for row in cluster.undivided:
        own = taken[row.node]
        for name, amount in row.request.items():
            own[name] = own.get(name, Fraction(0)) + amount
    rest, over = {}, []
    for node in cluster.nodes:
        own = taken.get(node.name, {})
        left = {key: amount - own.get(key, 0) for key, amount in node.allocatable.items()}
        if any(amount < 0 for amount in left.values()):
            over.append(node.name)
        rest[node.name] = {key: amount for key, amount in left.items() if amount > 0}
    return rest, over


def shapes(
    cluster: ClusterRecord,
    rules: Sequence[Rules],
    kinds: Sequence[CardKinds] = (),
    visible: Collection[str] = (),
) -> list[Shape]:
    """The shapes of the nodes in service, in order of name.

    Parameters
    ----------
    rules : the different rules of all workloads.
    kinds : labels that tell kinds of cards apart.
    visible : labels that something else can see, such as a flavor of a quota.
    """
    rest, _ = left_over(cluster)
    keys = sorted(
        {key for own in rules for key, _ in own.selector}
        | {n.key for own in rules for term in own.terms or () for n in term if not n.field}
    )
    names = {name for own in rules for name in own.names}
    known: dict[Any, tuple[tuple[str, ...], ...]] = {}
    groups: dict[Any, list[Node]] = defaultdict(list)
    for node in cluster.nodes:
        if node.out:
            continue
        seen = tuple(node.labels.get(key) for key in keys)
        own_name = node.name if node.name in names else ""
        looks = seen, node.taints, own_name
        if looks not in known:
            known[looks] = tuple(
                tuple(own.refusals(node.name, node.labels, node.taints)) for own in rules
            )
        card = tuple((own.resource, own.of(node)) for own in kinds if own.of(node))
        shown = tuple((key, node.labels[key]) for key in sorted(visible) if key in node.labels)
        amounts = tuple(sorted(rest[node.name].items()))
        groups[amounts, tuple(not words for words in known[looks]), card, shown].append(node)
    found, types = [], _types([node for members in groups.values() for node in members])
    for (amounts, _, card, shown), members in groups.items():
        # nodes may be refused for different reasons; the reasons of the first are told
        first = min(members, key=lambda node: node.name)
        looks = (
            tuple(first.labels.get(k) for k in keys),
            first.taints,
            (first.name if first.name in names else ""),
        )
        found.append(
            Shape(
                _named(members, dict(amounts), types),
                sum(node.count for node in members),
                dict(amounts),
                _members(members),
                known[looks],
                card,
                shown,
            )
        )
    return list(_numbered(sorted(found, key=_order)))


SLACK = 1e-9
"""part by which floats of amounts tell them apart for sure"""


LEAST_NORMAL = 1e-300
"""least float of which that is so: of smaller ones digits may be lost"""


class Offers:
    """What shapes offer, to ask of many tasks where they fit.

    Parameters
    ----------
    rows : the shapes.
    """

    def __init__(self, rows: Sequence[Shape]) -> None:
        self.rows = rows
        self._known: dict[str, Any] = {}

    def fits(self, demand: Amounts) -> list[bool]:
        """For each shape, whether one of its machines has all that a task asks for."""
        some, sure = np.ones((2, len(self.rows)), dtype=bool)
        for key, amount in demand.items():
            if key not in self._known:
                offered = [_float(row.capacity.get(key, 0)) for row in self.rows]
                self._known[key] = np.array(offered)
            about = _float(amount)
            some &= self._known[key] >= about * (1 - SLACK)
            sure &= (self._known[key] >= about * (1 + SLACK)) & (LEAST_NORMAL < about < np.inf)
        for i in np.flatnonzero(some & ~sure).tolist():
            row = self.rows[i]
            some[i] = all(reaches(row.capacity.get(key, 0), x) for key, x in demand.items())
        found: list[bool] = some.tolist()
        return found


def _float(amount: Fraction | int) -> float:
    """The float next to an amount; inf of one that is larger than any."""
    try:
        return float(amount)
    except OverflowError:
        return float("inf")


def _members(nodes: Sequence[Node]) -> tuple[tuple[str, int], ...]:
    """(name, count) in order; entries without a name become one."""
    unnamed = sum(node.count for node in nodes if not node.name)
    named = sorted((node.name, node.count) for node in nodes if node.name)
    return ((("", unnamed),) if unnamed else ()) + tuple(named)


def _order(shape: Shape) -> tuple[Any, ...]:
    return (
        shape.name,
        tuple(shape.capacity.items()),
        shape.refused,
        shape.kinds,
        shape.labels,
        shape.count,
        shape.members,
    )


def _types(nodes: Iterable[Node]) -> set[str]:
    """Types that say what a machine is: all of one have the same resources, and about as much."""
    least: dict[str, Amounts] = {}
    most: dict[str, Amounts] = {}
    other = {""}
    for node in nodes:
        own = node.labels.get(TYPE, "")
        low, high = (found.setdefault(own, dict(node.allocatable)) for found in (least, most))
        if low.keys() != node.allocatable.keys():
            other.add(own)
            continue
        for key, amount in node.allocatable.items():
            low[key], high[key] = min(low[key], amount), max(high[key], amount)
            if high[key] > ALIKE * low[key]:
                other.add(own)
    return least.keys() - other


def _named(members: Sequence[Node], capacity: Amounts, known: Collection[str]) -> str:
    """The type of all members if they have one and the same, else what one offers."""
    types = {node.labels.get(TYPE, "") for node in members}
    if len(types) == 1 and (only := types.pop()) in known:
        return only
    words = [
        short(key, float(amount)) + ("" if key == MEMORY else key.rpartition("/")[2])
        for key, amount in capacity.items()
        if key in (CPU, MEMORY) or "/" in key
    ]
    return "-".join(words) or "nothing"


def _numbered(found: Iterable[Shape]) -> Iterable[Shape]:
    """The shapes with names of their own: "big", "big-2", ..."""
    used: set[str] = set()
    for shape in found:
        name, k = shape.name, 1
        while name in used:
            k += 1
            name = f"{shape.name}-{k}"
        used.add(name)
        yield Shape(name, *list(vars(shape).values())[1:])
