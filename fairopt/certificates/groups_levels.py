"""About what levels groups have in the rounds that an answer tells, and what their sizes are.

Nothing found here is believed: `enclosed_groups` judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fairopt.certificates.exact_tree import ROOT
from fairopt.certificates.groups_claim import (
    BEYOND,
    STAYS,
    WAITS,
    GroupsClaim,
    RoundClaim,
    RoundKind,
)
from fairopt.certificates.groups_told import SAME_SIZE, GroupsTold, StoppedRound
from fairopt.certificates.ruled.walk import RoundWalk
from fairopt.formulas.targets import Jump, PathPoint, TargetTree
from fairopt.instance import Bools, Floats


class LineTold(NamedTuple):
    """A line: the rounds where it begins and ends, about what levels are there, and what they are
    at a point of it."""

    begins: RoundClaim
    ends: RoundClaim
    first: dict[int, float]
    last: dict[int, float]
    level: dict[int, float]


@dataclass(frozen=True)
class LevelsTold:
    """Rounds in groups, with levels in floats."""

    told: GroupsTold

    def claim(self, parts: Sequence[StoppedRound]) -> tuple[GroupsClaim, list[float], list[int]]:
        """Rounds in this order, about what their levels are, and where these rounds are among all
        that are claimed."""
        some = self.told.some.tolist()
        bare = [RoundClaim(part.users, {}) for part in parts]
        whom = GroupsClaim(self.told.exact, self.told.rank, some, bare)
        rounds, levels, own = list[RoundClaim](), list[float](), list[int]()
        known: dict[int, tuple[float, float]] = {}
        line: LineTold | None = None
        waits = set[int]()
        for j, part in enumerate(parts):
            # in order: a round says only what its class does not know from the rounds before
            walk = self.told.stops[part.stage]
            t = float(walk.reached.start.t)
            if j and whom.rank_of(j) != whom.rank_of(j - 1):
                known, line, waits = {}, None, set()
            asked = self._asked(whom, j, t, known, waits)
            of = (whom, j, sorted(asked))
            jump = None if part.start else _on_line(walk, whom.alive[j])
            if jump is None:
                line, kind = None, RoundKind.CLASS if part.start else RoundKind.STOP
                due = self.told.floor if part.start else walk.due
                at = None if part.start else walk.reached.start
                one, level = self._round(part.users, kind, of, due, at, known)
            else:
                again = line if line is not None and _near(line.first[ROOT], t) else None
                line = self._line(of, jump, walk.reached.part, known, again)
                for each, v in ((line.begins, line.first), (line.ends, line.last)):
                    rounds.append(each)
                    levels += [v[g] for g in (ROOT, *each.size)]
                still = {g for g in line.ends.size if _near(line.last[g], line.level[g])}
                level = line.level
                one = replace(
                    line.ends, users=part.users, kind=RoundKind.LINE, still=frozenset(still)
                )
            own.append(len(rounds))
            rounds.append(one)
            levels += [level[g] for g in (ROOT, *one.size)]
            levels += [] if line is None else [walk.reached.part]
            for g in {g for n in part.users for g in self.told.exact.above[n]}:
                known[g] = t, level[g]
            for g, size in one.size.items():
                if g in known:
                    known[g] = known[g][0], level[g]
                if size in (WAITS, BEYOND) or one.kind == RoundKind.LINE:
                    waits.add(g)
                else:
                    waits.discard(g)
        return GroupsClaim(self.told.exact, self.told.rank, some, rounds), levels, own

    def _line(
        self,
        of: tuple[GroupsClaim, int, Sequence[int]],
        jump: Jump,
        part: float,
        known: Mapping[int, tuple[float, float]],
        again: LineTold | None,
    ) -> LineTold:
        """The line on which a round is, that far along it.

        Parameters
        ----------
        again : a line at the same level of the root that somebody was stopped on, just before.
        """
        one, first = self._round((), RoundKind.FROM, of, jump.start.held, jump.start, known)
        base, waits = first, {g for g, r in one.size.items() if r in (WAITS, BEYOND)}
        if again is not None:
            asked = [g for g in of[2] if g in again.first]
            of = (of[0], of[1], asked)
            base, first = again.level, {g: again.first[g] for g in (ROOT, *asked)}
            beyond = dict.fromkeys(asked, BEYOND)
            one = replace(one, size=beyond, kind=RoundKind.AGAIN, still=frozenset())
        end, last = self._round((), RoundKind.TO, of, jump.end.held, jump.end, known)
        end = self._beyond(end, jump.end.held, last, first, waits)
        level = {g: base[g] + part * (last[g] - base[g]) for g in first}
        return LineTold(replace(one, floored=end.floored), end, first, last, level)

    def _asked(
        self,
        whom: GroupsClaim,
        j: int,
        t: float,
        known: Mapping[int, tuple[float, float]],
        waits: Set[int],
    ) -> set[int]:
        """Groups whose levels a round asks for.

        Parameters
        ----------
        waits : groups that waited, or jumped, when they were looked at last.
        """
        asked = set(whom.asked(j))
        if due_entries(self.told.tree) > 1:
            mixed, floors = len(set(self.told.rank)) > 1, self.told.floor > 0
            asked |= {
                g
                for g in whom.alive[j]
                if mixed
                or g in waits
                or (g in known and _near(known[g][0], t))
                or floors[self.told.exact.below[g]].any()
            }
            tops = {whom.top(g) for g in asked}
            asked |= {g for g in whom.alive[j] if whom.top(g) in tops}
        return asked

    def _round(
        self,
        users: Sequence[int],
        kind: RoundKind,
        of: tuple[GroupsClaim, int, Sequence[int]],
        due: Floats,
        point: PathPoint | None,
        known: Mapping[int, tuple[float, float]],
    ) -> tuple[RoundClaim, dict[int, float]]:
        """A round at which everybody is due that much, and about what its levels are.

        Parameters
        ----------
        of : rounds in order, which of them, and the groups whose levels are asked for.
        point : of the path of targets; None where its class begins.
        """
        whom, j, groups = of
        t, floored = 0.0 if point is None else float(point.t), self.told.at_floor(due, point)
        if kind == RoundKind.CLASS:
            size, still = dict.fromkeys(groups, 0), set[int]()
            level = dict.fromkeys((ROOT, *groups), 0.0)
        else:
            size, still, level = self._sizes(of, due, t, floored, known)
        if kind != RoundKind.FROM:
            last = {g for g in still if g in known and _near(known[g][0], t)}
            size.update(dict.fromkeys(last, STAYS))
            still = set()
        looked, own = {ROOT, *size}, self.told.exact.own
        mine = [n for n in np.flatnonzero(floored).tolist() if whom.free(j, n)]
        least = frozenset(n for n in mine if own(n) in looked)
        return RoundClaim(users, size, least, kind, frozenset(still)), level

    def _beyond(
        self,
        one: RoundClaim,
        due: Floats,
        level: dict[int, float],
        before: Mapping[int, float],
        waits: Set[int],
    ) -> RoundClaim:
        """The end of a line, with groups that have more than their target there.

        Parameters
        ----------
        before : levels where the line begins. waits : groups with more than their target there.
        """
        tree, size = self.told.tree, dict(one.size)
        most, idle = tree.summed(tree.use * due[:, None]).max(axis=1), set[int]()
        for g, r in one.size.items():
            up = int(tree.parent[g])
            over = r != WAITS and most[g] > level[up] * float(tree.weight[g]) * (1 + SAME_SIZE)
            if over or up in idle or (r == WAITS and before[g] > 0) or r == STAYS:
                size[g], level[g] = BEYOND, before[g]
                idle |= {g} if g in waits or up in idle else set()
        return replace(one, size=size)

    def _sizes(
        self,
        of: tuple[GroupsClaim, int, Sequence[int]],
        due: Floats,
        t: float,
        floored: Bools,
        known: Mapping[int, tuple[float, float]],
    ) -> tuple[dict[int, int], set[int], dict[int, float]]:
        """Of these groups the entry that is their size, those that stand still while the root does,
        with no level yet or that of the round before, and about their levels; that of the root."""
        (whom, j, groups), tree = of, self.told.tree
        amount = tree.summed(tree.use * due[:, None])
        most = amount.max(axis=1)
        most[tree.leaf] = due
        level: dict[int, float] = {}
        free = np.array([whom.free(j, n) for n in range(len(due))])
        moves = free & ~floored
        moving = np.zeros(len(most), dtype=bool)
        moving[tree.leaf[moves]] = True
        moving[list(whom.alive[j])] = True
        # what a group has whatever its own level is
        least = tree.summed(tree.use * np.where(free, self.told.floor, due)[:, None]).max(axis=1)
        size: dict[int, int] = {}
        for g in (ROOT, *groups):  # parents come first
            below = np.flatnonzero((tree.parent == g) & moving)
            each = most[below] / tree.weight[below]
            v = float(np.min(each)) if len(each) else 0.0
            level[g] = v if g != ROOT or not t > 0 else t
            if g == ROOT:
                continue
            up = int(tree.parent[g])
            target = level[up] * float(tree.weight[g])
            if size.get(up) == WAITS or least[g] > target * (1 + SAME_SIZE):
                size[g], level[g] = WAITS, 0.0
            elif most[g] > target * (1 + SAME_SIZE):
                size[g] = BEYOND
        still, exact = set[int](), self.told.exact
        for g in [g for g in groups if g not in size]:
            top = np.flatnonzero(amount[g] >= most[g] * (1 - SAME_SIZE))
            mine = [n for n in exact.below[g] if moves[n] and size.get(exact.own(n)) != WAITS]
            grows = tree.use[mine].any(axis=0)
            both = [int(r) for r in top if grows[r]]
            size[g] = both[0] if both else int(top[0])
            last = known.get(g)
            if not both and (last is None or _near(last[1], level[g])):
                still.add(g)
        return dict(sorted(size.items())), still, level


def _on_line(walk: RoundWalk, alive: Set[int]) -> Jump | None:
    """The jump of several levels in whose midst a round is; None where there is none."""
    jump, part = walk.reached.jump, walk.reached.part
    if jump is None or not 0 < part < 1:
        return None
    moved = np.flatnonzero(jump.end.v != jump.start.v).tolist()
    parent = jump.start.tree.parent
    alone = len(moved) == 1 and parent[moved[0]] == ROOT
    return None if alone and not any(parent[g] == moved[0] for g in alive) else jump


def due_entries(tree: TargetTree) -> int:
    """How many entries the use of a user has."""
    return int(tree.use.shape[1])


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_SIZE * max(one, other)


__all__ = ["LevelsTold"]
