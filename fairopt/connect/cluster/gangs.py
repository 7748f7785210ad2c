"""The gangs that pods are in, by the objects that say how large they are, and pods apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairopt.connect.cluster.pods import Pod
from fairopt.connect.cluster.record import Workload
from fairopt.connect.cluster.together import (
    APART,
    FEWER,
    GANGS,
    GROUPS,
    JOB,
    OWN,
    QUEUE_OF_JOB,
    Group,
    Selector,
    meets,
    tag_of,
)
from fairopt.connect.text.fields import CheckedFields, named
from fairopt.instance.reading import Faults


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
        self.seen.add((found.namespace, labels, own.alone))
        for each in own.apart:
            self.selectors[tag_of(found.namespace, each)] = (found.namespace, each)

    def bind(self, work: Iterable[Workload]) -> Iterator[tuple[str, str]]:
        """Say in each workload what binds its tasks; (why, pod) of what is not modelled."""
        work = list(work)
        live = Counter(self.group.values())
        broken = {
            tag
            for tag, (space, own) in self.selectors.items()
            for where, labels, tags in self.seen
            if where == space and tag not in tags and meets(own, dict(labels))
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
        return group is not None and (group[0] != JOB or group in self.size)

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


def _whole(given: CheckedFields, key: str, default: int) -> int:
    value = given.data.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        given.wrong(key, "a whole number >= 0")
        return default
    return value
