r"""Nominal quotas moved within a tree of Kueue, so that what is due is nobody's loan.

What a node passes up to its cohort is y, negative where it borrows:

.. math:: use + y_q \le quota_q, \quad y_c \le quota_c + \sum y, \quad -borrow \le y \le lend .

Take any y that admits a given use, and give every node quota - y of its own (a cohort what is left
of its quota and of what comes from below), borrow + y and lend - y: the same uses are admitted as
before, by the same flows less y, and the given use needs no loan. The ceiling of a queue, quota +
borrow, and its reserve, quota - lend, stay what they were, and so does the sum over the tree.
The y taken here moves little: nobody gives what it uses, and quota that nobody needs stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairopt.connect.readers.kueue import Pair, QueueNode, Queues, QuotaCell

NOTHING = Fraction(0)
Key = tuple[str, str]
"""("queue" or "cohort", name)"""


class NotAdmitted(Exception):
    """The quotas of a tree do not admit the use: whose, and how much is missing."""

    def __init__(self, key: Key, missing: Fraction) -> None:
        self.key, self.missing = key, missing
        super().__init__(f"{key[0]} {key[1]}: {float(missing):g} more than its quotas admit")


@dataclass(frozen=True)
class Forest:
    """Queues and cohorts as trees; a cohort that nobody gives is a root without quotas."""

    nodes: Mapping[Key, QueueNode]
    below: Mapping[Key, tuple[Key, ...]]

    @property
    def roots(self) -> tuple[Key, ...]:
        """The nodes without a parent."""
        return tuple(key for key, node in self.nodes.items() if not node.parent)


def forest(queues: Queues) -> Forest:
    """The trees of what was read."""
    nodes: dict[Key, QueueNode] = {
        ("cohort", name): own for name, own in sorted(queues.cohorts.items())
    }
    for own in (*queues.queues.values(), *queues.cohorts.values()):
        if own.parent:
            nodes.setdefault(("cohort", own.parent), QueueNode(own.parent, "", Fraction(1), {}))
    nodes |= {("queue", name): own for name, own in sorted(queues.queues.items())}
    below: dict[Key, list[Key]] = {key: [] for key in nodes}
    for key, own in nodes.items():
        if own.parent:
            below["cohort", own.parent].append(key)
    return Forest(nodes, {key: tuple(own) for key, own in below.items()})


def shifted(trees: Forest, pair: Pair, use: Mapping[str, Fraction]) -> dict[Key, QuotaCell]:
    """New limits of one (flavor, resource), of every node that has any of it.

    Parameters
    ----------
    use : what each queue uses of it.

    Raises
    ------
    NotAdmitted : the quotas do not admit the use.
    """
    most: dict[Key, Fraction] = {}
    flow: dict[Key, Fraction] = {}

    def limits(key: Key) -> QuotaCell:
        return trees.nodes[key].quotas.get(pair, QuotaCell(NOTHING))

    def spare(key: Key) -> None:
        """The most that a node can pass up; below 0 it must borrow."""
        own = limits(key)
        for child in trees.below[key]:
            spare(child)
        rest = sum((most[child] for child in trees.below[key]), own.nominal)
        if key[0] == "queue":
            rest -= use.get(key[1], NOTHING)
        if own.borrow is not None and trees.nodes[key].parent and rest < -own.borrow:
            raise NotAdmitted(key, -own.borrow - rest)
        most[key] = rest if own.lend is None else min(rest, own.lend)

    def spread(key: Key, wanted: Fraction) -> None:
        """Let a node pass up what is wanted: first what is needed below, then what is largest."""
        flow[key] = wanted
        below = {child: min(NOTHING, most[child]) for child in trees.below[key]}
        missing = wanted - limits(key).nominal - sum(below.values(), NOTHING)
        for child in sorted(below, key=lambda c: (-most[c], c)):
            more = min(missing, most[child] - below[child])
            if more > 0:
                below[child] += more
                missing -= more
        for child, own in below.items():
            spread(child, own)

    for root in trees.roots:
        spare(root)
        if most[root] < 0:
            raise NotAdmitted(root, -most[root])
        spread(root, NOTHING)
    found = {}
    for key, node in trees.nodes.items():
        if pair not in node.quotas:
            continue
        own, y = node.quotas[pair], flow[key]
        passed = sum((flow[child] for child in trees.below[key]), NOTHING)
        found[key] = QuotaCell(
            own.nominal - y + passed,
            None if own.borrow is None else own.borrow + y,
            None if own.lend is None else own.lend - y,
        )
    return found
