"""A tree of targets in fractions: what everybody's share counts in its groups."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from fairopt.formulas.targets import TargetTree

ROOT = 0
"""the node above all groups"""


@dataclass(frozen=True)
class ExactTree:
    """A tree of targets in fractions.

    Parameters
    ----------
    parent, weight : of each node. above : of each user, the groups it is in, its own first.
    use : of each user, what a unit of its share counts there, times its weight.
    floor : of each user, the least that it is due of what is divided, over its weight.
    """

    parent: list[int]
    weight: list[Fraction]
    above: list[list[int]]
    use: list[list[Fraction]]
    floor: list[Fraction]

    @classmethod
    def of(
        cls,
        tree: TargetTree,
        own: Sequence[Fraction],
        use: Sequence[Sequence[Fraction]],
        floor: Sequence[Fraction],
        summed: Set[int] = frozenset(),
    ) -> ExactTree:
        """A tree whose weights are floats.

        Parameters
        ----------
        own : weights of users. use : of each user, what a unit of its share counts in its groups.
        floor : of each user, over its weight. summed : users of whom the weight of a group is the
            sum, if there are any in it.
        """
        parent = tree.parent.tolist()
        weight = [Fraction(w) for w in tree.weight.tolist()]
        for n, leaf in enumerate(tree.leaf.tolist()):
            weight[leaf] = own[n]
        total = dict[int, Fraction]()
        for n in summed:
            node = parent[int(tree.leaf[n])]
            while node != ROOT:
                total[node] = total.get(node, Fraction(0)) + own[n]
                node = parent[node]
        for node, whole in total.items():
            weight[node] = whole
        above = list[list[int]]()
        for leaf in tree.leaf.tolist():
            way, node = list[int](), parent[leaf]
            while node != ROOT:
                way.append(node)
                node = parent[node]
            above.append(way)
        each = zip(tree.leaf.tolist(), use, strict=True)
        counted = [[v * weight[leaf] for v in row] for leaf, row in each]
        return cls(parent, weight, above, counted, list(floor))

    @cached_property
    def below(self) -> dict[int, list[int]]:
        """Of each group the users in it."""
        found = dict[int, list[int]]()
        for n, way in enumerate(self.above):
            for g in way:
                found.setdefault(g, []).append(n)
        return found

    @cached_property
    def whole(self) -> dict[tuple[int, int], tuple[int, dict[int, int]]]:
        """Of each group and entry what a number is that makes its users' use of it whole, and that
        use where there is any."""
        found = {}
        for g, users in self.below.items():
            for r in range(len(self.use[0])):
                by = lcm(*[self.use[n][r].denominator for n in users])
                each = {n: int(self.use[n][r] * by) for n in users if self.use[n][r]}
                found[g, r] = by, each
        return found

    def own(self, n: int) -> int:
        """The group of a user, or the root."""
        return self.above[n][0] if self.above[n] else ROOT


__all__ = ["ROOT", "ExactTree"]
