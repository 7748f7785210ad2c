"""What users are due in groups at the levels of rounds, as equations between levels.

With who is stopped when, and which entry of its use is a group's size, *given*, what each group is
due in a round is a linear equation between levels: of the root, of groups, and of rounds before.
`enclosed_groups` asks whether they are on the path of targets (docs/maths/prices.md, "In groups").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from fairopt.certificates.enclosed import Equation
from fairopt.formulas.targets import TargetTree

WAITS, STAYS = -1, -2
"""a group that has more than its target without its free members; one at the level that it had in
the round before, at the same level of the root"""
ROOT = 0
Level = tuple[int, int]
"""a round, and a group: the level of its members there"""


@dataclass(frozen=True)
class ExactTree:
    """A tree of targets in fractions.

    Parameters
    ----------
    parent, weight : of each node. above : of each user, the groups it is in, its own first.
    use : of each user, what a unit of its share counts there, times its weight.
    """

    parent: list[int]
    weight: list[Fraction]
    above: list[list[int]]
    use: list[list[Fraction]]

    @classmethod
    def of(cls, tree: TargetTree, use: Sequence[Sequence[Fraction]]) -> ExactTree:
        """A tree whose weights are floats.

        Parameters
        ----------
        use : of each user, what a unit of its share counts in its groups.
        """
        parent = tree.parent.tolist()
        weight = [Fraction(w) for w in tree.weight.tolist()]
        above = list[list[int]]()
        for leaf in tree.leaf.tolist():
            way, node = list[int](), parent[leaf]
            while node != ROOT:
                way.append(node)
                node = parent[node]
            above.append(way)
        each = zip(tree.leaf.tolist(), use, strict=True)
        return cls(parent, weight, above, [[v * weight[leaf] for v in row] for leaf, row in each])

    @cached_property
    def below(self) -> dict[int, list[int]]:
        """Of each group the users in it."""
        found = dict[int, list[int]]()
        for n, way in enumerate(self.above):
            for g in way:
                found.setdefault(g, []).append(n)
        return found

    def own(self, n: int) -> int:
        """The group of a user, or the root."""
        return self.above[n][0] if self.above[n] else ROOT


@dataclass(frozen=True)
class RoundClaim:
    """Users who are stopped together.

    Parameters
    ----------
    size : of each group whose level is asked for, the entry of its use that is its size, or WAITS
        or STAYS. start : whether it is where its class begins: nobody of it is due anything.
    """

    users: Sequence[int]
    size: Mapping[int, int]
    start: bool = False


@dataclass(frozen=True)
class GroupsClaim:
    """Rounds in order.

    Parameters
    ----------
    rank : (N,) class of each user. some : (N,) who may hold anything.
    """

    tree: ExactTree
    rank: Sequence[int]
    some: Sequence[bool]
    rounds: Sequence[RoundClaim]

    @cached_property
    def turn(self) -> list[int]:
        """(N,) the round that stops each; -1 of nobody's."""
        found = [-1] * len(self.rank)
        for j, one in enumerate(self.rounds):
            for n in one.users:
                found[n] = j
        return found

    @cached_property
    def level(self) -> dict[Level, int]:
        """The place of each level among those that are looked for."""
        keys = [(j, g) for j, one in enumerate(self.rounds) for g in (ROOT, *one.size)]
        return {key: i for i, key in enumerate(keys)}

    @cached_property
    def users(self) -> list[list[int]]:
        """Of each level those who are stopped at it."""
        found: list[list[int]] = [[] for _ in self.level]
        for j, one in enumerate(self.rounds):
            for n in one.users:
                found[self.level[j, self.tree.own(n)]].append(n)
        return found

    @cached_property
    def links(self) -> list[Equation]:
        """Equations between levels, each of them 0."""
        found = list[Equation]()
        for j, one in enumerate(self.rounds):
            if one.start:
                found.append({self.level[j, ROOT]: 1})
            for g, r in one.size.items():
                if r >= 0 and not one.start:
                    found.append(self.over(j, g, r))
                else:
                    form = {self.level[j, g]: 1}
                    if r == STAYS and not one.start and (last := self.before(j, g)) is not None:
                        form[self.level[last, g]] = -1
                    found.append(form)
        return found

    def before(self, j: int, g: int) -> int | None:
        """The last round of the class before in which the level of a group was asked for."""
        rank = self.rank_of(j)
        for k in reversed(range(j)):
            if self.rank_of(k) != rank:
                return None
            if g in self.rounds[k].size:
                return k
        return None

    def rank_of(self, j: int) -> int:
        """The class of a round."""
        return self.rank[self.rounds[j].users[0]]

    def free(self, j: int, n: int) -> bool:
        """Whether a user moves with its group until a round."""
        return self.turn[n] >= j and self.rank[n] == self.rank_of(j)

    def over(self, j: int, g: int, r: int) -> Equation:
        """What members of a group use of an entry in a round, above the target of the group: a sum
        of multiples of levels."""
        found = dict[int, Fraction]()
        for n in self.tree.below[g]:
            if (part := self.tree.use[n][r]) and self.turn[n] >= 0:
                if self.free(j, n):
                    key = j, self.tree.own(n)
                elif self.turn[n] < j:
                    key = self.turn[n], self.tree.own(n)
                else:
                    continue  # of a later class: nothing yet
                found[self.level[key]] = found.get(self.level[key], Fraction(0)) + part
        up = self.level[j, self.tree.parent[g]]
        found[up] = found.get(up, Fraction(0)) - self.tree.weight[g]
        by = lcm(*[v.denominator for v in found.values()])
        return {i: int(v * by) for i, v in found.items() if v}

    @cached_property
    def alive(self) -> list[set[int]]:
        """Of each round the groups with members who are not stopped before."""
        last = dict[tuple[int, int], int]()
        for n, way in enumerate(self.tree.above):
            for g in way:
                key = g, self.rank[n]
                last[key] = max(last.get(key, -1), self.turn[n])
        return [
            {g for (g, rank), k in last.items() if k >= j and rank == self.rank_of(j)}
            for j in range(len(self.rounds))
        ]

    def asked(self, j: int) -> set[int]:
        """Groups whose level a round needs: all that move in those of the root of its users."""
        tops = {self.tree.above[n][-1] for n in self.rounds[j].users if self.tree.above[n]}
        return {g for g in self.alive[j] if self.top(g) in tops}

    def top(self, g: int) -> int:
        """The group of the root that a group is in."""
        while self.tree.parent[g] != ROOT:
            g = self.tree.parent[g]
        return g


__all__ = ["ROOT", "STAYS", "WAITS", "ExactTree", "GroupsClaim", "RoundClaim"]
