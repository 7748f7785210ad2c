"""Every filling of the nodes that prices leave open, looked at: where prices alone prove less.

A placement that is looked for costs at least D at some prices, all nodes together are worth B: so
none of its nodes is worth less than sigma - (B - D). The patterns that are worth so much at all the
prices are listed. What totals they make is found node by node: tasks above what counts are not
told apart, totals that are nowhere more than others are left out, and so are those that the other
nodes, at the best they are worth, cannot bring to D. If none is left there is no such placement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from fairopt.whole.proof import cases, claims
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.claims import NeedRow
from fairopt.whole.proof.near import near
from fairopt.whole.proof.problem import Problem

MOST_TOTALS = 100_000
"""totals that are made or compared; beyond, nothing is proved"""
_PATTERNS = 300
"""of a class"""
_NODES, _CLASSES = 300, 60
"""of more nodes or classes than these nothing is looked at"""

Vector = tuple[int, ...]
"""tasks of each user, of one that is spread in each zone"""


@dataclass(frozen=True)
class Wanted:
    """What a placement would have that is looked for. More tasks are never worse for it.

    Parameters
    ----------
    most : (N,) tasks of each user above which no more count.
    cost : what it costs at least at prices (N,), tasks above `most` not counted; None if it cannot
        be had at all.
    reached : whether totals (N,) in whole gangs have it.
    """

    most: Sequence[int]
    cost: Callable[[Sequence[int]], int | None]
    reached: Callable[[Sequence[int]], bool]


def rows_kept(rows: Sequence[NeedRow], last: NeedRow) -> Wanted:
    """All but some users have so many tasks, in every row."""
    every = [*rows, last]

    def reached(totals: Sequence[int]) -> bool:
        return all(
            sum(x is None or m < x for m, x in zip(totals, row.need, strict=True)) <= row.spared
            for row in every
        )

    most = [max(x or 0 for x in column) for column in zip(*(r.need for r in every), strict=True)]
    return Wanted(most, lambda price: claims.cost(price, rows, last), reached)


def short_of(problem: Problem, tasks: int) -> Wanted:
    """At most so many tasks are short of whole parts."""
    most = [min(w, a) for w, a in zip(problem.whole, problem.asked, strict=True)]
    # what is missing in any case of those who ask for less
    rest = tasks - sum(w - m for w, m in zip(problem.whole, most, strict=True))

    def cost(price: Sequence[int]) -> int | None:
        if rest < 0:
            return None
        left, found = rest, sum(p * m for p, m in zip(price, most, strict=True))
        for p, m in sorted(zip(price, most, strict=True), reverse=True):
            found -= p * min(m, left)
            left -= min(m, left)
        return found

    return Wanted(most, cost, lambda totals: claims.short(problem, totals) <= tasks)


def none_better(
    problem: Problem, prices: Sequence[PatternPrices], rows: Sequence[NeedRow], last: NeedRow
) -> bool:
    """Whether prices together prove that no placement keeps these rows: alone, case by case, or by
    the fillings that they leave open."""
    if not prices:
        return False
    priced = [(own.price, own.budget(problem)) for own in prices]
    if any(claims.impossible(*own, rows, last) for own in priced):
        return True
    if len(priced) > 1 and cases.impossible(priced, rows, last):
        return True
    return impossible(problem, prices, rows_kept(rows, last))


def impossible(
    problem: Problem, prices: Sequence[PatternPrices], wanted: Wanted, limit: int = MOST_TOTALS
) -> bool:
    """Whether no filling of all nodes has what is wanted; not where there are too many."""
    if sum(own.count for own in problem.classes) > _NODES or len(problem.classes) > _CLASSES:
        return False
    open_ = []
    """(prices, least cost, how much below the best a node may be)"""
    for own in prices:
        least = wanted.cost(own.price)
        if least is None or least > own.budget(problem):
            return True
        open_.append((own, least, own.budget(problem) - least))
    open_.sort(key=lambda one: (not any(one[0].price), one[2] * 10**9 // max(1, *one[0].price)))
    counted = _Counted(problem, wanted.most)
    nodes: list[tuple[int, int, list[Vector]]] = []
    for j, node in enumerate(problem.classes):
        if not (node.kinds and node.count):
            continue
        worths = [[max(0, item[0]) for item in own.items(problem, j)] for own, _, _ in open_]
        first, _, gap = open_[0]
        found = near(node, worths[0], first.hint[j], max(0, first.sigma[j] - gap), _PATTERNS)
        if found is None:
            return False
        kept = {
            counted.vector(j, tasks)
            for tasks in found
            if all(
                sum(map(mul, worth, tasks)) >= own.sigma[j] - slack
                for worth, (own, _, slack) in zip(worths, open_, strict=True)
            )
        }
        if not kept:
            return True
        nodes.append((j, node.count, sorted(kept)))
    nodes.sort(key=lambda one: (len(one[2]), one[0]))
    return _none(problem, counted, nodes, open_, wanted, limit)


def _none(
    problem: Problem,
    counted: _Counted,
    nodes: Sequence[tuple[int, int, Sequence[Vector]]],
    open_: Sequence[tuple[PatternPrices, int, int]],
    wanted: Wanted,
    limit: int,
) -> bool:
    """Whether no patterns of these nodes together have what is wanted."""
    # what tasks are worth by zone has no part in this: there only the patterns are chosen by it
    plain = [own for own in open_ if not own[0].zones]
    rest = [sum(count * own.sigma[j] for j, count, _ in nodes) for own, _, _ in plain]
    states = {counted.nothing}
    if wanted.reached(counted.totals(counted.nothing)):
        return False
    left = limit
    for j, count, patterns in nodes:
        for _ in range(count):
            rest = [r - own.sigma[j] for r, (own, _, _) in zip(rest, plain, strict=True)]
            left -= len(states) * len(patterns)
            if left < 0:
                return False
            made = {counted.add(state, more) for state in states for more in patterns}
            bounds = [
                (own.price, least - r) for r, (own, least, _) in zip(rest, plain, strict=True)
            ]
            made = {
                state
                for state in made
                if all(sum(map(mul, p, counted.capped(state))) >= low for p, low in bounds)
            }
            if any(wanted.reached(counted.totals(state)) for state in made):
                return False
            states, used = _largest(made, left)
            left -= used
            if left < 0:
                return False
            if not states:
                return True
    return True


def _largest(made: Iterable[Vector], limit: int) -> tuple[set[Vector], int]:
    """Totals that are nowhere more than others are left out; and how many were compared."""
    kept: list[Vector] = []
    used = 0
    for one in sorted(made, key=lambda own: (-sum(own), own)):
        used += len(kept)
        if used > limit:
            break
        if not any(all(map(int.__ge__, other, one)) for other in kept):
            kept.append(one)
    return set(kept), used


class _Counted:
    """What is counted of tasks on nodes: of each user, of one that is spread in each zone."""

    def __init__(self, problem: Problem, most: Sequence[int]) -> None:
        self.problem, self.most = problem, most
        spread = problem.spread_of
        self.place = {
            (n, z): k
            for k, (n, z) in enumerate(
                (n, z)
                for n in range(len(problem.users))
                for z in (range(len(spread[n].zones)) if n in spread else (0,))
            )
        }
        self.top = tuple(most[n] for n, _ in self.place)
        self.nothing = (0,) * len(self.place)

    def vector(self, j: int, tasks: Sequence[int]) -> Vector:
        """Tasks by kind of a node of class j."""
        found = [0] * len(self.place)
        for n, m in self.problem.classes[j].by_user(tasks).items():
            own = self.problem.spread_of.get(n)
            found[self.place[n, 0 if own is None else own.zone[j]]] = m
        return self.add(tuple(found), self.nothing)

    def add(self, a: Vector, b: Vector) -> Vector:
        """Both together, no more than counts."""
        return tuple(min(x + y, t) for x, y, t in zip(a, b, self.top, strict=True))

    def capped(self, state: Vector) -> list[int]:
        """(N,) tasks of each user, no more than counts."""
        found = [0] * len(self.most)
        for (n, _), m in zip(self.place, state, strict=True):
            found[n] = min(self.most[n], found[n] + m)
        return found

    def totals(self, state: Vector) -> list[int]:
        """(N,) tasks with which users can run: in whole gangs, no zone with too many."""
        found = self.capped(state)
        for own in self.problem.spreads:
            there = [state[self.place[own.user, z]] for z in range(len(own.zones))]
            even = sum(min(m, min(there) + own.skew) for m in there)
            found[own.user] = min(found[own.user], even)
        return [self.problem.down(n, m) for n, m in enumerate(found)]
