"""Workloads of Kueue, and their events: `kubectl get workloads,events -A -o json`.

A workload's conditions keep the last change of each alone: that it was admitted before it was
preempted and admitted again is known only from its events (Admitted, EvictedDueTo..., Preempted).
Where events have expired, what the conditions say is all there is. Flavors that it was admitted to
may name servers or modes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from fairopt.connect.readers.job import Job, when
from fairopt.files.quantities import NoQuantity, quantity
from fairopt.instance import Instance
from fairopt.instance.reading import Faults

WANTED = "kubectl get workloads,events -A -o json"
BEGINS, ENDS = ("Admitted",), ("Evicted", "Preempted", "Finished")
"""reasons of events, or how they begin, with which a workload begins and ceases to run"""
Times = dict[tuple[str, str], list[tuple[datetime, bool]]]
"""{namespace and name of a workload: [time, whether it begins to run]}"""


def kueue(content: str, instance: Instance, faults: Faults) -> list[Job]:
    """The workloads of a text, each with all runs that are known."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        faults.add("file", f"text that is not JSON ({error})", WANTED)
        return []
    items = data.get("items") if isinstance(data, Mapping) else None
    if not isinstance(items, list):
        faults.add("items", "none", WANTED)
        return []
    events: Times = {}
    found: list[tuple[int, Any]] = []
    for k, item in enumerate(items):
        if isinstance(item, Mapping) and item.get("kind") == "Event":
            _event(item, events, f"items[{k}]", faults)
        else:
            found.append((k, item))
    return list(_workloads(found, events, instance, faults))


def _workloads(
    items: Iterable[tuple[int, Any]], events: Times, instance: Instance, faults: Faults
) -> Iterable[Job]:
    for k, item in items:
        here = f"items[{k}]"
        try:
            yield _workload(item, events, instance, here, faults)
        except (AttributeError, KeyError, TypeError, NoQuantity) as error:
            faults.add(here, f"something that is no workload ({error})", "a Workload of Kueue")


def _event(item: Mapping[str, Any], events: Times, here: str, faults: Faults) -> None:
    """An event of a workload, of either API; others are left out."""
    of = item.get("involvedObject") or item.get("regarding")
    reason = item.get("reason")
    if not isinstance(of, Mapping) or of.get("kind") != "Workload" or not isinstance(reason, str):
        return
    begins = reason in BEGINS
    if not begins and not reason.startswith(ENDS):
        return
    # an event that came several times has the first and the last alone
    times = [item.get(key) for key in ("firstTimestamp", "lastTimestamp", "eventTime")]
    known = {when(time, here, faults) for time in times if time}
    key = str(of.get("namespace", "")), str(of.get("name", ""))
    for time in known - {None}:
        assert time is not None
        events.setdefault(key, []).append((time, begins))


def _workload(item: Any, events: Times, instance: Instance, here: str, faults: Faults) -> Job:
    spec, status = item["spec"], item.get("status") or {}
    own = item["metadata"]
    changed = {c["type"]: c for c in status.get("conditions", ())}
    times = {
        kind: when(c["lastTransitionTime"], f"{here}.status.conditions", faults)
        for kind, c in changed.items()
        if c.get("status") == "True"
    }
    admission = status.get("admission") or {}
    people = set(instance.users)
    space = str(own.get("namespace", ""))
    queue = str(spec.get("queueName", ""))
    names = (f"{space}/{queue}", queue, admission.get("clusterQueue", ""))
    user = next((name for name in names if name in people), queue)
    assigned = admission.get("podSetAssignments") or ()
    places = {name for one in assigned for name in (one.get("flavors") or {}).values()}
    submit = when(own["creationTimestamp"], f"{here}.creationTimestamp", faults)
    end = times.get("Finished")
    known = list(events.get((space, str(own.get("name", ""))), ()))
    begun = times.get("Admitted", times.get("QuotaReserved"))
    known += [(time, True) for time in (begun,) if time is not None]
    known += [(time, False) for time in (times.get("Evicted"), end) if time is not None]
    return Job(
        user,
        tuple(sorted(places)),
        _amounts(spec, assigned, instance),
        submit or datetime.min.replace(tzinfo=UTC),
        tuple((start, until or end) for start, until in _runs(known)),
        end,
    )


def _runs(known: list[tuple[datetime, bool]]) -> tuple[tuple[datetime, datetime | None], ...]:
    """From when to when it ran: from the first time that it begins to the first that it ceases."""
    found: list[tuple[datetime, datetime | None]] = []
    start: datetime | None = None
    for time, begins in sorted(known):
        if begins and start is None:
            start = time
        elif not begins and start is not None:
            found.append((start, time))
            start = None
    return (*found, *(() if start is None else ((start, None),)))


def _amounts(spec: Any, assigned: Any, instance: Instance) -> dict[str, float]:
    """{resource: amount} of all pods: as admitted, else as requested."""
    amounts: dict[str, float] = {}

    def add(name: str, amount: float) -> None:
        own = name if name in instance.resources else name.rpartition("/")[2]
        amounts[own] = amounts.get(own, 0.0) + amount

    usage = [one.get("resourceUsage") for one in assigned]
    if usage and all(usage):
        for each in usage:
            for name, given in each.items():
                add(name, float(quantity(given)))
        return amounts
    for pods in spec.get("podSets", ()):
        for container in pods["template"]["spec"].get("containers", ()):
            for name, given in container.get("resources", {}).get("requests", {}).items():
                add(name, float(quantity(given)) * pods.get("count", 1))
    return amounts


__all__ = ["kueue"]
