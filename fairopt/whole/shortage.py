"""The fewest tasks short of whole parts: patterns, whole numbers of them, nodes filled again."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.highs import program, quiet
from fairopt.instance import Floats
from fairopt.whole import integer, repair
from fairopt.whole.found import Found
from fairopt.whole.machines import LARGEST_INTEGER, MachineRow
from fairopt.whole.master import Master, MasterGoal, rents, start
from fairopt.whole.proof import claims
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem
from fairopt.whole.rounding import filled

_MOST_RESOURCES = 3
"""resources of which there is most too little"""


def fewest(state: Found, begin: Placement | None) -> None:
    """Everybody's whole part, as nearly as can be: patterns, and a placement from them."""
    problem = state.problem
    if begin is not None:
        start(state.pool, begin.nodes())
        state.best = begin.copy()
    filled(state.best)
    state.polish(state.best)
    start(state.pool, state.best.nodes())
    if claims.short(problem, state.best.total):
        state.take(spread(problem))
    for own in volumes(problem):
        state.bound_by(own)
    if state.gap() <= 0:
        return
    users = len(problem.users)
    master = Master(state.pool, MasterGoal(problem.whole, [1.0] * users)).solve(
        state.clock, state.told
    )
    state.rounded(master)
    if not state.clock.over:
        rent = Master(state.pool, MasterGoal(problem.whole, [1.0] * users, rent=rents(problem)))
        state.rounded(rent.solve(state.clock, state.told))
    _repaired(state)
    if state.gap() > 0:
        _whole_numbers(state)
        _repaired(state)
    if state.gap() > 0 and state.many and not state.fewest and problem.parts:
        state.take(repair.raised(state.best, state.limits, state.clock))
    if state.gap() <= 0:
        return
    p = state.keep(master)
    gap = state.gap()
    if gap > 0 and p is not None:
        own = state.prices[p]
        if state.add_near(own, gap * max(own.price)):
            _whole_numbers(state)
            _repaired(state)
    state.look_short()


def _whole_numbers(state: Found) -> None:
    """The fewest tasks short over the patterns found."""
    problem = state.problem
    if state.tired:
        return
    state.say("whole numbers of patterns")
    state.programs += 1
    least = problem.at_least
    most = [w // k for w, k in zip(problem.whole, problem.gang, strict=True)]
    # with fewer than it runs with at all, a user is short of its whole part
    drop = [w if s > k else 0 for w, s, k in zip(problem.whole, least, problem.gang, strict=True)]
    for n, w in enumerate(drop):
        if w:
            most[n] = (w - least[n]) // problem.gang[n]
    found = integer.fewest_short(
        state.pool,
        problem.whole,
        problem.gang,
        most,
        state.limits,
        state.clock,
        state.best,
        None,
        drop,
    )
    state.take(found)


def _repaired(state: Found) -> None:
    """Fewer tasks short, by a few nodes at a time that are filled again."""
    gap = state.gap()
    if gap > 0 and state.many and not state.clock.over:
        state.say("nodes filled again")
        whole, least = state.problem.whole, claims.short(state.problem, state.best.total) - gap
        top = min((w for w in whole if w), default=1)
        # a task is dear where it is a large part of a whole part, unless only tasks count
        cost = [1.0 if state.fewest or not w else max(0.001, top / w) for w in whole]
        state.take(repair.fewer(state.best, whole, cost, least, state.limits, state.clock))


def volumes(problem: Problem) -> list[PatternPrices]:
    """Prices in resources that prove tasks to be short, the best first, without a program: no node
    holds more of a resource than it has, so its room bounds the worth of every pattern."""
    size = len(problem.classes[0].room)
    least: dict[int, list[int]] = {}
    for own in problem.classes:
        for kind in own.kinds:
            before = least.get(kind.user, kind.need)
            least[kind.user] = [min(a, b) for a, b in zip(before, kind.need, strict=True)]
    found: list[tuple[int, int, PatternPrices]] = []
    for r in range(size):
        price = tuple(least[n][r] if n in least else 0 for n in range(len(problem.users)))
        sigma = tuple(own.room[r] if own.kinds else 0 for own in problem.classes)
        hint = tuple(int(r == s) for s in range(size))
        prices = PatternPrices(price, sigma, (hint,) * len(problem.classes))
        short = claims.least_short(problem, price, prices.budget(problem)) if any(price) else 0
        if short:
            found.append((-short, r, prices))
    return [prices for _, _, prices in sorted(found, key=lambda own: own[:2])[:_MOST_RESOURCES]]


# The first placement: the fluid answer of the problem itself, spread over the nodes of each class.
#
# min sum y with sum_j x_kj + y_n >= w_n and every class as one pool; then the nodes of a class are
# filled with whole tasks near to its part of that answer, as a plan's heuristic fills them.


def spread(problem: Problem) -> Placement:
    """Whole tasks on all nodes near to a fluid answer with the fewest tasks short."""
    found = _fluid(problem)
    nodes = []
    for j, (own, tasks) in enumerate(zip(problem.classes, found, strict=True)):
        if not (own.kinds and own.count):
            continue
        large = max(own.room) * max(1, own.count) >= LARGEST_INTEGER
        exact: Any = object if large else np.int64
        need = np.array([kind.need for kind in own.kinds], dtype=exact)
        room = np.array(own.room, dtype=exact)
        size = np.array(
            [
                max((x / c for x, c in zip(kind.need, own.room, strict=True) if x), default=0.0)
                for kind in own.kinds
            ]
        )
        row = MachineRow(own.count, room, need)
        row.spread(np.floor(tasks + 1e-6).astype(np.int64), size)
        for count, held in row.machines():
            nodes.append((j, count, own.cut([held.get(k, 0) for k in range(len(own.kinds))])))
    return Placement(problem, nodes)


def _fluid(problem: Problem) -> list[Floats]:
    """For each class, tasks of each kind on all its nodes together."""
    users, size = len(problem.users), len(problem.classes[0].room)
    index: list[int] = []
    value: list[float] = []
    starts, cost, most = [0], [], []
    for n, w in enumerate(problem.whole):
        index.append(n)
        value.append(1.0)
        starts.append(len(index))
        cost.append(1.0)
        most.append(float(w))
    for j, own in enumerate(problem.classes):
        for kind in own.kinds:
            index.append(kind.user)
            value.append(1.0)
            for r, x in enumerate(kind.need):
                if x:
                    index.append(users + j * size + r)
                    value.append(x / own.room[r])
            starts.append(len(index))
            cost.append(0.0)
            most.append(float(kind.most * own.count))
    inf = np.inf
    counts = [float(own.count) for own in problem.classes for _ in range(size)]
    rows = [*map(float, problem.whole), *[-inf] * len(counts)], [*[inf] * users, *counts]
    # an interior answer spreads every user over all its classes, which packs better than a vertex
    model = quiet(solver="ipm", run_crossover="off")
    model.passModel(program(cost, (np.zeros(len(cost)), most), rows, (starts, index, value)))
    model.run()
    found = np.array(model.getSolution().col_value)[users:]
    ends = np.cumsum([0, *(len(own.kinds) for own in problem.classes)])
    if len(found) != ends[-1]:
        return [np.zeros(len(own.kinds)) for own in problem.classes]
    return [found[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
