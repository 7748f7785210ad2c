"""Whether rounds in groups, whose levels are enclosed, are on the path of targets.

In groups a round is stopped at a level of the root, at which each group has a level of its own: the
least at which its size reaches its target (`formulas.targets`). `groups_claim` has the equations
that say so; here is what else makes a point one of that path, and `enclosed_lines` has the jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fairopt.certificates.enclosed_lines import LevelsEnclosed
from fairopt.certificates.exact_tree import ROOT
from fairopt.certificates.groups_claim import BEYOND, PART, WAITS, RoundKind


@dataclass(frozen=True)
class GroupsEnclosed(LevelsEnclosed):
    """Rounds whose levels are enclosed, and whether they are those of the path of targets."""

    _same: dict[tuple[int, int], bool] = field(default_factory=dict)

    @cached_property
    def kept(self) -> bool:
        """Whether every round is on the path of targets, after the one before it."""
        claim, users = self.claim, [n for one in self.claim.rounds for n in one.users]
        each = range(len(claim.rounds))
        if len(set(users)) < len(users) or not all(self._in_place(j) for j in each):
            return False
        if any(may and k < 0 for may, k in zip(claim.some, claim.turn, strict=True)):
            return False
        ranks = [claim.rank_of(j) for j in each]
        if ranks != sorted(ranks):
            return False
        if any(
            claim.rank[n] != k for k, o in zip(ranks, claim.rounds, strict=True) for n in o.users
        ):
            return False
        return all(self._in_order(j) and self._at_floors(j) and self._on_path(j) for j in each)

    def _in_place(self, j: int) -> bool:
        """Whether somebody is stopped in a round; on a line, whether that begins and ends in the
        two before, with the same groups and with the same users at their floors."""
        rounds = self.claim.rounds
        one, before = rounds[j], [each.kind for each in rounds[max(j - 2, 0) : j]]
        if one.kind in (RoundKind.FROM, RoundKind.AGAIN, RoundKind.TO):
            own = j + (1 if one.kind == RoundKind.TO else 2)
            if one.users or own >= len(rounds) or rounds[own].kind != RoundKind.LINE:
                return False
            # what goes on is the line just before it, of the same class
            if one.kind == RoundKind.FROM and any(one.size.get(g, WAITS) < 0 for g in one.still):
                return False
            return one.kind == RoundKind.FROM or (
                not one.still and (one.kind == RoundKind.TO or self._goes_on(j, before))
            )
        if one.still and one.kind != RoundKind.LINE:
            return False
        if one.kind == RoundKind.LINE and before not in (
            [RoundKind.FROM, RoundKind.TO],
            [RoundKind.AGAIN, RoundKind.TO],
        ):
            return False
        ends = rounds[j - 2 : j] if one.kind == RoundKind.LINE else []
        return len(one.users) > 0 and all(
            end.size.keys() == one.size.keys() and end.floored == one.floored for end in ends
        )

    def _goes_on(self, j: int, before: Sequence[RoundKind]) -> bool:
        """Whether what goes on is the line just before, of the same class, with all its groups."""
        claim = self.claim
        return (
            before[-1:] == [RoundKind.LINE]
            and claim.rounds[j].size.keys() == claim.rounds[j - 1].size.keys() & claim.alive[j]
            and claim.rank_of(j) == claim.rank_of(j - 1)
        )

    def _in_order(self, j: int) -> bool:
        """Whether a round is not before the one told before it."""
        claim, level, one = self.claim, self.claim.level, self.claim.rounds[j]
        if not all(self._least({level[j, g]: 1}) for g in (ROOT, *one.size)):
            return False
        if one.kind == RoundKind.AGAIN:
            return True
        if one.kind == RoundKind.LINE:
            ends, part = (j - 1, claim.begins(j)), self._value({level[j, PART]: 1})
            still = [self._more(*(level[k, g] for k in ends)) for g in one.still]
            inside = part.low > 0 and part.high < 1 << self.system.bits
            return inside and all(self._none(each) for each in still)
        last = claim.begins(j + 1) if one.kind == RoundKind.TO else claim.last(j)
        if last is None:
            return True
        if not self._least(self._more(level[j, ROOT], level[last, ROOT])):
            return False
        for g in one.size:  # on a jump the root stands still, and groups go on
            k = last if one.kind == RoundKind.TO else claim.before(j, g)
            # whether the root rises or not: a line leaves groups at levels that it does not tell
            if k is not None and not self._least(self._more(level[j, g], level[k, g])):
                return False
        return True

    def _at_floors(self, j: int) -> bool:
        """Whether those who are due their floor in a round have a level that is worth no more, and
        all others one that is worth as much."""
        claim, one = self.claim, self.claim.rounds[j]
        for n, least in enumerate(claim.tree.floor):
            g = claim.tree.own(n)
            if not (least and claim.free(j, n)) or not (g == ROOT or g in one.size):
                if n in one.floored:
                    return False
                continue
            up = 1 if n in one.floored else -1
            form = {claim.level[j, g]: -up * least.denominator}
            if not self._least(form, up * least.numerator):
                return False
        return True

    def _on_path(self, j: int) -> bool:
        """Whether the levels of a round are those of the path of targets, or of a jump there."""
        claim, size = self.claim, self.claim.rounds[j].size
        if not size.keys() >= claim.asked(j) or not claim.alive[j].issuperset(size):
            return False
        kind = claim.rounds[j].kind
        if kind in (RoundKind.CLASS, RoundKind.LINE):
            return True
        some = len(claim.tree.use[0]) > 1
        for g in claim.alive[j].difference(size) if some else ():
            # one that could stand has had a member stopped at this very level, or in another class
            if self._may_stand(j, g):
                return False
        stuck, ended = list[int](), True
        # on a line nobody counts who does not move on it, and so might be stopped where it begins
        gone = set[int]()
        if kind in (RoundKind.FROM, RoundKind.TO):
            gone = self._unmoved(j, j if kind == RoundKind.FROM else claim.begins(j + 1), ())
        for g, r in size.items():
            up = claim.tree.parent[g]
            if up != ROOT and up not in size:
                return False
            if kind == RoundKind.AGAIN:
                # a group of the root that had more than its target would wait
                if r != BEYOND or (up == ROOT and not self._within(j, g)):
                    return False
                continue
            if r == BEYOND and kind == RoundKind.TO and up in size and self._idle(j, up):
                continue
            if r == BEYOND and not self._jumped(j, g):
                return False
            if r in (WAITS, BEYOND):
                above = [claim.over(j, g, r) for r in range(len(claim.tree.use[0]))]
                if size.get(up) != WAITS and not any(self._value(*f).low > 0 for f in above):
                    return False
                continue
            full = None if size.get(up) == WAITS else self._full(j, g, gone)
            if not full:
                return False
            if False in full:
                stuck.append(g)
                ended &= True in full
        if kind == RoundKind.AGAIN:
            return True
        if kind == RoundKind.FROM:
            return len(stuck) > 0 and all(self._begins(j, g) for g in stuck)
        if kind == RoundKind.TO:
            return ended
        return self._jumps(j, stuck, ended) and (not stuck or self._without(j, stuck))

    def by_then(self, n: int, m: int) -> bool:
        """Whether in the round of m user n is due what it is due in the end."""
        claim, k, j = self.claim, self.claim.turn[n], self.claim.turn[m]
        # who has no more than its floor has that from the first round on
        if k <= j or claim.rounds[k].kind == RoundKind.CLASS or n in claim.rounds[k].floored:
            return True
        if claim.rank[n] != claim.rank[m]:
            return False
        g = claim.tree.own(n)
        if (g != ROOT and g not in claim.rounds[j].size) or n in claim.rounds[j].floored:
            return False
        if (k, j) not in self._same or g != ROOT:
            same = self._none(self._more(claim.level[k, g], claim.level[j, g]))
            if g != ROOT:
                return same
            self._same[k, j] = same
        return self._same[k, j]


__all__ = ["GroupsEnclosed"]
