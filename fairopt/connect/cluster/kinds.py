"""Kinds of cards: one resource name, told apart by a label of the node (`--gpu-kind`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairopt.connect.cluster.nodes import Node
from fairopt.errors import BadInput, Fault, UsageError

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
