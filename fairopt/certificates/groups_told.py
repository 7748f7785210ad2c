"""Which rounds an answer means in groups: who is stopped when, and what each group's size is.

Nothing found here is believed: `enclosed_groups` judges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.exact_levels import ExactCase
from fairopt.certificates.exact_parts import Part
from fairopt.certificates.groups_claim import (
    ROOT,
    STAYS,
    WAITS,
    ExactTree,
    GroupsClaim,
    RoundClaim,
)
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.ruled.walk import PATH, RoundWalk, path
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.targets import TargetTree
from fairopt.instance import Bools, Floats, remembered

SAME = 1e-9
"""part by which two sizes, or two levels of the root, differ that may be the same"""


class StoppedRound(NamedTuple):
    """Users who are stopped together, and in which of an answer's rounds. start : where their class
    begins, with nothing."""

    users: list[int]
    stage: int
    start: bool = False


@dataclass(frozen=True)
class GroupsTold:
    """What an answer tells of its rounds.

    Parameters
    ----------
    stops : round -> what everybody is due there. some : (N,) who may hold anything.
    """

    tree: TargetTree
    exact: ExactTree
    rank: list[int]
    some: Bools
    stops: dict[int, RoundWalk]

    @classmethod
    def of(cls, alloc: Allocation, asked: Entitled, case: ExactCase) -> GroupsTold | None:
        """None where rounds are not on the path of targets."""
        stops, wrong = remembered(alloc, PATH, lambda: path(alloc, asked))
        if wrong:
            return None
        named = [k for k, each in enumerate(alloc.rounds or ()) if each["users"]]
        told = dict(zip(named, stops, strict=True))
        exact = ExactTree.of(asked.tree, _used(alloc, asked.tree, case))
        some = np.array([len(columns) > 0 for columns in case.open_])
        return cls(asked.tree, exact, asked.rank.tolist(), some, told)

    def rounds(self, lots: Sequence[Lot], parts: Sequence[Sequence[Part]]) -> list[StoppedRound]:
        """What is stopped together, in the order that is told. Who holds nothing is stopped where
        its class begins, or with those of the round before while its group waits."""
        found = list[StoppedRound]()
        for lot, each in zip(lots, parts, strict=True):
            for users in of_parts(lot, each):
                none = not self.stops[lot.stage].due[users].any()
                last = found[-1] if found and self.rank[found[-1].users[0]] == lot.rank else None
                if not none:
                    found.append(StoppedRound(users, lot.stage))
                elif last is None:
                    found.append(StoppedRound(users, lot.stage, True))
                elif last.start or self._waits(users, last.stage):
                    found[-1] = last._replace(users=[*last.users, *users])
                else:
                    first = [self.rank[one.users[0]] for one in found].index(lot.rank)
                    found.insert(first, StoppedRound(users, lot.stage, True))
        return found

    def _waits(self, users: Sequence[int], stage: int) -> bool:
        """Whether the groups of users wait in a round."""
        point = self.stops[stage].reached.start
        own = [self.exact.own(n) for n in users]
        return all(g != ROOT and not point.v[g] > 0 for g in own)

    def claim(self, parts: Sequence[StoppedRound]) -> tuple[GroupsClaim, list[float]]:
        """Rounds in this order, and about what their levels are."""
        some = self.some.tolist()
        bare = [RoundClaim(part.users, {}, part.start) for part in parts]
        whom = GroupsClaim(self.exact, self.rank, some, bare)
        rounds, about = list[RoundClaim](), list[float]()
        known: dict[int, tuple[float, float]] = {}
        mixed = len(set(self.rank)) > 1
        for j, part in enumerate(parts):
            due = self.stops[part.stage].due
            t = float(self.stops[part.stage].reached.start.t)
            if j and whom.rank_of(j) != whom.rank_of(j - 1):
                known = {}
            asked = set(whom.asked(j))
            if due_entries(self.tree) > 1:
                asked |= {
                    g for g in whom.alive[j] if mixed or (g in known and _near(known[g][0], t))
                }
                asked |= {whom.top(g) for g in asked}
                tops = {whom.top(g) for g in asked}
                asked |= {g for g in whom.alive[j] if whom.top(g) in tops}
            if part.start:
                size, level = dict.fromkeys(sorted(asked), 0), dict.fromkeys((ROOT, *asked), 1.0)
            else:
                size, level = self._sizes(whom, j, sorted(asked), due, t, known)
            rounds.append(RoundClaim(part.users, size, part.start))
            about += [level[g] for g in (ROOT, *size)]
            for g in {g for n in part.users for g in self.exact.above[n]}:
                known[g] = t, level[g]
            for g in size:
                if g in known:
                    known[g] = known[g][0], level[g]
        return GroupsClaim(self.exact, self.rank, some, rounds), about

    def _sizes(
        self,
        whom: GroupsClaim,
        j: int,
        groups: Sequence[int],
        due: Floats,
        t: float,
        known: dict[int, tuple[float, float]],
    ) -> tuple[dict[int, int], dict[int, float]]:
        """Of these groups the entry that is their size, and about their level; that of the root."""
        tree = self.tree
        amount = tree.summed(tree.use * due[:, None])
        most = amount.max(axis=1)
        most[tree.leaf] = due
        level: dict[int, float] = {}
        free = np.array([whom.free(j, n) for n in range(len(due))])
        alive = whom.alive[j]
        moving = np.zeros(len(most), dtype=bool)
        moving[tree.leaf[free]] = True
        moving[list(alive)] = True
        size: dict[int, int] = {}
        for g in (ROOT, *groups):  # parents come first
            below = np.flatnonzero((tree.parent == g) & moving)
            each = most[below] / tree.weight[below]
            v = float(np.min(each)) if len(each) else 0.0
            level[g] = v if g != ROOT or not t > 0 else t
            if g == ROOT:
                continue
            up = tree.parent[g]
            target = level[int(up)] * float(tree.weight[g])
            if size.get(int(up)) == WAITS or (most[g] > target * (1 + SAME) and not v > 0):
                size[g] = WAITS
                continue
            top = np.flatnonzero(amount[g] >= most[g] * (1 - SAME))
            mine = [n for n in self.exact.below[g] if free[n]]
            grows = tree.use[mine].any(axis=0)
            both = [int(r) for r in top if grows[r]]
            stuck = [int(r) for r in top if not grows[r]]
            size[g] = both[0] if both else stuck[0]
            last = known.get(g)
            if not both and last is not None and _near(last[0], t) and _near(last[1], v):
                size[g] = STAYS
        return size, {g: v if v > 0 else 1.0 for g, v in level.items()}


def of_parts(lot: Lot, parts: Sequence[Part]) -> list[list[int]]:
    """Users of a lot part by part, and then those who run nothing, in none of them."""
    found = [part.users for part in parts if part.users]
    rest = set(lot.users.tolist()).difference(*found)
    return [*found, sorted(rest)] if rest else found


def due_entries(tree: TargetTree) -> int:
    """How many entries the use of a user has."""
    return int(tree.use.shape[1])


def _used(alloc: Allocation, tree: TargetTree, case: ExactCase) -> list[list[Fraction]]:
    """(N, R) parts of the whole pool that a unit of each user's share takes, where sizes are the
    largest of these; else 1."""
    one = np.ones((len(tree.leaf), 1))
    if np.array_equal(tree.use, one):
        return [[Fraction(1)]] * len(one)
    inst = alloc.instance
    count = inst.count.tolist()
    pool = [
        sum([Fraction(c) * k for c, k in zip(each, count, strict=True)], Fraction(0))
        for each in inst.capacity.T.tolist()
    ]
    best = [Fraction(0)] * len(one)
    for n, u in zip(case.owner, case.score, strict=True):
        best[n] = max(best[n], Fraction(u, case.unit[n]))
    demand = inst.demand if inst.demand.ndim == 2 else inst.demand[:, 0]
    return [
        [Fraction(d) / (c or 1) / (unit or 1) for d, c in zip(row, pool, strict=True)]
        for row, unit in zip(demand.tolist(), best, strict=True)
    ]


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(one, other)


__all__ = ["GroupsTold", "StoppedRound", "of_parts"]
