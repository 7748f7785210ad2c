"""A cluster as it is: nodes, workloads, what each runs where, and what is set aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairopt.connect.cluster.eligible import Rules
from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.together import Together
from fairopt.connect.readers.kueue import Queues
from fairopt.connect.readers.volcano import VolcanoQueues
from fairopt.connect.text.fields import Amounts


@dataclass
class Workload:
    """Tasks that are all alike: one owner, one request, the same rules.

    Parameters
    ----------
    queue : the group it belongs to, such as its namespace.
    name : what it is called in its queue.
    demand : what one task takes, by resource.
    rules : which nodes its tasks may run on.
    waiting : tasks that wait for a place; None where any number of tasks would be used.
    held : tasks it runs now, by node.
    pods : names of its tasks by node, those that wait by ""; empty where names are not known.
    weight : its weight among the workloads of its queue.
    together : gangs, and how many of its tasks a node may hold.
    """

    queue: str
    name: str
    demand: Amounts
    rules: Rules = field(default_factory=Rules)
    waiting: int | None = 0
    held: dict[str, int] = field(default_factory=dict)
    weight: float = 1.0
    pods: dict[str, list[str]] = field(default_factory=dict)
    together: Together = Together()

    @property
    def asked(self) -> int | None:
        """Tasks held and waiting together; None for any number."""
        return None if self.waiting is None else self.waiting + sum(self.held.values())


@dataclass(frozen=True)
class Undivided:
    """A pod that is not divided: what it takes is taken off its node first."""

    node: str
    name: str
    why: str
    request: Amounts


@dataclass(frozen=True, order=True)
class QueueCeiling:
    """The most that a queue may ask of a resource, by a quota of its scheduler."""

    queue: str
    name: str
    resource: str
    most: Fraction


@dataclass
class ClusterRecord:
    """What was read.

    Parameters
    ----------
    nodes : every machine, those that are out as well.
    workloads : what is to be divided, in order of queue, name and demand.
    undivided : pods whose place is not divided, in order of node and name.
    beyond : what is not modelled -> names of the pods that it binds (see `sources.NOUNS`).
    weights : weight of each queue; 1 for those that are not named.
    ceilings : quotas, in order.
    kueue : queues, cohorts and flavors of Kueue, if there are any.
    volcano : queues of Volcano, if there are any.
    cards : resources of which 1 is a card: a task takes part of a single one, or whole ones.
    """

    nodes: list[Node]
    workloads: list[Workload]
    undivided: list[Undivided] = field(default_factory=list)
    beyond: dict[str, list[str]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    ceilings: list[QueueCeiling] = field(default_factory=list)
    kueue: Queues | None = None
    volcano: VolcanoQueues | None = None
    cards: tuple[str, ...] = ()

    @property
    def queues(self) -> list[str]:
        """Names of the queues, in order."""
        return sorted({w.queue for w in self.workloads})
