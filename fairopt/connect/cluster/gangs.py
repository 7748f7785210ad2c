"""The gangs that pods are in, by the objects that say how large they are, and pods apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.pods import Pod
from fairopt.connect.cluster.record import Workload
from fairopt.connect.cluster.together import (
    APART,
    FEWER,
    GANGS,
    GROUPS,
    HOST,
    JOB,
    OWN,
    QUEUE_OF_JOB,
    Group,
    Selector,
    Topology,
    Zones,
    meets,
    tag_of,
)
from fairopt.connect.text.fields import CheckedFields, named
from fairopt.instance.reading import Faults

MOST_ZONES = 100
"""zones over which tasks are spread"""
NONE = "no zone"
"""what is called a zone that is not there and counts as an empty one (minDomains)"""


@dataclass
class Bindings:
    """What binds the pods that were read, and the objects that say how large gangs are."""

    faults: Faults
    size: dict[Group, int] = field(default_factory=dict)
    group: dict[str, Group] = field(default_factory=dict)
    """of pods by their full names"""
    seen: set[tuple[str, frozenset[tuple[str, str]], tuple[str, ...]]] = field(default_factory=set)
    selectors: dict[str, tuple[str, Selector]] = field(default_factory=dict)
    spread: dict[str, tuple[Topology, ...]] = field(default_factory=dict)
    """of pods that are spread, by their full names"""

    @staticmethod
    def knows(kind: Any, api: str) -> bool:
        """Whether an object says how large a gang is."""
        if kind == "Job":
            return api.startswith(JOB)
        return kind == "PodGroup" and any(own and api.startswith(own) for own in GROUPS.values())

    def take(self, data: Mapping[str, Any], place: str) -> None:
        """Take a Job or a PodGroup."""
        space, name = named(data, place, self.faults, spaced=True)
        kind, api = str(data.get("kind")), str(data.get("apiVersion", ""))
        given = CheckedFields(data, f"{kind} {space}/{name}" if name else place, self.faults)
        spec, meta = given.table("spec"), given.table("metadata")
        if kind == "PodGroup":
            own = next(own for own in GROUPS.values() if own and api.startswith(own))
            self.size[own, space, name] = _whole(spec, "minMember", 1)
        elif (
            QUEUE_OF_JOB in meta.table("labels").data
            and FEWER not in meta.table("annotations").data
        ):
            many = _whole(spec, "parallelism", 1)
            self.size[JOB, space, name] = min(many, _whole(spec, "completions", many))

    def pod(self, found: Pod, full: str) -> None:
        """Take what a pod says."""
        own = found.binds
        if own.group is not None:
            self.group[full] = own.group
            if own.size:
                self.size[own.group] = own.size
        labels = frozenset((key, x) for key, x in found.labels.items() if key not in OWN)
        tags = (*own.alone, *(each.tag for each in own.spread))
        self.seen.add((found.namespace, labels, tags))
        for each in (*own.apart, *own.counted):
            self.selectors[tag_of(found.namespace, each)] = (found.namespace, each)
        if own.spread:
            self.spread[full] = own.spread

    def bind(self, work: Iterable[Workload], nodes: Collection[Node]) -> Iterator[tuple[str, str]]:
        """Say in each workload what binds its tasks; (why, pod) of what is not modelled."""
        work = list(work)
        live = Counter(self.group.values())
        broken = {
            tag
            for tag, (space, own) in self.selectors.items()
            for where, labels, tags in self.seen
            if where == space and tag not in tags and meets(own, dict(labels))
        }
        spread = {id(own): self._spread(own) for own in work}
        many = Counter(tag for own in spread.values() for tag in {each.tag for each in own})
        broken |= {tag for tag, count in many.items() if count > 1}  # of several workloads
        for own in work:
            pods = [name for names in own.pods.values() for name in names]
            gang, least = self._gang(pods, live)
            if gang is None:
                yield from ((GANGS, name) for name in pods if self._bound(name))
            if lost := broken & set(own.together.alone):
                yield from ((APART, name) for name in pods)
            alone = tuple(tag for tag in own.together.alone if tag not in lost)
            own.together = replace(own.together, gang=gang or 1, alone=alone, at_least=least)
            for each in spread[id(own)]:
                left = str(each) if each.tag in broken else spread_over(own, each, nodes)
                if left:
                    yield from ((left, name) for name in pods)

    def _spread(self, own: Workload) -> tuple[Topology, ...]:
        """Over what the pods of a workload are spread, which all say the same."""
        names = (name for each in own.pods.values() for name in each)
        return next((self.spread[name] for name in names if name in self.spread), ())

    def _bound(self, name: str) -> bool:
        """Whether a pod is in a gang: of a Job only where Kueue admits it as a whole."""
        group = self.group.get(name)
        return group is not None and (group[0] != JOB or group in self.size)

    def _gang(self, pods: list[str], live: Mapping[Group, int]) -> tuple[int | None, int]:
        """Pods that run together or not at all, and the fewest that run at all.

        1 for none; None and 1 where it is not modelled so.
        """
        groups = Counter(self.group[name] for name in pods if self._bound(name))
        if not groups:
            return 1, 1
        sizes = {self.size.get(group) for group in groups}
        whole = all(live[g] == k == self.size.get(g) for g, k in groups.items())
        if sum(groups.values()) == len(pods) and len(sizes) == 1:
            size = sizes.pop()
            if size is not None and whole:
                return size, 1
            (group, many), *others = groups.items()
            if size is not None and not others and live[group] == many and 0 < size < many:
                return 1, size
        return None, 1


def spread_over(own: Workload, each: Topology, nodes: Collection[Node]) -> str:
    """Say in a workload over what it is spread; what of it is not modelled, in words."""
    there = [
        node
        for node in nodes
        if each.key in node.labels
        and (
            not each.rules
            or not own.rules.refused(node.name, node.labels, node.taints if each.taints else ())
        )
        and not (each.taints and node.out)
    ]
    zones = sorted({node.labels[each.key] for node in there})
    if len(zones) == len(there) and (each.key == HOST or len(zones) > MOST_ZONES):
        if own.asked is None:
            return str(each)
        # of so many tasks some node has no more than the mean, and none more than the skew beside
        # it; with fewer tasks than nodes that is all there is to it
        low = 0 if len(zones) < each.least else own.asked // max(len(zones), 1)
        most = min(low + each.skew, own.together.per_node or low + each.skew)
        own.together = replace(own.together, per_node=most)
        return f"{each}, except at most {most} on a node" if low else ""
    if own.together.spread is not None or len(zones) > MOST_ZONES:
        return str(each)
    zones += [f"{NONE} {k}" for k in range(1, each.least - len(zones) + 1)][:1]
    found = Zones(each.key, each.skew, tuple((zone, ()) for zone in zones))
    own.together = replace(own.together, spread=found)
    return ""


def _whole(given: CheckedFields, key: str, default: int) -> int:
    value = given.data.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        given.wrong(key, "a whole number >= 0")
        return default
    return value
