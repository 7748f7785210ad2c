"""Objects of Volcano as kubectl prints them: Queue and PodGroup (scheduling.volcano.sh/v1beta1).

Queues of KAI (`fairopt.connect.readers.kai`) are kept as queues of the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt.connect.text.fields import Amounts, CheckedFields, named
from fairopt.instance.reading import Faults

API = "scheduling.volcano.sh/"
KINDS = ("Queue", "PodGroup")
QUEUE, GROUP = "scheduling.volcano.sh/queue-name", "scheduling.k8s.io/group-name"
"""annotations of a pod: its queue, and the PodGroup that it belongs to"""
ROOT, DEFAULT = "root", "default"
"""the queue above all others, and the one of a PodGroup that names none"""
MOST_WEIGHT = 65535


@dataclass(frozen=True)
class VolcanoQueue:
    """A queue: amounts are exact, and a resource that is not named is not in them.

    Parameters
    ----------
    name : its name; parent : the queue above; empty for the root.
    weight : among its siblings.
    priority : a higher one is served first, over what all are promised.
    deserved : lent while idle, and taken back when asked for.
    guarantee : kept for the queue even while it is idle.
    capability : the most that it may use.
    """

    name: str
    parent: str = ROOT
    weight: int | Fraction = 1
    priority: int = 0
    deserved: Mapping[str, Fraction] = field(default_factory=dict)
    guarantee: Mapping[str, Fraction] = field(default_factory=dict)
    capability: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass
class VolcanoQueues:
    """Everything of Volcano that was read."""

    faults: Faults
    queues: dict[str, VolcanoQueue] = field(default_factory=dict)
    groups: dict[tuple[str, str], str] = field(default_factory=dict)
    kai: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.queues)

    def take(self, kind: str, data: Mapping[str, Any], place: str) -> None:
        """Take one object; faults are added with its name and field."""
        space, name = named(data, place, self.faults, spaced=kind == "PodGroup")
        whom = f"{kind} {space}/{name}" if space else f"{kind} {name}"
        spec = CheckedFields(data, whom if name else place, self.faults).table("spec")
        again = (space, name) in self.groups if kind == "PodGroup" else name in self.queues
        if again and name:
            self.faults.add(whom, "this name a second time", "every name once")
        if kind == "PodGroup":
            self.groups[space, name] = spec.text("queue") or DEFAULT
            return
        self.queues[name] = VolcanoQueue(
            name,
            "" if name == ROOT else spec.text("parent") or ROOT,
            _whole(spec, "weight", 1, MOST_WEIGHT, 1),
            _whole(spec, "priority", None, None, 0),
            _amounts(spec, "deserved"),
            _amounts(spec.table("guarantee"), "resource"),
            _amounts(spec, "capability"),
        )

    def add(self, own: VolcanoQueue) -> None:
        """Add a queue of KAI."""
        if own.name in self.queues:
            self.faults.add(f"Queue {own.name}", "this name a second time", "every name once")
        self.queues[own.name] = own
        self.kai.add(own.name)

    def weights(self) -> dict[str, float]:
        """The weight of every queue."""
        return {name: float(own.weight) for name, own in self.queues.items()}

    def queue_of(self, space: str, queue: str, group: str) -> str | None:
        """The queue of a pod: that of its PodGroup, else the one it names; empty for a pod outside
        of Volcano, None where its PodGroup is not given and nothing else is said."""
        if group and (space, group) in self.groups:
            return self.groups[space, group]
        return None if group and not queue else queue

    def check(self) -> None:
        """Add the faults between objects: unknown parents, circles, promises above ceilings."""
        for name, own in self.queues.items():
            seen, at = [name], own.parent
            if at and at != ROOT and at not in self.queues:
                self.faults.add(f"Queue {name}.spec.parent", repr(at), "a Queue that is given")
            while at in self.queues and at not in seen:
                seen.append(at)
                at = self.queues[at].parent
            if 0 < len(self.kai) < len(self.queues) and name in self.kai:
                self.faults.add(f"Queue {name}", "one of KAI beside Volcano's", "one scheduler")
            if at == name:
                circle = " -> ".join([*seen, name])
                self.faults.add(f"Queue {name}", f"the circle {circle}", "parents in no circle")
            for key in ("deserved", "guarantee"):
                for resource, amount in getattr(own, key).items():
                    most = own.capability.get(resource)
                    if most is not None and amount > most:
                        self.faults.add(
                            f"Queue {name}.spec.{key}",
                            f"{float(amount):g} {resource}",
                            f"at most its capability, {float(most):g}",
                        )


def _whole(
    given: CheckedFields, key: str, least: int | None, most: int | None, default: int
) -> int:
    value = given.data.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        given.wrong(key, "a whole number")
        return default
    if (least is not None and value < least) or (most is not None and value > most):
        given.wrong(key, f"a whole number from {least} to {most}")
        return default
    return value


def _amounts(given: CheckedFields, key: str) -> Amounts:
    """A table of quantities, with those of 0: none of it is something else than nothing said."""
    found = given.amounts(key)
    return {name: found.get(name, Fraction(0)) for name in given.table(key).data}
