"""What was found so far of whole tasks, and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock, Master, PatternPool, proved, start
from fairopt.whole.proof import cases, claims, fillings
from fairopt.whole.proof.certificate import PatternPrices, Prices
from fairopt.whole.proof.claims import MEASURES, ProvedLevel
from fairopt.whole.proof.near import near
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem
from fairopt.whole.rounding import rounded, share_out

_FEW_NODES = 100
"""of no more nodes than these, whole numbers of patterns alone are looked at"""
_NEWEST = 4
"""prices that are looked at together: so many of the newest, and of those that proved levels"""


@dataclass
class Found:
    """The best placement that was found so far, and the prices that bound all others.

    Parameters
    ----------
    told : called with words on what is done now.
    fewest : whether only the number of tasks short counts, whoever misses them.
    """

    problem: Problem
    limits: SearchLimits
    clock: Clock
    told: Callable[[str], None] | None = None
    fewest: bool = False
    prices: list[PatternPrices] = field(default_factory=list)
    budget: list[int] = field(default_factory=list)
    proofs: list[int] = field(default_factory=list)
    """prices that proved levels of the best placement, in their order"""
    programs: int = 0
    least: int = 0
    """no placement is fewer tasks short, by the prices alone or by what they leave open"""
    looked: tuple[int, ...] = ()
    """the prices that proved this by the fillings that they leave open, if any did"""

    def __post_init__(self) -> None:
        problem = self.problem
        size = tuple((0,) * len(own.room) for own in problem.classes)
        # prices of 0: they prove what is impossible because users ask for less
        nothing = PatternPrices((0,) * len(problem.users), (0,) * len(size), size)
        self.bound_by(nothing)
        self.pool = PatternPool(problem)
        self.best = Placement(problem)
        self.many = sum(own.count for own in problem.classes) > _FEW_NODES

    def say(self, words: str) -> None:
        """Say what is done now."""
        if self.told is not None:
            self.told(words)

    @property
    def tired(self) -> bool:
        """Whether no further program may be solved."""
        return self.clock.over or self.programs >= self.limits.programs

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

    # -- prices -----------------------------------------------------------------------------------

    def bound_by(self, prices: PatternPrices) -> int:
        """Keep prices that the judge can check; their number."""
        self.prices.append(prices)
        self.budget.append(prices.budget(self.problem))
        short = claims.least_short(self.problem, prices.price, self.budget[-1])
        if short > self.least:
            self.least, self.looked = short, ()
        return len(self.prices) - 1

    def keep(self, master: Master) -> int | None:
        """Keep the prices of a program with what the judge checks them by; their number."""
        if master.prices is None or not any(master.prices.price):
            return None
        return self.bound_by(proved(self.pool, master.prices, self.limits.branches))

    def gap(self) -> int:
        """Tasks short beyond what is proved to be the least."""
        return claims.short(self.problem, self.best.total) - self.least

    def proves(self, found: Sequence[ProvedLevel], k: int) -> tuple[int, ...]:
        """The numbers of the prices that prove a level: one, or several together; () if none do."""
        rows, last = claims.better(self.problem, found, k)
        for p in range(len(self.prices) - 1, -1, -1):
            if claims.impossible(self.prices[p].price, self.budget[p], rows, last):
                return (p,)
        if last.spared == 0:
            return ()
        some = self._some()
        priced = [(self.prices[p].price, self.budget[p]) for p in some]
        if len(some) > 1 and cases.impossible(priced, rows, last):
            return some
        return ()

    def _some(self) -> tuple[int, ...]:
        """Prices that are looked at together, each of which may know another choice of users: those
        that proved the levels before, and the newest."""
        newest = range(max(1, len(self.prices) - _NEWEST), len(self.prices))
        return tuple(sorted({*self.proofs[-_NEWEST:], *newest})) or (0,)

    def look(self, found: Sequence[ProvedLevel], k: int) -> tuple[int, ...]:
        """The prices that prove a level by every filling that they leave open; () if none do."""
        rows, last = claims.better(self.problem, found, k)
        some = self._some()
        own = [self.prices[p] for p in some]
        good = fillings.impossible(self.problem, own, fillings.rows_kept(rows, last))
        return some if good else ()

    def look_short(self) -> None:
        """Prove that no placement is fewer tasks short, by every filling that prices leave open."""
        short = claims.short(self.problem, self.best.total)
        if short <= self.least or self.clock.over:
            return
        some = self._some()
        own = [self.prices[p] for p in some]
        if fillings.impossible(self.problem, own, fillings.short_of(self.problem, short - 1)):
            self.least, self.looked = short, some

    def certificate(self) -> Prices:
        """What proves each level of the best placement, and the fewest tasks short."""
        self.proofs = []
        found = claims.levels(self.problem, self.best.total)
        levels: list[tuple[int, ...]] = []
        for k in range(len(found)):
            proof = self.proves(found, k)
            if not proof and all(levels) and not self.clock.over:
                proof = self.look(found, k)
            levels.append(proof)
            self.proofs += proof
        used = sorted({*(p for own in levels for p in own), *self._least()})
        place = {p: k for k, p in enumerate(used)}
        return Prices(
            tuple(self.prices[p] for p in used),
            tuple(tuple(place[p] for p in own) for own in levels),
            self.least if self.looked else 0,
            tuple(place[p] for p in self.looked),
        )

    def _least(self) -> tuple[int, ...]:
        """The prices that prove the most tasks short, if any are."""
        if self.looked:
            return self.looked
        found = [
            (claims.least_short(self.problem, own.price, b), -p)
            for p, (own, b) in enumerate(zip(self.prices, self.budget, strict=True))
        ]
        best = max(found, default=(0, 0))
        return (-best[1],) if best[0] > 0 else ()

    def spare(self) -> None:
        """Give what is left to whoever has least of its due, gang by gang, until no gang fits."""
        share_out(self.best, self.problem.asked, self.problem.due)
