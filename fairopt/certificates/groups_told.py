"""Which rounds an answer means in groups: who is stopped when, and what each group's size is.

Nothing found here is believed: `enclosed_groups` judges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.exact_floors import promised
from fairopt.certificates.exact_parts import Part
from fairopt.certificates.exact_tree import ROOT, ExactTree
from fairopt.certificates.meant.lots import Lot
from fairopt.certificates.ruled.walk import PATH, RoundWalk, path
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.targets import PathPoint, TargetTree
from fairopt.instance import Bools, Floats, remembered

AT_FLOOR = 1e-12
"""part of its floor that a user who is due no more than that is above it at most"""
SAME_SIZE = 1e-9
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
    floor : (N,) the least of what is divided that everybody is due. met : whether those are at
    their floors, too, whose targets just meet them.
    """

    tree: TargetTree
    exact: ExactTree
    rank: list[int]
    some: Bools
    stops: dict[int, RoundWalk]
    floor: Floats
    met: bool

    @classmethod
    def of(
        cls, alloc: Allocation, asked: Entitled, case: ExactCase, met: bool = True
    ) -> GroupsTold | None:
        """None where rounds are not on the path of targets."""
        stops, wrong = remembered(alloc, PATH, lambda: path(alloc, asked))
        if wrong:
            return None
        named = [k for k, each in enumerate(alloc.rounds or ()) if each["users"]]
        stops = [replace(stop, due=stop.due - asked.base) for stop in stops]
        told = dict(zip(named, stops, strict=True))
        least = zip(case.floor, case.base, case.weight, strict=True)
        floor = [(floor - base) / w for floor, base, w in least]
        summed = set(np.flatnonzero(promised(alloc)).tolist())
        use = _used(alloc, asked.tree, case)
        exact = ExactTree.of(asked.tree, case.weight, use, floor, summed)
        some = np.array([len(columns) > 0 for columns in case.open_])
        left = asked.floor - asked.base
        return cls(asked.tree, exact, asked.rank.tolist(), some, told, left, met)

    def rounds(self, lots: Sequence[Lot], parts: Sequence[Sequence[Part]]) -> list[StoppedRound]:
        """What is stopped together, in the order that is told. Who holds nothing is stopped where
        its class begins, or with those of the round before while its group waits; who holds no more
        than its floor with the last of those who pay with it, or where its class begins."""
        found = list[StoppedRound]()
        for lot, each in zip(lots, parts, strict=True):
            payers = {n: part.payers for part in each for n in part.users}
            for users in of_parts(lot, each):
                walk = self.stops[lot.stage]
                none = not walk.due[users].any()
                last = found[-1] if found and self.rank[found[-1].users[0]] == lot.rank else None
                if not none and self.at_floor(walk.due, walk.reached.start)[users].all():
                    _with(found, users, payers.get(users[0], []), lot, self.rank)
                elif not none:
                    found.append(StoppedRound(users, lot.stage))
                elif last is None:
                    found.append(StoppedRound(users, lot.stage, True))
                elif last.start or self._waits(users, last.stage):
                    found[-1] = last._replace(users=[*last.users, *users])
                else:
                    first = [self.rank[one.users[0]] for one in found].index(lot.rank)
                    found.insert(first, StoppedRound(users, lot.stage, True))
        return found

    def at_floor(self, due: Floats, point: PathPoint | None) -> Bools:
        """(N,) who is due no more than its floor, and would be due less without, or as much if
        `met`; at no point of the path, where its class begins, everybody who has one."""
        least = (self.floor > 0) & (due <= self.floor * (1 + AT_FLOOR))
        if point is None or self.met:
            return np.asarray(least)
        return np.asarray(least & (point.target[self.tree.leaf] < self.floor * (1 - SAME_SIZE)))

    def _waits(self, users: Sequence[int], stage: int) -> bool:
        """Whether the groups of users wait in a round."""
        point = self.stops[stage].reached.start
        own = [self.exact.own(n) for n in users]
        return all(g != ROOT and not point.v[g] > 0 for g in own)


def _with(
    found: list[StoppedRound],
    users: list[int],
    payers: Sequence[int],
    lot: Lot,
    rank: Sequence[int],
) -> None:
    """Stop users at their floors with the last of those who pay with them, or where their class
    begins: that is before the level at which a floor is passed."""
    paying, own = set(payers).difference(users), [rank[one.users[0]] for one in found]
    for k in reversed(range(len(found))):
        if own[k] == lot.rank and (found[k].start or paying.intersection(found[k].users)):
            found[k] = found[k]._replace(users=[*found[k].users, *users])
            return
    first = own.index(lot.rank) if lot.rank in own else len(found)
    found.insert(first, StoppedRound(users, lot.stage, True))


def of_parts(lot: Lot, parts: Sequence[Part]) -> list[list[int]]:
    """Users of a lot part by part, and then those who run nothing, in none of them."""
    found = [part.users for part in parts if part.users]
    rest = set(lot.users.tolist()).difference(*found)
    return [*found, sorted(rest)] if rest else found


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


__all__ = ["GroupsTold", "StoppedRound", "of_parts"]
