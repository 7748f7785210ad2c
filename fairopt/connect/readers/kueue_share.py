r"""Kueue's own share of queues and cohorts, as Kueue computes it, beside ours (never a criterion).

Of a node with a parent, per resource r and summed over flavors,

.. math:: ratio_r = 1000 \frac{\sum_f \max(0, use_{f,r} - quota_{f,r})}{lendable_r} ,

quota that of its whole subtree, lendable what its parent could have at most if nothing were used.
The largest over the weight is the share; it is shown rounded up. It is 0 for whoever is within its
quota, so that (6, 2) and (4, 4) look alike with quotas of 6 and 6 (keps/1714-fair-sharing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from fairopt.connect.readers.kueue import Pair, QueueNode, QuotaCell

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Share:
    """The share of one node.

    Parameters
    ----------
    ratio : before the weight, in thousandths. resource : the one it is largest for, or empty.
    share : ratio over weight; None for infinite, of weight 0 while borrowing.
    borrowing : whether it uses more than its quota of anything.
    """

    ratio: Fraction
    resource: str
    share: Fraction | None
    borrowing: bool

    @property
    def shown(self) -> int | None:
        """As kubectl shows it: rounded up; None for infinite."""
        return None if self.share is None else ceil(self.share)


class KueueTree:
    """Queues and cohorts with what they use; a cohort that nobody gives has no quota of its own.

    Parameters
    ----------
    queues, cohorts : by name. usage : {queue: {(flavor, resource): amount}}.
    """

    def __init__(
        self,
        queues: Mapping[str, QueueNode],
        cohorts: Mapping[str, QueueNode],
        usage: Mapping[str, Mapping[Pair, Fraction]],
    ) -> None:
        self.nodes: dict[tuple[str, str], QueueNode] = {}
        for node in cohorts.values():
            self.nodes["cohort", node.name] = node
        for node in (*queues.values(), *cohorts.values()):
            if node.parent and node.parent not in cohorts:
                bare = QueueNode(node.parent, "", Fraction(1), {})
                self.nodes["cohort", node.parent] = bare
        for node in queues.values():
            self.nodes["queue", node.name] = node
        self.pairs = sorted(
            {p for node in self.nodes.values() for p in node.quotas}
            | {p for own in usage.values() for p in own}
        )
        self.usage = usage
        self._quota: dict[tuple[tuple[str, str], Pair], Fraction] = {}
        self._used: dict[tuple[tuple[str, str], Pair], Fraction] = {}

    def parent(self, key: tuple[str, str]) -> tuple[str, str] | None:
        """The key of a node's cohort."""
        above = self.nodes[key].parent
        return ("cohort", above) if above else None

    def children(self, key: tuple[str, str]) -> Iterable[tuple[str, str]]:
        """The keys of the nodes right below."""
        if key[0] != "cohort":
            return ()
        return [k for k, node in self.nodes.items() if node.parent == key[1]]

    def quota(self, key: tuple[str, str], pair: Pair) -> Fraction:
        """What a node and those below it have, less what these keep to themselves."""
        if (key, pair) not in self._quota:
            own = self._limits(key, pair).nominal
            below = (self.quota(c, pair) - self._kept(c, pair) for c in self.children(key))
            self._quota[key, pair] = own + sum(below, NOTHING)
        return self._quota[key, pair]

    def used(self, key: tuple[str, str], pair: Pair) -> Fraction:
        """What counts against a node's quota: of a cohort what its children use beyond theirs."""
        if (key, pair) not in self._used:
            if key[0] == "queue":
                found = self.usage.get(key[1], {}).get(pair, NOTHING)
            else:
                beyond = (self.used(c, pair) - self._kept(c, pair) for c in self.children(key))
                found = sum((max(NOTHING, x) for x in beyond), NOTHING)
            self._used[key, pair] = found
        return self._used[key, pair]

    def most(self, key: tuple[str, str], pair: Pair) -> Fraction:
        """What a node could have at most if nothing were used."""
        above = self.parent(key)
        if above is None:
            return self.quota(key, pair)
        found = self._kept(key, pair) + self.most(above, pair)
        borrow = self._limits(key, pair).borrow
        return found if borrow is None else min(found, self.quota(key, pair) + borrow)

    def share(self, key: tuple[str, str], asked: Mapping[Pair, Fraction] | None = None) -> Share:
        """Kueue's share of a node.

        Parameters
        ----------
        key : ("queue" or "cohort", name). asked : what a workload would take in addition.
        """
        weight, above = self.nodes[key].weight, self.parent(key)
        borrowed: dict[str, Fraction] = {}
        for pair in self.pairs if above is not None else ():
            if pair not in self._listed(key):
                continue
            more = (asked or {}).get(pair, NOTHING)
            beyond = self.used(key, pair) + more - self.quota(key, pair)
            if beyond > 0:
                borrowed[pair[1]] = borrowed.get(pair[1], NOTHING) + beyond
        ratio, resource = NOTHING, ""
        for name in sorted(borrowed):
            assert above is not None
            there = sum((self.most(above, p) for p in self.pairs if p[1] == name), NOTHING)
            if there > 0 and 1000 * borrowed[name] / there > ratio:
                ratio, resource = 1000 * borrowed[name] / there, name
        infinite = weight == 0 and bool(borrowed)
        share = None if infinite else ratio / weight if ratio else NOTHING
        return Share(ratio, resource, share, bool(borrowed))

    def _listed(self, key: tuple[str, str]) -> set[Pair]:
        """The pairs that a node or anybody below it has a quota of."""
        found = set(self.nodes[key].quotas)
        for child in self.children(key):
            found |= self._listed(child)
        return found

    def _limits(self, key: tuple[str, str], pair: Pair) -> QuotaCell:
        return self.nodes[key].quotas.get(pair, QuotaCell(NOTHING))

    def _kept(self, key: tuple[str, str], pair: Pair) -> Fraction:
        """What a node never lends."""
        lend = self._limits(key, pair).lend
        return NOTHING if lend is None else max(NOTHING, self.quota(key, pair) - lend)
