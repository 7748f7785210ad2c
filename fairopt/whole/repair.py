"""A few nodes filled again, one by one, while the others stay as they are: for tasks short.

Whole numbers of patterns leave a little room here and there. A program over a few single nodes, on
some of which somebody may run who is short, often puts it together, at next to no cost.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock
from fairopt.whole.proof import claims
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem, Tasks
from fairopt.whole.refill import beside, refilled, uneven

_NODES = (4, 10, 6, 16)
"""nodes that are filled again at a time"""
_STALLED = 80
"""programs without a gain after which it ends"""
_HALVES = 6
"""times that what is between the lowest part found and 1 is halved"""
_SECONDS = 5.0
"""of one program, where seconds are limited at all"""


def fewer(
    begin: Placement,
    want: Sequence[int],
    cost: Sequence[float],
    least: int,
    limits: SearchLimits,
    clock: Clock,
) -> Placement | None:
    """A placement with fewer tasks short of what is wanted; None where none was found.

    Parameters
    ----------
    want, cost : (N,) tasks of each user, and what one that is short costs.
    least : with so many short in all it ends.
    """
    problem = begin.problem
    state = _Filled(begin, want)
    draw = random.Random(0)
    gained, stalled, k = False, 0, 0
    while stalled < _STALLED and sum(state.short()) > least and not clock.over:
        size = _NODES[k % len(_NODES)]
        k += 1
        seconds = math.inf if clock.end is None else min(_SECONDS, clock.left())
        better = state.again(draw, size, cost, limits.nodes // 40, seconds)
        gained |= better
        stalled = 0 if better else stalled + 1
    return Placement(problem, state.groups) if gained else None


def raised(begin: Placement, limits: SearchLimits, clock: Clock) -> Placement | None:
    """A placement with a higher lowest part of whole parts; None where none was found.

    It begins with as few tasks short as can be found: users who then miss a large part of little
    get it from those who miss a small part of much.
    """
    problem = begin.problem
    users, ones = range(len(problem.users)), [1.0] * len(problem.users)
    few = fewer(begin, problem.whole, ones, 0, limits, clock) or begin
    low = min(claims.value(problem, claims.PARTS, n, begin.total[n]) for n in users)
    high, best = Fraction(1), None
    for _ in range(_HALVES):
        if clock.over or low >= high:
            break
        at = (low + high) / 2
        want = [claims.least(problem, claims.PARTS, n, at) or 0 for n in users]
        tried = fewer(few, want, ones, 0, limits, clock) or few
        if any(m < w for m, w in zip(tried.total, want, strict=True)):
            high = at
        else:
            low, best = at, tried.copy()
    return best


class _Filled:
    """Nodes as they are filled, and the tasks of everybody."""

    def __init__(self, begin: Placement, want: Sequence[int]) -> None:
        self.want = want
        self.problem: Problem = begin.problem
        self.groups: list[tuple[int, int, Tasks]] = list(begin.nodes())
        self.total = list(begin.total)

    def short(self, total: Sequence[int] = ()) -> list[int]:
        """(N,) tasks that are missing of what is wanted."""
        pairs = zip(self.want, total or self.total, strict=True)
        return [max(0, w - m) for w, m in pairs]

    def again(
        self, draw: random.Random, size: int, cost: Sequence[float], branches: int, seconds: float
    ) -> bool:
        """Fill some nodes again; whether less is short. What is no worse is kept in any case."""
        problem = self.problem
        missing = {n for n, m in enumerate(self.short()) if m}
        able = [
            any(kind.user in missing for kind in problem.classes[j].kinds)
            for j, _, _ in self.groups
        ]
        some = [g for g, good in enumerate(able) if good]
        if not some:
            return False
        picked: dict[int, int] = {}
        for _ in range(size):  # kinds of fillings alike, and nodes alike
            many = [self.groups[g][1] for g in some]
            g = draw.choice(some) if draw.random() < 0.5 else draw.choices(some, many)[0]
            if picked.get(g, 0) < self.groups[g][1]:
                picked[g] = picked.get(g, 0) + 1
        chosen = [g for g, times in picked.items() for _ in range(times)]
        here = [(self.groups[g][0], self.groups[g][2]) for g in chosen]
        mine = problem.totals((j, 1, tasks) for j, tasks in here)
        rest = [t - m for t, m in zip(self.total, mine, strict=True)]
        need = [max(0, w - r) for w, r in zip(self.want, rest, strict=True)]
        most = [max(0, a - r) for a, r in zip(problem.asked, rest, strict=True)]
        others = beside(
            problem,
            (
                (j, tasks, count - picked.get(g, 0))
                for g, (j, count, tasks) in enumerate(self.groups)
            ),
        )
        found = refilled(problem, here, need, most, others, branches, seconds, cost)
        if found is None or uneven(problem, here, found, others):
            return False
        now = problem.totals((j, 1, tasks) for (j, _), tasks in zip(here, found, strict=True))
        total = [r + m for r, m in zip(rest, now, strict=True)]
        before, after = self._worth(self.total, cost), self._worth(total, cost)
        if after > before:
            return False
        for g, times in picked.items():
            j, count, tasks = self.groups[g]
            self.groups[g] = (j, count - times, tasks)
        self.groups += [(j, 1, tasks) for (j, _), tasks in zip(here, found, strict=True)]
        self.groups = [own for own in self.groups if own[1]]
        self.total = total
        return after < before

    def _worth(self, total: Sequence[int], cost: Sequence[float]) -> float:
        return sum(c * m for c, m in zip(cost, self.short(total), strict=True))
