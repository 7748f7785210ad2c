"""Where groups stand still while targets rise, and jump: what enclosed levels prove of it.

A group whose size is a target that nobody in it makes larger jumps, and all who jump at one level
of the root go along one line, from the levels with which they come there to those at which sizes
grow again. `groups_claim` has the equations of lines; here are the inequalities that a line is one,
and that nobody was left out who might be stopped where it begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from fairopt.certificates.enclosed import Equation, Interval, Regular
from fairopt.certificates.exact_tree import ROOT
from fairopt.certificates.follows import Follows
from fairopt.certificates.groups_claim import BEYOND, STAYS, WAITS, GroupsClaim, RoundKind


@dataclass(frozen=True)
class LevelsEnclosed:
    """Levels of rounds, as a regular system that has the links determines them, and what of jumps
    they are proved to be.

    Parameters
    ----------
    first : place of the first level among the unknowns. follows : what follows from the equations.
    """

    claim: GroupsClaim
    system: Regular
    follows: Follows
    first: int

    def _form(self, form: Mapping[int, int]) -> dict[int, int]:
        return {self.first + i: a for i, a in form.items()}

    def _value(self, form: Mapping[int, int], last: int = 0) -> Interval:
        """Where a sum of levels, and a number beside them, lies."""
        return self.system.value(self._form(form), last << self.system.shift)

    def _none(self, form: Mapping[int, int], last: int = 0) -> bool:
        """Whether it is proved to be 0."""
        return self.follows.gives(self._form(form), -last << self.system.shift)

    def _least(self, form: Mapping[int, int], last: int = 0) -> bool:
        """Whether it is proved to be 0 or more."""
        here = self._value(form, last)
        return here.low >= 0 or (here.high >= 0 and self._none(form, last))

    def _more(self, later: int, sooner: int) -> Equation:
        """How much larger one level is than another."""
        return {} if later == sooner else {later: 1, sooner: -1}

    def _rises(self, j: int, k: int) -> bool:
        """Whether the level of the root is proved to be higher in round j than in round k."""
        level = self.claim.level
        return self._value({level[j, ROOT]: 1, level[k, ROOT]: -1}).low > 0

    def _begins(self, j: int, g: int) -> bool:
        """Whether a group that is stuck in a round has the level with which it comes there: that of
        the round before, or else none yet."""
        claim, k, level = self.claim, self.claim.last(j), self.claim.level
        if g not in claim.rounds[j].still:
            return False
        if k is not None and not self._rises(j, k):
            return g in claim.rounds[k].size and self._stayed(j, g)
        # it meets its target with the level that it had, so that it went no further
        if (k := claim.before(j, g)) is None:
            return self._none({level[j, g]: 1})
        passed = claim.rounds[k].kind in (RoundKind.STOP, RoundKind.CLASS)
        return passed and self._none(self._more(level[j, g], level[k, g]))

    def _within(self, j: int, g: int) -> bool:
        """Whether a group is proved to have no more than its target in a round."""
        forms = [self.claim.over(j, g, r) for r in range(len(self.claim.tree.use[0]))]
        return all(self._least({i: -a for i, a in form.items()}, -last) for form, last in forms)

    def _jumped(self, j: int, g: int) -> bool:
        """Whether a group that has more than its target at the end of a line has it because groups
        in it jumped, or had it where the line begins, so that all in it stood still; or has it at
        the level that it had before, at a lower level of the root, and so goes no further."""
        claim, level = self.claim, self.claim.level
        if claim.rounds[j].kind == RoundKind.STOP:
            k = claim.before(j, g)
            if k is None or claim.rounds[k].kind != RoundKind.STOP or not self._rises(j, k):
                return False
            return self._none(self._more(level[j, g], level[k, g]))
        if claim.rounds[j].kind != RoundKind.TO:
            return False
        if not self._idle(j, g):
            return self._within(j - 1, g)
        inside = [h for h in claim.rounds[j].size if h != g and g in self._above(h)]
        return all(self._none(self._more(level[j, h], level[j - 1, h])) for h in inside)

    def _idle(self, j: int, g: int) -> bool:
        """Whether a group, or one that it is in, has more than its target from the beginning of a
        line to its end."""
        claim = self.claim
        for h in self._above(g):
            both = [
                [claim.over(k, h, r) for r in range(len(claim.tree.use[0]))] for k in (j - 1, j)
            ]
            if claim.rounds[j].size[h] == BEYOND and all(
                any(self._value(*form).low > 0 for form in forms) for forms in both
            ):
                return True
        return False

    def _above(self, g: int) -> list[int]:
        """The groups that a group is in, and itself."""
        way = [g]
        while self.claim.tree.parent[way[-1]] != ROOT:
            way.append(self.claim.tree.parent[way[-1]])
        return way

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
            claim.tree.parent[g] != ROOT
            or any(claim.top(h) == g != h for h in claim.alive[j])
            or any(claim.tree.floor[n] and not 0 <= claim.turn[n] < j for n in claim.tree.below[g])
            for g in stuck
        )

    def _stayed(self, j: int, g: int) -> bool:
        """Whether a group has the level of the round before, at the same level of the root."""
        k, level = self.claim.before(j, g), self.claim.level
        return k is not None and self._none(self._more(level[j, ROOT], level[k, ROOT]))

    def _may_stand(self, j: int, g: int) -> bool:
        """Whether a group whose level is not asked for may stand still in a round, or wait."""
        claim, below = self.claim, self.claim.tree.below[g]
        # with those at their floors others may go on
        if any(claim.tree.floor[n] and not 0 <= claim.turn[n] < j for n in below):
            return True
        k = claim.before(j, g)
        if k is not None and (
            claim.rounds[k].kind in (RoundKind.LINE, RoundKind.AGAIN)
            or claim.rounds[k].size[g] in (WAITS, BEYOND)
        ):
            return True
        # one that could stand has had a member stopped at this very level, or in another class
        before = [n for n in below if 0 <= claim.turn[n] < j]
        last = max([claim.turn[n] for n in before], default=-1)
        if any(claim.rank[n] != claim.rank_of(j) for n in before) or not (
            last < 0 or self._rises(j, last)
        ):
            return True
        # or will have one, who might be stopped here already
        here = [claim.turn[n] for n in below if claim.free(j, n)]
        return claim.rounds[j].kind != RoundKind.STOP and not all(self._rises(k, j) for k in here)

    def _unmoved(self, j: int, begins: int, jumping: Sequence[int]) -> set[int]:
        """Who is not proved to be due more in the end than where a line begins.

        Parameters
        ----------
        begins : the round with its levels. jumping : groups of one level that jump: where they
            begin is where they were before.
        """
        claim, found = self.claim, set[int]()
        for n in range(len(claim.rank)):
            if not claim.free(j, n):
                continue
            k, g = claim.turn[n], claim.tree.own(n)
            if n in claim.rounds[k].floored:
                found.add(n)
                continue
            if g != ROOT and g not in claim.rounds[begins].size:
                continue  # of a group that is not looked at
            start: int | None = begins
            if g in jumping:
                start = claim.before(j, g)
            form = {claim.level[k, g]: 1}
            if start is not None:
                form = self._more(claim.level[k, g], claim.level[start, g])
            if not self._value(form).low > 0:
                found.add(n)
        return found

    def _without(self, j: int, stuck: Sequence[int]) -> bool:
        """Whether groups that go on in a round in which others jump go on without those, too, who
        do not move: they might be stopped where the jump begins."""
        claim, size = self.claim, self.claim.rounds[j].size
        if STAYS in size.values():  # nobody has moved yet
            return True
        gone = self._unmoved(j, j, stuck)
        for g in claim.alive[j].difference(size) if len(claim.tree.use[0]) > 1 else ():
            here = [claim.turn[n] for n in claim.tree.below[g] if claim.free(j, n)]
            if not all(self._rises(k, j) for k in here):
                return False
        for g, r in size.items():
            if r >= 0 and g not in stuck:
                full = self._full(j, g, gone)
                if full is None or True not in full:
                    return False
        return True

    def _full(self, j: int, g: int, gone: Set[int] = frozenset()) -> set[bool] | None:
        """Of the entries that are a group's size whether they grow with it; None where its size is
        not its target. gone : users who are taken not to move."""
        claim, full = self.claim, list[int]()
        size, below = claim.rounds[j].size, claim.tree.below[g]
        for r in range(len(claim.tree.use[0])):
            form, last = claim.over(j, g, r)
            if max(last, *form.values()) <= 0 and r != size[g]:
                continue  # nobody uses any
            here = self._value(form, last)
            if here.high < 0:
                continue
            if here.low > 0 or not (r == size[g] or self._none(form, last)):
                return None
            full.append(r)
        moving = [n for n in below if self._moves(j, n, g)]
        grows = {r: {n for n in moving if claim.tree.use[n][r]} for r in full}
        every = set[int]().union(*grows.values())
        # whoever is left of those who all grow, or nobody, does not stand still
        if not gone or every.issuperset(n for n in below if claim.free(j, n)):
            gone = frozenset()
        return {not mine <= gone for mine in grows.values()}

    def _moves(self, j: int, n: int, g: int) -> bool:
        """Whether a user is due more as soon as the level of a group that it is in goes on."""
        claim, one = self.claim, self.claim.rounds[j]
        way = claim.tree.above[n]
        waits = any(one.size.get(h) in (WAITS, BEYOND) for h in way[: way.index(g)])
        return claim.free(j, n) and n not in one.floored and not waits


__all__ = ["LevelsEnclosed"]
