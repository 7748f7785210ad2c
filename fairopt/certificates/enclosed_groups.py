"""Whether rounds in groups, whose levels are enclosed, are on the path of targets.

In groups a round is stopped at a level of the root, at which each group has a level of its own: the
least at which its size reaches its target (`formulas.targets`). `groups_claim` has the equations
that say so; here are the inequalities, and what else makes a point one of that path. Where a group
goes on while its size stands still, targets jump: all who jump at once go along one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fairopt.certificates.enclosed import Equation, Interval, Regular
from fairopt.certificates.follows import Follows
from fairopt.certificates.groups_claim import ROOT, STAYS, WAITS, GroupsClaim


@dataclass(frozen=True)
class GroupsEnclosed:
    """Levels of rounds, as a regular system that has the links determines them.

    Parameters
    ----------
    first : place of the first level among the unknowns. follows : what follows from the equations.
    """

    claim: GroupsClaim
    system: Regular
    follows: Follows
    first: int
    _same: dict[tuple[int, int], bool] = field(default_factory=dict)

    def _form(self, form: Mapping[int, int]) -> dict[int, int]:
        return {self.first + i: a for i, a in form.items()}

    def _value(self, form: Mapping[int, int]) -> Interval:
        return self.system.value(self._form(form))

    def _none(self, form: Mapping[int, int]) -> bool:
        """Whether a sum of levels is proved to be 0."""
        return self.follows.gives(self._form(form), 0)

    def _least(self, form: Mapping[int, int]) -> bool:
        """Whether a sum of levels is proved to be 0 or more."""
        here = self._value(form)
        return here.low >= 0 or (here.high >= 0 and self._none(form))

    def _more(self, later: int, sooner: int) -> Equation:
        """How much larger one level is than another."""
        return {} if later == sooner else {later: 1, sooner: -1}

    @cached_property
    def kept(self) -> bool:
        """Whether every round is on the path of targets, after the one before it."""
        claim, users = self.claim, [n for one in self.claim.rounds for n in one.users]
        if len(set(users)) < len(users) or not all(one.users for one in claim.rounds):
            return False
        if any(may and k < 0 for may, k in zip(claim.some, claim.turn, strict=True)):
            return False
        ranks = [claim.rank_of(j) for j in range(len(claim.rounds))]
        if ranks != sorted(ranks):
            return False
        if any(
            claim.rank[n] != k for k, o in zip(ranks, claim.rounds, strict=True) for n in o.users
        ):
            return False
        return all(self._in_order(j) and self._on_path(j) for j in range(len(claim.rounds)))

    def _in_order(self, j: int) -> bool:
        """Whether a round is not before the one told before it."""
        claim, level = self.claim, self.claim.level
        if not all(self._least({level[j, g]: 1}) for g in (ROOT, *claim.rounds[j].size)):
            return False
        if not j or claim.rank_of(j - 1) != claim.rank_of(j):
            return True
        if not self._least(self._more(level[j, ROOT], level[j - 1, ROOT])):
            return False
        for g in claim.rounds[j].size:  # on a jump the root stands still, and groups go on
            k = claim.before(j, g)
            if not (
                k is None or self._rises(j, k) or self._least(self._more(level[j, g], level[k, g]))
            ):
                return False
        return True

    def _rises(self, j: int, k: int) -> bool:
        """Whether the level of the root is proved to be higher in round j than in round k."""
        level = self.claim.level
        return self._value({level[j, ROOT]: 1, level[k, ROOT]: -1}).low > 0

    def _on_path(self, j: int) -> bool:
        """Whether the levels of a round are those of the path of targets, or of a jump there."""
        claim, size = self.claim, self.claim.rounds[j].size
        if not size.keys() >= claim.asked(j) or not claim.alive[j].issuperset(size):
            return False
        if claim.rounds[j].start:
            return True
        some = len(claim.tree.use[0]) > 1
        for g in claim.alive[j].difference(size) if some else ():
            # one that could stand has had a member stopped at this very level, or in another class
            before = [n for n in claim.tree.below[g] if 0 <= claim.turn[n] < j]
            last = max([claim.turn[n] for n in before], default=-1)
            if any(claim.rank[n] != claim.rank_of(j) for n in before) or not (
                last < 0 or self._rises(j, last)
            ):
                return False
        stuck, ended = list[int](), True
        for g, r in size.items():
            up = claim.tree.parent[g]
            if up != ROOT and up not in size:
                return False
            if r == WAITS:
                above = [claim.over(j, g, r) for r in range(len(claim.tree.use[0]))]
                if size.get(up) != WAITS and not any(self._value(f).low > 0 for f in above):
                    return False
                continue
            full = None if size.get(up) == WAITS else self._full(j, g)
            if not full:
                return False
            if False in full:
                stuck.append(g)
                ended &= True in full
        return self._jumps(j, stuck, ended)

    def _jumps(self, j: int, stuck: Sequence[int], ended: bool) -> bool:
        """Whether a round is on the line along which all groups that are stuck at its level jump:
        where it begins or ends, or anywhere if it is that of one group with one level.

        Parameters
        ----------
        ended : whether none of them can go on without a larger size.
        """
        claim, size = self.claim, self.claim.rounds[j].size
        stay = [g for g, r in size.items() if r == STAYS]
        if stay:
            alone = sorted(stay) == sorted(stuck) and all(self._stayed(j, g) for g in stay)
        else:
            alone = len(stuck) == 1
        if not stuck or (ended and not stay):
            return not stay
        return alone and not any(
            claim.tree.parent[g] != ROOT or any(claim.top(h) == g != h for h in claim.alive[j])
            for g in stuck
        )

    def _stayed(self, j: int, g: int) -> bool:
        """Whether a group has the level of the round before, at the same level of the root."""
        k, level = self.claim.before(j, g), self.claim.level
        return k is not None and self._none(self._more(level[j, ROOT], level[k, ROOT]))

    def _full(self, j: int, g: int) -> set[bool] | None:
        """Of the entries that are a group's size whether they grow with it; None where its size is
        not its target."""
        claim, found = self.claim, set[bool]()
        size = claim.rounds[j].size
        for r in range(len(claim.tree.use[0])):
            form = claim.over(j, g, r)
            if max(form.values(), default=0) <= 0 and r != size[g]:
                continue  # nobody uses any
            here = self._value(form)
            if here.high < 0:
                continue
            if here.low > 0 or not (r == size[g] or self._none(form)):
                return None
            grows = [
                n
                for n in claim.tree.below[g]
                if claim.tree.use[n][r] and claim.free(j, n) and size[claim.tree.own(n)] != WAITS
            ]
            found.add(len(grows) > 0)
        return found

    def by_then(self, n: int, m: int) -> bool:
        """Whether in the round of m user n is due what it is due in the end."""
        claim, k, j = self.claim, self.claim.turn[n], self.claim.turn[m]
        if k <= j or claim.rank[n] != claim.rank[m]:
            return k <= j
        g = claim.tree.own(n)
        if g != ROOT and g not in claim.rounds[j].size:
            return False
        if (k, j) not in self._same or g != ROOT:
            same = self._none(self._more(claim.level[k, g], claim.level[j, g]))
            if g != ROOT:
                return same
            self._same[k, j] = same
        return self._same[k, j]


__all__ = ["GroupsEnclosed"]
