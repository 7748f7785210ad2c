"""A node as `kubectl get nodes` prints it: what it offers, and who may use it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairopt.connect.cluster.eligible import BINDING, Taint
from fairopt.connect.text.fields import Amounts, CheckedFields, named
from fairopt.errors import BadInput, Fault, UsageError
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


# Kinds of cards: one resource name, told apart by a label of the node (`--gpu-kind`).


WANTED = "LABEL=KIND:SPEED,KIND:SPEED, such as nvidia.com/gpu.product=A100:1,T4:.4"


@dataclass(frozen=True)
class CardKinds:
    """How fast a task runs on each kind of card, beside the fastest.

    Parameters
    ----------
    label : the label whose value is the kind.
    resource : the cards' resource, such as nvidia.com/gpu: the label without its last part.
    speed : speed of each kind, > 0.
    """

    label: str
    resource: str
    speed: Mapping[str, float] = field(default_factory=dict)

    def of(self, node: Node) -> str:
        """The kind of a node's cards; empty if it has none."""
        return node.labels.get(self.label, "") if self.resource in node.allocatable else ""


def parsed(text: str) -> CardKinds:
    """Kinds of the option's text.

    Raises
    ------
    UsageError : not of the form, a kind twice, or a speed that is not above 0.
    """
    label, _, listed = text.partition("=")
    resource = label.rpartition(".")[0]
    speed: dict[str, float] = {}
    for part in listed.split(",") if resource else ():
        kind, _, number = part.rpartition(":")
        try:
            speed[kind] = float(number) if kind and kind not in speed else math.nan
        except ValueError:
            speed[kind] = math.nan
    if not speed or not all(0 < a < math.inf for a in speed.values()):
        raise UsageError(f"gpu-kind: found {text!r}; wanted {WANTED}")
    return CardKinds(label, resource, speed)


def check(kinds: Sequence[CardKinds], nodes: Sequence[Node]) -> None:
    """Raise BadInput where a node's cards are of a kind whose speed is not given."""
    faults = [
        Fault(
            f"node {node.name}.metadata.labels.{own.label}",
            repr(own.of(node)),
            f"one of {', '.join(own.speed)} (--gpu-kind)",
        )
        for own in kinds
        for node in nodes
        if own.resource in node.allocatable and own.of(node) not in own.speed
    ]
    if faults:
        raise BadInput(faults)
