"""Level by level: the lowest value as high as it can be, then as few users at it as can be.

A placement is improved until prices prove that its lowest level is the best there is; then the
next level. Where no prices prove it, the level stays open and its gap is stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from fairopt.whole import integer, repair
from fairopt.whole.fluid import spread
from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock, Master, MasterGoal, PatternPool, proved, rents, start
from fairopt.whole.patterns import near
from fairopt.whole.proof import cases, claims
from fairopt.whole.proof.certificate import PatternPrices, Prices
from fairopt.whole.proof.claims import DUES, MEASURES, PARTS, ProvedLevel
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem
from fairopt.whole.rounding import filled, rounded, share_out
from fairopt.whole.volumes import volumes

_SHORT = 1e3
"""cost of a task that is short of a level that is known: above every price"""
_FEW_NODES = 100
"""of no more nodes than these, whole numbers of patterns alone are looked at"""
_MOST_CHOICES = 3000
"""most users times rows for which all choices of users are looked at in one program"""


@dataclass
class Search:
    """A search for the best whole tasks: what was found so far, and what was proved.

    Parameters
    ----------
    told : called with words on what is done now.
    """

    problem: Problem
    limits: SearchLimits
    clock: Clock
    told: Callable[[str], None] | None = None
    prices: list[PatternPrices] = field(default_factory=list)
    budget: list[int] = field(default_factory=list)
    proofs: list[int] = field(default_factory=list)
    """prices that proved levels of the best placement, in their order"""
    fewest: bool = False
    """whether only the number of tasks short counts, whoever misses them"""
    programs: int = 0

    def __post_init__(self) -> None:
        self._nothing()
        self.pool = PatternPool(self.problem)
        self.best = Placement(self.problem)
        self.many = sum(own.count for own in self.problem.classes) > _FEW_NODES

    def say(self, words: str) -> None:
        """Say what is done now."""
        if self.told is not None:
            self.told(words)

    @property
    def tired(self) -> bool:
        """Whether no further program may be solved."""
        return self.clock.over or self.programs >= self.limits.programs

    # -- the least number of tasks short ----------------------------------------------------------

    def first(self, begin: Placement | None) -> None:
        """Everybody's whole part, as nearly as can be: patterns, and a placement from them."""
        problem = self.problem
        if begin is not None:
            start(self.pool, begin.nodes())
            self.best = begin.copy()
        filled(self.best)
        self.polish(self.best)
        start(self.pool, self.best.nodes())
        if claims.short(problem, self.best.total):
            self.take(spread(problem))
        for own in volumes(problem):
            self.prices.append(own)
            self.budget.append(own.budget(problem))
        if self.gap() <= 0:
            return
        users = len(problem.users)
        master = Master(self.pool, MasterGoal(problem.whole, [1.0] * users)).solve(
            self.clock, self.told
        )
        self.rounded(master)
        if not self.clock.over:
            rent = Master(self.pool, MasterGoal(problem.whole, [1.0] * users, rent=rents(problem)))
            self.rounded(rent.solve(self.clock, self.told))
        self.repaired()
        if self.gap() > 0:
            self.whole_numbers()
            self.repaired()
        if self.gap() > 0 and self.many and not self.fewest and problem.parts:
            self.take(repair.raised(self.best, self.limits, self.clock))
        if self.gap() <= 0:
            return
        p = self.keep(master)
        gap = self.gap()
        if gap > 0 and p is not None:
            own = self.prices[p]
            if self.add_near(own, gap * max(own.price)):
                self.whole_numbers()
                self.repaired()

    def gap(self) -> int:
        """Tasks short beyond what is proved to be the least."""
        least = max(
            (
                claims.least_short(self.problem, p.price, b)
                for p, b in zip(self.prices, self.budget, strict=True)
            ),
            default=0,
        )
        return claims.short(self.problem, self.best.total) - least

    def whole_numbers(self) -> None:
        """The fewest tasks short over the patterns found."""
        problem = self.problem
        if self.tired:
            return
        self.say("whole numbers of patterns")
        self.programs += 1
        least = problem.at_least
        most = [w // k for w, k in zip(problem.whole, problem.gang, strict=True)]
        # with fewer than it runs with at all, a user is short of its whole part
        drop = [
            w if s > k else 0 for w, s, k in zip(problem.whole, least, problem.gang, strict=True)
        ]
        for n, w in enumerate(drop):
            if w:
                most[n] = (w - least[n]) // problem.gang[n]
        found = integer.fewest_short(
            self.pool,
            problem.whole,
            problem.gang,
            most,
            self.limits,
            self.clock,
            self.best,
            None,
            drop,
        )
        self.take(found)

    def repaired(self) -> None:
        """Fewer tasks short, by a few nodes at a time that are filled again."""
        gap = self.gap()
        if gap > 0 and self.many and not self.clock.over:
            self.say("nodes filled again")
            whole, least = self.problem.whole, claims.short(self.problem, self.best.total) - gap
            top = min((w for w in whole if w), default=1)
            # a task is dear where it is a large part of a whole part, unless only tasks count
            cost = [1.0 if self.fewest or not w else max(0.001, top / w) for w in whole]
            self.take(repair.fewer(self.best, whole, cost, least, self.limits, self.clock))

    def add_near(self, prices: PatternPrices, gap: float) -> int:
        """Patterns worth at most `gap` less than sigma; how many are new.

        A placement that leaves at most this of the budget uses no others.
        """
        new = 0
        for j, own in enumerate(self.problem.classes):
            if own.kinds and own.count:
                worth = [max(0, item[0]) for item in prices.items(self.problem, j)]
                least = max(0, math.floor(prices.sigma[j] - gap))
                for tasks in near(own, worth, prices.hint[j], least, self.limits.near) or ():
                    new += self.pool.add(j, tasks)
        return new

    # -- placements -------------------------------------------------------------------------------

    def rounded(self, master: Master) -> None:
        """The program's own answer in whole nodes, the largest parts of each class rounded up."""
        self.take(rounded(self.pool, master))

    def take(self, found: Placement | None) -> bool:
        """Keep a placement if it is better than the best; whether it is."""
        if found is None:
            return False
        self.polish(found)
        if self.order(found) > self.order(self.best):
            self.best = found
            start(self.pool, found.nodes())
            return True
        return False

    def order(self, placed: Placement) -> tuple[int, list[Fraction], list[Fraction]]:
        """What placements are compared by: the sorted parts, then the sorted dues.

        Where only the tasks that are short count, these come first.
        """
        users = range(len(self.problem.users))
        parts, dues = (
            sorted(claims.value(self.problem, m, n, placed.total[n]) for n in users)
            for m in MEASURES
        )
        short = claims.short(self.problem, placed.total) if self.fewest else 0
        return -short, parts, dues

    def polish(self, placed: Placement) -> None:
        """Take away what is above what is due; fill up whoever is behind, in exact integers."""
        problem = self.problem
        placed.trim([min(f, a) for f, a in zip(problem.full, problem.asked, strict=True)])
        share_out(placed, problem.whole, [Fraction(w) for w in problem.whole])
        share_out(placed, problem.full, problem.due)

    # -- prices -----------------------------------------------------------------------------------

    def keep(self, master: Master) -> int | None:
        """Keep the prices of a program with what the judge checks them by; their number."""
        if master.prices is None or not any(master.prices.price):
            return None
        found = proved(self.pool, master.prices, self.limits.branches)
        self.prices.append(found)
        self.budget.append(found.budget(self.problem))
        return len(self.prices) - 1

    def proves(self, found: Sequence[ProvedLevel], k: int) -> tuple[int, ...]:
        """The numbers of the prices that prove a level: one, or several together; () if none do."""
        rows, last = claims.better(self.problem, found, k)
        for p in range(len(self.prices) - 1, -1, -1):
            if claims.impossible(self.prices[p].price, self.budget[p], rows, last):
                return (p,)
        if last.spared == 0:
            return ()
        # those that proved the levels before, and the newest: each knows another choice of users
        some = sorted({*self.proofs[-4:], *range(max(1, len(self.prices) - 4), len(self.prices))})
        priced = [(self.prices[p].price, self.budget[p]) for p in some]
        if len(some) > 1 and cases.impossible(priced, rows, last):
            return tuple(some)
        return ()

    # -- levels -----------------------------------------------------------------------------------

    def climb(self) -> None:
        """Improve the best placement level by level, as long as prices do not prove it best."""
        k = 0
        known: list[tuple[int, ...]] = []
        while not self.tired:
            found = claims.levels(self.problem, self.best.total)
            if k >= len(found):
                return
            self.proofs = [p for own in known[:k] for p in own]
            proof = self.proves(found, k)
            if not proof:
                self.say(f"level {k + 1} of {len(found)}")
                if self._improve(found, k):
                    now = claims.levels(self.problem, self.best.total)
                    while k and not claims.alike(found[:k], now[:k]):
                        k -= 1
                    del known[k:]
                    continue
                proof = self.proves(found, k)
            known.append(proof)
            k += 1

    def certificate(self) -> Prices:
        """What proves each level of the best placement."""
        self.proofs = []
        found = claims.levels(self.problem, self.best.total)
        levels = []
        for k in range(len(found)):
            levels.append(self.proves(found, k))
            self.proofs += levels[-1]
        used = sorted({*(p for own in levels for p in own), *self._least()})
        place = {p: k for k, p in enumerate(used)}
        return Prices(
            tuple(self.prices[p] for p in used),
            tuple(tuple(place[p] for p in own) for own in levels),
        )

    def _least(self) -> list[int]:
        """The prices that prove the most tasks short, if any are."""
        found = [
            (claims.least_short(self.problem, own.price, b), -p)
            for p, (own, b) in enumerate(zip(self.prices, self.budget, strict=True))
        ]
        best = max(found, default=(0, 0))
        return [-best[1]] if best[0] > 0 else []

    def _nothing(self) -> None:
        """Prices of 0: they prove what is impossible because users ask for less."""
        classes = self.problem.classes
        empty = tuple((0,) * len(own.room) for own in classes)
        self.prices.insert(
            0, PatternPrices((0,) * len(self.problem.users), (0,) * len(classes), empty)
        )
        self.budget.insert(0, 0)

    def _improve(self, found: Sequence[ProvedLevel], k: int) -> bool:
        """Whether a better placement was found; prices that were met are kept."""
        level = found[k]
        base = self._base(found, k)
        open_users = [n for n in range(len(base)) if self._open(found, k, n)]
        first = level.measure == PARTS or not self.problem.parts
        if first and self._higher(level, base, open_users):
            return True
        return self._fewer(level, base, open_users) or self._exchanged(found, k)

    def _open(self, found: Sequence[ProvedLevel], k: int, n: int) -> bool:
        """Whether a user is above the levels before level k."""
        own = [one for one in found[:k] if one.measure == found[k].measure]
        due = claims.of(self.problem, found[k].measure, n)
        return bool(due) and not any(n in one.users for one in own)

    def _base(self, found: Sequence[ProvedLevel], k: int) -> list[int]:
        """(N,) tasks that each user keeps: those of the levels before, and of all parts."""
        base = [0] * len(self.problem.users)
        if found[k].measure == DUES:
            parts = {n for one in found if one.measure == PARTS for n in one.users}
            base = [
                self.best.total[n] if n in parts else w for n, w in enumerate(self.problem.whole)
            ]
        for one in found[:k]:
            for n in one.users:
                base[n] = max(base[n], self.best.total[n])
        return base

    def _higher(self, level: ProvedLevel, base: Sequence[int], open_users: Sequence[int]) -> bool:
        """Raise the lowest value of the open users."""
        users = range(len(base))
        rate = [
            claims.of(self.problem, level.measure, n) if n in set(open_users) else Fraction(0)
            for n in users
        ]
        goal = MasterGoal([0 if rate[n] else base[n] for n in users], [_SHORT] * len(base), rate)
        master = Master(self.pool, goal).solve(self.clock, self.told)
        self.keep(master)
        before = self.best
        self.rounded(master)
        if self.best is not before:
            return True
        after = min(claims.candidates(self.problem, level.measure, level.value), default=None)
        if after is None or -master.bound < float(after) * (1 - 1e-9):
            return False
        if self.tired:
            return False
        self.programs += 1
        return self.take(
            integer.highest(self.pool, goal.want, rate, self.limits, self.clock, self.best)
        )

    def _fewer(self, level: ProvedLevel, base: Sequence[int], open_users: Sequence[int]) -> bool:
        """Let fewer of the open users be at the level, the others above it."""
        want, most, unit = list(base), [0] * len(base), [1] * len(base)
        for n in open_users:
            at = claims.least(self.problem, level.measure, n, level.value)
            up = claims.least(self.problem, level.measure, n, level.value, above=True)
            want[n] = max(want[n], at or 0)
            if up is not None and up > want[n]:
                unit[n], most[n], want[n] = up - want[n], 1, up
        if not any(most):
            return False
        cost = [1.0 / unit[n] if most[n] else _SHORT for n in range(len(base))]
        master = Master(self.pool, MasterGoal(want, cost)).solve(self.clock, self.told)
        self.keep(master)
        if master.bound > len(level.users) - 1 + 1e-6 or self.tired:
            return False
        self.programs += 1
        return self.take(
            integer.fewest_short(
                self.pool, want, unit, most, self.limits, self.clock, self.best, [1] * len(base)
            )
        )

    def _exchanged(self, found: Sequence[ProvedLevel], k: int) -> bool:
        """Let other users than these be at the levels before: all choices of them at once.

        With the prices that come nearest to a proof, what they leave is the most that a pattern of
        a better placement may be worth less than the best one: all such patterns are added.
        """
        rows, last = claims.better(self.problem, found, k)
        if self.tired or len(self.problem.users) * (len(rows) + 1) > _MOST_CHOICES:
            return False
        slack: list[tuple[float, int]] = []
        for p, own in enumerate(self.prices):
            least = claims.cost(own.price, rows, last)
            if least is None or not any(own.price):
                continue
            slack.append(((self.budget[p] - least) / max(own.price), p))
        for left, p in sorted(slack)[:1]:
            self.add_near(self.prices[p], left * max(self.prices[p].price))
        self.programs += 1
        return self.take(integer.exchange(self.pool, rows, last, self.limits, self.clock))

    # -- what is left over ------------------------------------------------------------------------

    def spare(self) -> None:
        """Give what is left to whoever has least of its due, gang by gang, until no gang fits."""
        share_out(self.best, self.problem.asked, self.problem.due)
