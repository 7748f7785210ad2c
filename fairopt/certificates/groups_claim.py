"""What users are due in groups at the levels of rounds, as equations between levels.

With who is stopped when, and which entry of its use is a group's size, *given*, what each group is
due in a round is a linear equation between levels: of the root, of groups, and of rounds before.
`enclosed_groups` asks whether they are on the path of targets (docs/maths/prices.md, "In groups").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import lcm

from fairopt.certificates.enclosed import Equation
from fairopt.certificates.enclosed_products import Product
from fairopt.certificates.exact_tree import ROOT, ExactTree

WAITS, STAYS, BEYOND = -1, -2, -3
"""a group that has more than its target without its free members; one at the level that it had in
the round before, at the same level of the root; one that has
more than its target since those in it jumped, at the level of the round before, or of where the
line begins"""
PART = -1
"""in place of a group, how far a round is along its line"""
Level = tuple[int, int]
"""a round, and a group: the level of its members there"""
Sum = tuple[Equation, int]
"""multiples of levels, and a number beside them"""


class RoundKind(Enum):
    """What a round is.

    STOP : users are stopped. CLASS : where their class begins, with nothing but floors.
    LINE : on the line of a jump, which begins two rounds before, FROM, and ends one before, TO;
    nobody is stopped in these. AGAIN : in the place of FROM after another LINE: groups have the
    levels that they had at its beginning, but the line goes on from where that round is.
    """

    STOP, CLASS, FROM, AGAIN, TO, LINE = range(6)


@dataclass(frozen=True)
class RoundClaim:
    """Users who are stopped together.

    Parameters
    ----------
    size : of each group whose level is asked for, the entry of its use that is its size, or WAITS
        or STAYS, or BEYOND.
    floored : users of its class who are not stopped before, and are due their floor.
    still : of FROM, groups that have no level yet, or that of the round before; of LINE, those
        that have one level all along it.
    """

    users: Sequence[int]
    size: Mapping[int, int]
    floored: Set[int] = frozenset()
    kind: RoundKind = RoundKind.STOP
    still: Set[int] = frozenset()


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
    _before: dict[tuple[int, int], int | None] = field(default_factory=dict)
    _over: dict[tuple[int, int, int], Sum] = field(default_factory=dict)

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
        keys = [
            (j, g)
            for j, one in enumerate(self.rounds)
            for g in (ROOT, *one.size, *([PART] if one.kind == RoundKind.LINE else []))
        ]
        return {key: i for i, key in enumerate(keys)}

    @cached_property
    def users(self) -> list[list[int]]:
        """Of each level those who are stopped at it."""
        found: list[list[int]] = [[] for _ in self.level]
        for j, one in enumerate(self.rounds):
            for n in one.users:
                if n not in one.floored:
                    found[self.level[j, self.tree.own(n)]].append(n)
        return found

    @cached_property
    def floored(self) -> list[int]:
        """Those who are stopped at their floor."""
        return sorted([n for one in self.rounds for n in one.users if n in one.floored])

    @cached_property
    def links(self) -> list[Sum]:
        """Equations between levels, each of them 0 with its `products`."""
        return [(form, last) for form, last, _ in self._links]

    @cached_property
    def products(self) -> dict[int, list[Product]]:
        """Of links of rounds on a line, products of levels beside what they have: the part of the
        line, times how much a level changes along all of it."""
        return {k: times for k, (_, _, times) in enumerate(self._links) if times}

    @cached_property
    def _links(self) -> list[tuple[Equation, int, list[Product]]]:
        found, level = list[tuple[Equation, int, list[Product]]](), self.level
        for j, one in enumerate(self.rounds):
            if one.kind == RoundKind.CLASS:
                found.append(({level[j, ROOT]: 1}, 0, []))
            elif one.kind in (RoundKind.AGAIN, RoundKind.TO, RoundKind.LINE):
                # the root stands still
                found.append(({level[j, ROOT]: 1, level[j - 1, ROOT]: -1}, 0, []))
            for g, r in one.size.items():
                form = {level[j, g]: 1}
                if one.kind == RoundKind.LINE:
                    ends, part = (level[j - 1, g], level[self.begins(j), g]), level[j, PART]
                    times = [] if g in one.still else [(-1, part, ends[0]), (1, part, ends[1])]
                    found.append(({**form, ends[1]: -1}, 0, times))
                    continue
                if r >= 0 and one.kind != RoundKind.CLASS:
                    found.append((*self.over(j, g, r), []))
                if r < 0 or one.kind == RoundKind.CLASS or g in one.still:
                    last = self.before(j, g)
                    if r == BEYOND and one.kind in (RoundKind.AGAIN, RoundKind.TO):
                        form[level[j - (3 if one.kind == RoundKind.AGAIN else 1), g]] = -1
                    elif (r in (STAYS, BEYOND) or g in one.still) and last is not None:
                        form[level[last, g]] = -1
                    found.append((form, 0, []))
        return found

    @cached_property
    def whole(self) -> bool:
        """Whether every level that equations are about is one of those that are looked for."""
        for j, one in enumerate(self.rounds):
            for n in {n for g in one.size for n in self.tree.below[g]}:
                k = j if self.free(j, n) else self.turn[n]
                own = self.tree.own(n)
                if 0 <= k <= j and own != ROOT and own not in self.rounds[k].size:
                    return False
            if any(self.tree.parent[g] not in (ROOT, *one.size) for g in one.size):
                return False
            if any(self.tree.own(n) not in (ROOT, *one.size) for n in one.users):
                return False
        return True

    def begins(self, j: int) -> int:
        """The round from which a line goes on, of a round on it."""
        return j - (3 if self.rounds[j - 2].kind == RoundKind.AGAIN else 2)

    def before(self, j: int, g: int) -> int | None:
        """The last round of the class before in which the level of a group was asked for."""
        way = list[int]()
        while (j, g) not in self._before:
            way.append(j)
            k = self.last(j)
            if k is None or g in self.rounds[k].size:
                self._before[j, g] = k
            else:
                j = k
        found = self._before[j, g]
        self._before.update({(i, g): found for i in way})
        return found

    def last(self, j: int) -> int | None:
        """The last round of the class before that was passed."""
        k = j - 1
        while k >= 0 and self.rounds[k].kind == RoundKind.TO:
            k -= 1
        return k if k >= 0 and self.rank_of(k) == self.rank_of(j) else None

    def rank_of(self, j: int) -> int:
        """The class of a round."""
        return self._ranks[j]

    @cached_property
    def _ranks(self) -> list[int]:
        """The class of each round: that of the next users who are stopped."""
        found, rank = list[int](), -1
        for one in reversed(self.rounds):
            rank = self.rank[one.users[0]] if one.users else rank
            found.append(rank)
        return found[::-1]

    def free(self, j: int, n: int) -> bool:
        """Whether a user moves with its group until a round."""
        return self.turn[n] >= j and self.rank[n] == self.rank_of(j)

    def over(self, j: int, g: int, r: int) -> Sum:
        """What members of a group use of an entry in a round, above the target of the group."""
        if (j, g, r) not in self._over:
            self._over[j, g, r] = self._above(j, g, r)
        return self._over[j, g, r]

    def _above(self, j: int, g: int, r: int) -> Sum:
        by, use = self.tree.whole[g, r]
        found, last = dict[int, int](), Fraction(0)
        rank, up = self.rank_of(j), self.level[j, self.tree.parent[g]]
        for n, part in use.items():
            if (k := self.turn[n]) < 0:
                continue
            # of a later class: no more than its floor yet
            k = j if k >= j and self.rank[n] == rank else k
            if k > j or n in self.rounds[k].floored:
                last += part * self.tree.floor[n]
            else:
                at = self.level[k, self.tree.own(n)]
                found[at] = found.get(at, 0) + part
        size = self.tree.weight[g] * by
        times = lcm(last.denominator, size.denominator)
        found = {i: v * times for i, v in found.items()}
        found[up] = found.get(up, 0) - int(size * times)
        return {i: v for i, v in found.items() if v}, int(last * times)

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


__all__ = [
    "BEYOND",
    "PART",
    "STAYS",
    "WAITS",
    "GroupsClaim",
    "RoundKind",
    "RoundClaim",
]
