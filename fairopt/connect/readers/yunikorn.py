"""Queues of Apache YuniKorn, in the terms of a promise: its configuration, and what it prints.

The configuration (queues.yaml, by itself or in the ConfigMap `yunikorn-configs`) has partitions of
queues in queues; `/ws/v1/partition/default/queues` prints the same tree with the queues that were
made while it runs. `guaranteed` is given first (a floor), `max` is a ceiling, `priority.offset`
adds up from the root down and orders what is over the guarantees. All weights are 1.

Source: YuniKorn, "Partition and Queue Configuration" and "Labels and Annotations".
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.pods import Pod
from fairopt.connect.readers.volcano import ROOT, VolcanoQueue, VolcanoQueues
from fairopt.connect.text import streams
from fairopt.connect.text.fields import CPU, Amounts, CheckedFields
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults, shown

FILE, NAME = "queues.yaml", "queuename"
"""the key of a ConfigMap that holds the configuration, and that of a queue that is printed"""
TERMS = {"deserved": "resources.guaranteed", "capability": "max"}
QUEUE, APPLICATION = "yunikorn.apache.org/queue", "yunikorn.apache.org/app-id"
_APPLICATIONS, _QUEUE = ("applicationId", "spark-app-selector"), "queue"
LIMITS = "limits of users and of applications in queues of YuniKorn"
FENCES = "priorities inside fences of YuniKorn"
_FORM = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}", re.ASCII)
_OFFSET, _POLICY, _SORTED = "priority.offset", "priority.policy", "application.sort.priority"


def known(data: Any) -> bool:
    """Whether an object is the configuration of YuniKorn, a ConfigMap of it, or printed queues."""
    if not isinstance(data, Mapping):
        return False
    if data.get("kind") == "ConfigMap":
        inside = data.get("data")
        return isinstance(inside, Mapping) and FILE in inside
    return "kind" not in data and ("partitions" in data or NAME in data)


def application(pod: Pod) -> tuple[str, str]:
    """(queue, application) that a pod names; empty texts for none.

    The label `queue` has many meanings: it counts for a pod that names its application.
    """
    labels, notes = pod.labels, pod.annotations
    app = labels.get(APPLICATION) or str(notes.get(APPLICATION) or "")
    app = app or next((labels[key] for key in _APPLICATIONS if labels.get(key)), "")
    queue = labels.get(QUEUE) or str(notes.get(QUEUE) or "")
    return queue or (labels.get(_QUEUE, "") if app else ""), app


@dataclass(frozen=True)
class _Above:
    """What a queue takes from those above it.

    Parameters
    ----------
    name : of the queue above, in full; empty above the root.
    priority : the sum of the offsets so far.
    ordered : whether priorities order what is below.
    fenced : whether a fence above hides them from the outside.
    """

    name: str = ""
    priority: int = 0
    ordered: bool = True
    fenced: bool = False


class YuniKorn:
    """Queues of YuniKorn that are read into those of a cluster.

    Parameters
    ----------
    queues : where they are added.
    beyond : what is not modelled -> names of the queues.
    """

    def __init__(self, faults: Faults, queues: VolcanoQueues, beyond: dict[str, list[str]]) -> None:
        self.faults, self.queues, self.beyond = faults, queues, beyond

    def take(self, data: Mapping[str, Any], place: str) -> None:
        """Take what `known` knows; faults are added with the queue's name and the field."""
        if data.get("kind") == "ConfigMap":
            for inner in self._inside(CheckedFields(data, place, self.faults)):
                self.take(inner, f"{place}.data.{FILE}")
            return
        given = CheckedFields(data, place, self.faults)
        if NAME in data:
            self._queue(given, _Above(), printed=True)
            return
        partitions = list(given.tables("partitions"))
        if len(partitions) != 1:
            wanted = "one partition: on Kubernetes there is no other"
            self.faults.add(given.at("partitions"), f"{len(partitions)} of them", wanted)
        for partition in partitions:
            top = list(partition.tables("queues"))
            if [own.data.get("name") for own in top] == [ROOT]:
                self._queue(top[0], _Above())
                continue
            self._add(VolcanoQueue(ROOT, ""))
            for own in top:
                self._queue(own, _Above(ROOT))

    def _inside(self, given: CheckedFields) -> Iterator[Mapping[str, Any]]:
        """The configuration in a ConfigMap."""
        text = given.table("data").text(FILE).encode()
        try:
            found = list(streams.objects(io.BytesIO(text), text[:64], f"{given.path}.data.{FILE}"))
        except BadInput as error:
            self.faults.found.extend(error.faults)
            return
        for _, data, _ in found:
            if isinstance(data, Mapping) and "partitions" in data:
                yield data
            else:
                self.faults.add(f"{given.path}.data.{FILE}", shown(data), "a table of partitions")

    def _queue(self, given: CheckedFields, above: _Above, printed: bool = False) -> None:
        name = given.text(NAME if printed else "name")
        last = name.removeprefix(f"{above.name}.") if printed and above.name else name
        if not _FORM.fullmatch(last):
            given.wrong(NAME if printed else "name", "a queue's name without points, 64 letters")
            return
        full = f"{above.name}.{last}" if above.name else last
        own = CheckedFields(given.data, f"Queue {full}", self.faults)
        said = own.strings("properties") if printed else _texts(own.table("properties"))
        offset = said.get(_OFFSET, "0")
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", offset, re.ASCII):
            self.faults.add(f"Queue {full}.properties.{_OFFSET}", shown(offset), "a whole number")
            offset = "0"
        if above.fenced and int(offset):
            self.beyond.setdefault(FENCES, []).append(full)
        ordered = above.ordered and not above.fenced
        priority = above.priority + (int(offset) if ordered else 0)
        limited = any(own.data.get(key) for key in ("limits", "maxapplications", "maxRunningApps"))
        if limited:
            self.beyond.setdefault(LIMITS, []).append(full)
        children = list(own.tables("children" if printed else "queues"))
        amounts = own if printed else own.table("resources")
        keys = ("guaranteedResource", "maxResource") if printed else ("guaranteed", "max")
        floor, ceiling = (_amounts(amounts, key, printed) for key in keys)
        if full == ROOT and not printed and (floor or ceiling):
            self.faults.add(f"Queue {ROOT}.resources", "amounts", "none: it is the whole cluster")
        if full == ROOT or not any(ceiling.values()):
            ceiling = {}
        if full == ROOT:
            floor = {}
        floor = {key: amount for key, amount in floor.items() if amount}
        self._add(VolcanoQueue(full, above.name, 1, priority, floor, {}, ceiling))
        if children or own.data.get("parent") is True:
            self.queues.parents.add(full)
        inside = said.get(_SORTED, "enabled" if above.ordered else "disabled") != "disabled"
        fenced = above.fenced or (said.get(_POLICY) == "fence" and bool(children))
        for child in children:
            self._queue(child, _Above(full, priority, inside, fenced), printed)

    def _add(self, own: VolcanoQueue) -> None:
        if own.name in self.queues.queues:
            self.faults.add(f"Queue {own.name}", "this name a second time", "every name once")
        self.queues.queues[own.name] = own
        self.queues.yunikorn.add(own.name)
        self.queues.terms = TERMS


def _texts(given: CheckedFields) -> dict[str, str]:
    """Properties, whose values may be written as numbers and words."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.data.items()
        if isinstance(value, str | bool | int | Decimal)
    }


def _amounts(given: CheckedFields, key: str, printed: bool) -> Amounts:
    """A table of amounts with those of 0; `vcore` is printed in thousandths of a core."""
    found = given.amounts(key)
    units = {"vcore": (CPU, Fraction(1, 1000) if printed else Fraction(1))}
    amounts: Amounts = {}
    for name in given.table(key).data:
        resource, unit = units.get(name, (name, Fraction(1)))
        amounts[resource] = found.get(name, Fraction(0)) * unit
    return amounts
