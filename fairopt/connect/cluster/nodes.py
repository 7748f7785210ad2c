"""A node as `kubectl get nodes` prints it: what it offers, and who may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairopt.connect.cluster.eligible import BINDING, Taint
from fairopt.connect.text.fields import Amounts, CheckedFields, named
from fairopt.files.quantities import scheduled
from fairopt.instance.reading import Faults

EFFECTS = (*BINDING, "PreferNoSchedule")
DELETED = "deleted"
"""why a node is out that pods are bound to and that is none of the nodes"""
LEAVING = ("ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted")
"""taints by which an autoscaler says that it empties the node and takes it away"""


@dataclass(frozen=True)
class Node:
    """One machine.

    Parameters
    ----------
    name : its name.
    allocatable : what pods may ask of it in all, by resource, as the scheduler counts it.
    labels : its labels.
    taints : those that keep pods off (NoSchedule, NoExecute), in order.
    out : why nothing new may run there ("cordoned", "not ready"); empty if it may.
    count : how many machines the entry stands for; tables have such rows, Kubernetes has not.
    """

    name: str
    allocatable: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    out: str = ""
    count: int = 1


def node(data: Mapping[str, Any], place: str, faults: Faults) -> Node:
    """A node of an object of kind Node; faults are added, with the node's name and the field."""
    _, name = named(data, place, faults, spaced=False)
    given = CheckedFields(data, f"node {name}" if name else place, faults)
    spec, status = given.table("spec"), given.table("status")
    if "allocatable" not in status:
        status.wrong("allocatable", "a table of quantities: what pods may ask of the node")
    amounts = status.amounts("allocatable")
    return Node(
        name,
        {key: scheduled(key, amounts[key]) for key in sorted(amounts)},
        given.table("metadata").strings("labels"),
        tuple(sorted(_taints(spec))),
        _out(given.table("metadata"), spec, status),
    )


def _taints(spec: CheckedFields) -> list[Taint]:
    found = []
    for taint in spec.tables("taints"):
        effect = taint.text("effect")
        if effect not in EFFECTS:
            taint.wrong("effect", f"one of {', '.join(EFFECTS)}")
        if not taint.text("key"):
            taint.wrong("key", "the key of the taint")
        if effect in BINDING:
            found.append(Taint(taint.text("key"), taint.text("value"), effect))
    return found


def _out(meta: CheckedFields, spec: CheckedFields, status: CheckedFields) -> str:
    taints = {taint.text("key") for taint in spec.tables("taints")}
    if "deletionTimestamp" in meta or not taints.isdisjoint(LEAVING):
        return "draining"
    if spec.flag("unschedulable"):
        return "cordoned"
    ready = [c.text("status") for c in status.tables("conditions") if c.text("type") == "Ready"]
    if not ready:
        return "no condition Ready"
    return "" if ready[-1] == "True" else "not ready"
