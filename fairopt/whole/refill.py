"""Nodes filled again, one by one, while the others stay as they are: for what stays.

All nodes at once where there are not too many, else some at a time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

import numpy as np

from fairopt.highs import program, quiet
from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock, PatternPool
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem, Tasks
from fairopt.whole.proof.staying import Staying, by_kind

_MOST_NUMBERS = 60_000
"""most numbers of tasks on single nodes for which all nodes are one program"""
_SOME = 30
"""nodes that are filled again at a time"""
_SHARE = 0.75
"""part of the seconds that are left for all nodes at once"""


def trimmed(question: Staying, found: Placement) -> Placement:
    """Nobody above what it asks; a task more than the floor stays only where it ran."""
    found.trim(question.problem.asked)
    return found


def every(
    question: Staying, pool: PatternPool, limits: SearchLimits, clock: Clock, begin: Placement
) -> Placement | None:
    """All nodes at once, one by one, where there are not too many."""
    problem = question.problem
    nodes = [(j, tasks) for j, count, tasks in begin.nodes() for _ in range(count)]
    if sum(len(tasks) for _, tasks in nodes) > _MOST_NUMBERS:
        return None
    others = beside(problem, ())
    found = refilled(
        problem, nodes, question.floor, problem.asked, others, limits.nodes, clock.left() * _SHARE
    )
    if found is None:
        return None
    pairs = zip(nodes, found, strict=True)
    return trimmed(question, Placement(problem, ((j, 1, tasks) for (j, _), tasks in pairs)))


def some(
    question: Staying,
    pool: PatternPool,
    limits: SearchLimits,
    clock: Clock,
    begin: Placement,
    rounds: int,
    seed: int,
) -> Placement:
    """Some nodes at a time filled again, one by one, while the others stay as they are.

    Half of them lose something that runs there, or may hold somebody who is short; half are drawn,
    alike for a seed. It may begin with some users short of their floors. What nodes were filled
    with is added to the pool.
    """
    problem = question.problem
    draw = random.Random(seed)
    if problem.spreads:  # what nodes are filled with has to be even with all others
        begin = trimmed(question, begin.copy())
    nodes = [(j, tasks) for j, count, tasks in begin.nodes() for _ in range(count)]
    total = list(begin.total)
    full = [sum(kind.bonus * kind.most for kind in own.kinds) for own in problem.classes]
    for _ in range(rounds):
        if clock.over:
            break
        missing = [n for n, f in enumerate(question.floor) if total[n] < f]
        lost = [
            full[j] - question.worth(j, problem.classes[j].by_user(tasks)) for j, tasks in nodes
        ]
        if not any(lost) and not missing:
            break
        if missing:  # nodes on which somebody may run who is short
            worst = [
                k
                for k, (j, _) in enumerate(nodes)
                if any(kind.user in missing for kind in problem.classes[j].kinds)
            ]
        else:
            worst = [k for k in range(len(nodes)) if lost[k]]
        size = 2 * _SOME if missing else _SOME
        some = set(draw.sample(worst, min(len(worst), size if missing else size // 2)))
        others = [k for k in range(len(nodes)) if k not in some]
        some |= set(draw.sample(others, min(len(others), size - len(some))))
        chosen = sorted(some)
        mine = problem.totals((nodes[k][0], 1, nodes[k][1]) for k in chosen)
        rest = [t - m for t, m in zip(total, mine, strict=True)]
        need = [max(0, f - r) for f, r in zip(question.floor, rest, strict=True)]
        most = [max(0, a - r) for a, r in zip(problem.asked, rest, strict=True)]
        here = [nodes[k] for k in chosen]
        seconds = math.inf if clock.end is None else min(8.0, clock.left())
        staying = beside(problem, ((*nodes[k], 1) for k in range(len(nodes)) if k not in some))
        found = refilled(problem, here, need, most, staying, limits.nodes // 40, seconds)
        if found is None:
            continue
        now = problem.totals((j, 1, tasks) for (j, _), tasks in zip(here, found, strict=True))
        if uneven(problem, here, found, staying):
            continue
        for k, tasks in zip(chosen, found, strict=True):
            nodes[k] = (nodes[k][0], tasks)
            j = nodes[k][0]
            pool.add(j, by_kind(problem, j, problem.classes[j].by_user(tasks)))
        total = [r + m for r, m in zip(rest, now, strict=True)]
    return trimmed(question, Placement(problem, ((j, 1, tasks) for j, tasks in nodes)))


Others = Sequence[Sequence[int]]
"""of each user that is spread, the tasks in each zone on the nodes that stay as they are"""


def beside(problem: Problem, nodes: Iterable[tuple[int, Tasks, int]]) -> Others:
    """See `Others`; nodes are (class, tasks by kind, how many of them)."""
    found = [[0] * len(own.zones) for own in problem.spreads]
    for j, tasks, count in nodes if found else ():
        held = problem.classes[j].by_user(tasks)
        for row, own in zip(found, problem.spreads, strict=True):
            if own.user in held:
                row[own.zone[j]] += count * held[own.user]
    return found


def uneven(
    problem: Problem,
    here: Sequence[tuple[int, Tasks]],
    found: Sequence[Tasks],
    others: Others,
) -> bool:
    """Whether some zone has too many of a user: a task was left out for a tolerance."""
    mine = beside(problem, ((j, tasks, 1) for (j, _), tasks in zip(here, found, strict=True)))
    return any(
        own.uneven([a + b for a, b in zip(x, y, strict=True)])
        for own, x, y in zip(problem.spreads, mine, others, strict=True)
    )


def refilled(
    problem: Problem,
    here: Sequence[tuple[int, Tasks]],
    need: Sequence[int],
    most: Sequence[int],
    others: Others,
    branches: int,
    seconds: float,
    dear: Sequence[float] = (),
) -> list[Tasks] | None:
    """Whole numbers of tasks on these nodes: fewest below `need` of each user, then most kept.

    No zone has too many of a user that is spread beside another, with what others hold of it.

    Parameters
    ----------
    dear : (N,) cost of a task below, beside each other; () for 1 of everybody.
    """
    import highspy

    users, size = len(problem.users), len(problem.classes[0].room)
    cost: list[float] = []
    upper: list[float] = []
    index: list[int] = []
    value: list[float] = []
    first: list[float] = []
    starts = [0]
    rooms = len(here) * size
    zoned = [users + rooms + z for z in range(sum(map(len, others)))]
    for place, (j, tasks) in enumerate(here):
        own = problem.classes[j]
        for kind, m in zip(own.kinds, by_kind(problem, j, own.by_user(tasks)), strict=True):
            cost.append(-float(kind.bonus))
            upper.append(float(kind.most))
            first.append(float(m))
            index.append(kind.user)
            value.append(1.0)
            for r, x in enumerate(kind.need):
                if x:
                    index.append(users + place * size + r)
                    value.append(x / own.room[r])
            if kind.user in problem.places[j]:
                index.append(zoned[problem.places[j][kind.user]])
                value.append(1.0)
            starts.append(len(index))
    total = problem.totals((j, 1, tasks) for j, tasks in here)
    top = max((kind.bonus for j, _ in here for kind in problem.classes[j].kinds), default=1)
    for n, low in enumerate(need):
        cost.append(1000.0 * max(top, 1) * (dear[n] if dear else 1.0))
        upper.append(float(low))
        first.append(float(max(0, low - total[n])))
        index.append(n)
        value.append(1.0)
        starts.append(len(index))
    there = beside(problem, ((j, tasks, 1) for j, tasks in here))
    low_zone, high_zone, position = [], [], 0
    for spread, mine, rest in zip(problem.spreads, there, others, strict=True):
        # t <= rest + x <= t + skew in every zone, t the tasks in the emptiest one
        cost.append(0.0)
        upper.append(math.inf)
        first.append(float(min(a + b for a, b in zip(mine, rest, strict=True))))
        for x in rest:
            low_zone.append(-float(x))
            high_zone.append(float(spread.skew - x))
            index.append(zoned[position])
            value.append(-1.0)
            position += 1
        starts.append(len(index))
    over = [float(max(a, t)) for a, t in zip(most, total, strict=True)]
    made = program(
        cost,
        (np.zeros(len(cost)), upper),
        (
            [*map(float, need), *[-math.inf] * rooms, *low_zone],
            [*over, *[1.0] * rooms, *high_zone],
        ),
        (starts, index, value),
        [True] * len(cost),
    )
    model = quiet(mip_max_nodes=branches, mip_rel_gap=0.0, mip_abs_gap=0.5)
    if math.isfinite(seconds):
        model.setOptionValue("time_limit", max(0.5, seconds))
    model.passModel(made)
    solution = highspy.HighsSolution()
    solution.col_value = first
    model.setSolution(solution)
    model.run()
    if model.getInfo().primal_solution_status != 2:
        return None
    found: list[Tasks] = []
    at = 0
    values = list(model.getSolution().col_value)
    for j, _ in here:
        own = problem.classes[j]
        filled = tuple(round(x) for x in values[at : at + len(own.kinds)])
        at += len(own.kinds)
        found.append(own.cut(filled))  # a tolerance of the program, or what is not on single cards
    return found
