"""Queues of KAI-Scheduler as kubectl prints them (scheduling.run.ai), in the terms of a promise.

Amounts are GPUs, thousandths of a core and millions of bytes. A `quota` is given first (a floor);
what is over all quotas is divided by `overQuotaWeight`, class by class of `priority`, on top of the
quotas (`over = "above"`). -1 is no bound; what is not said is 0: no quota, nothing beyond it, and a
weight of 0, which gets nothing beyond the quota either. KAI divides each resource by itself; here a
queue has one weight, the largest it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairopt.connect.readers.volcano import ROOT, VolcanoQueue
from fairopt.connect.text.fields import CPU, GPU, MEMORY, CheckedFields, named
from fairopt.files.quantities import NoQuantity, quantity
from fairopt.instance.reading import Faults

API = "scheduling.run.ai/"
QUEUE = "kai.scheduler/queue"
"""label of a pod that names its queue"""
RESOURCES = {
    "gpu": (GPU, Fraction(1)),
    "cpu": (CPU, Fraction(1, 1000)),
    "memory": (MEMORY, Fraction(10**6)),
}
"""KAI's names: the resource of a pod, and how much of it one of KAI's units is"""
PRIORITY = 100
"""of a queue that names none"""
UNLIMITED = -1
WANTED = "a number >= 0, or -1 for no bound"


def queue(data: Mapping[str, Any], place: str, faults: Faults) -> VolcanoQueue:
    """A queue of an object of kind Queue; faults are added, with its name and the field."""
    _, name = named(data, place, faults, spaced=False)
    spec = CheckedFields(data, f"Queue {name}" if name else place, faults).table("spec")
    priority = spec.data.get("priority")
    if priority is None:
        priority = PRIORITY
    elif isinstance(priority, bool) or not isinstance(priority, int):
        spec.wrong("priority", "a whole number")
        priority = PRIORITY
    deserved: dict[str, Fraction] = {}
    capability: dict[str, Fraction] = {}
    weight = Fraction(0)
    given = spec.table("resources")
    for key in given.data:
        if key not in RESOURCES:
            given.wrong(key, f"no resource but {', '.join(RESOURCES)}")
    for key, (resource, unit) in RESOURCES.items():
        own = given.table(key)
        quota, limit = _number(own, "quota"), _number(own, "limit")
        share = _number(own, "overQuotaWeight")
        weight = max(weight, share or Fraction(0))
        if quota is not None:  # a quota without bound holds nobody back, and promises all there is
            deserved[resource] = quota * unit
        if quota is not None and share == 0:
            capability[resource] = quota * unit
        elif quota is not None and limit is not None:
            capability[resource] = max(quota, limit) * unit
    return VolcanoQueue(
        name,
        spec.text("parentQueue") or ROOT,
        weight or Fraction(1),
        priority,
        deserved,
        {},
        capability,
    )


def _number(given: CheckedFields, key: str) -> Fraction | None:
    """A number, 0 where it is not said; None for no bound."""
    value = given.data.get(key)
    if value is None:
        return Fraction(0)
    if value == UNLIMITED:
        return None
    try:
        return quantity(str(value) if isinstance(value, float) else value)
    except NoQuantity as error:
        given.faults.add(given.at(key), str(error), WANTED)
        return Fraction(0)
