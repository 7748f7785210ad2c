"""Few moves: of all placements with everybody's floor, one that keeps most where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairopt.whole import integer
from fairopt.whole.integer import Limits
from fairopt.whole.levels import share_out
from fairopt.whole.master import Clock, Goal, Master, Pool, proved, start
from fairopt.whole.patterns import quiet
from fairopt.whole.proof.certificate import Prices
from fairopt.whole.proof.placement import Nodes, Placement
from fairopt.whole.proof.staying import Staying

_MOST = 60_000
"""most numbers of tasks on single nodes for which nodes are also modelled one by one"""


def keep(
    question: Staying,
    plain: Sequence[Sequence[Mapping[int, int]]],
    seconds: float | None = None,
    limits: Limits | None = None,
    told: Callable[[str], None] | None = None,
) -> tuple[Nodes, Prices]:
    """Nodes of the question's classes that keep as much as was found, and prices that bound it.

    Parameters
    ----------
    plain : for each class, on each of its nodes {user: tasks}, which keep all floors together.
    """
    clock, limits = Clock(seconds), limits or Limits()
    problem = question.problem
    begin = Placement(problem, [
        (j, 1, _kinds(problem, j, own))
        for j, nodes in enumerate(plain) for own in nodes
    ])  # fmt: skip
    pool = Pool(problem)
    start(pool, begin.nodes())
    for j, own in enumerate(problem.classes):  # what runs now, as it is
        stay = tuple(kind.most if kind.bonus else 0 for kind in own.kinds)
        if own.fits(stay):
            pool.add(j, stay)
    dear = 10.0 * max(question.cost, default=1)
    goal = Goal(question.floor, [dear] * len(problem.users), bonus=True)
    master = Master(pool, goal).solve(clock, told)
    empty = Prices((0,) * len(problem.users), (), (), 1)
    prices = proved(pool, master.prices or empty, limits.branches)
    best = begin
    for attempt in (_columns, _nodes):
        if question.kept(best.nodes()) >= question.most(prices):
            break
        if told is not None:
            told("whole numbers of what stays")
        found = attempt(question, pool, limits, clock, best)
        if found is not None and _better(question, found, best):
            best = found
    share_out(best, problem.asked, problem.due)
    return best.nodes(), prices


def _better(question: Staying, found: Placement, best: Placement) -> bool:
    kept = all(m >= f for m, f in zip(found.total, question.floor, strict=True))
    return kept and question.kept(found.nodes()) > question.kept(best.nodes())


def _kinds(problem: Any, j: int, by_user: Any) -> tuple[int, ...]:
    """Numbers by kind of a node: what can stay first."""
    left = dict(by_user)
    found = []
    for kind in problem.classes[j].kinds:
        m = min(left.get(kind.user, 0), kind.most)
        if m:
            left[kind.user] -= m
        found.append(m)
    return tuple(found)


def _trimmed(question: Staying, found: Placement) -> Placement:
    """Nobody above what it asks; a task more than the floor stays only where it ran."""
    found.trim(question.problem.asked)
    return found


def _columns(
    question: Staying, pool: Pool, limits: Limits, clock: Clock, begin: Placement
) -> Placement | None:
    """Whole numbers of the patterns found."""
    users = len(question.problem.users)
    found = integer.fewest_short(
        pool, question.floor, [1] * users, [0] * users, limits, clock, begin, bonus=True
    )
    return None if found is None else _trimmed(question, found)


def _nodes(
    question: Staying, pool: Pool, limits: Limits, clock: Clock, begin: Placement
) -> Placement | None:
    """Whole numbers of tasks on every single node, where there are not too many."""
    import highspy

    problem = question.problem
    rows = [(j, i) for j, own in enumerate(problem.classes) for i in range(own.count)]
    if sum(len(problem.classes[j].kinds) for j, _ in rows) > _MOST:
        return None
    users, size = len(problem.users), len(problem.classes[0].room)
    cost, most, index, value, starts = [], [], [], [], [0]
    at = []
    for place, (j, _) in enumerate(rows):
        own = problem.classes[j]
        for k, kind in enumerate(own.kinds):
            cost.append(-float(kind.bonus))
            most.append(float(kind.most))
            at.append((place, k))
            index.append(kind.user)
            value.append(1.0)
            for r, x in enumerate(kind.need):
                if x:
                    index.append(users + place * size + r)
                    value.append(x / own.room[r])
            starts.append(len(index))
    inf = highspy.kHighsInf
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(cost), users + len(rows) * size
    program.col_cost_, program.col_lower_ = np.array(cost), np.zeros(len(cost))
    program.col_upper_ = np.array(most)
    program.row_lower_ = np.array([*map(float, question.floor), *[-inf] * (len(rows) * size)])
    asked = [float(a) for a in problem.asked]
    program.row_upper_ = np.array([*asked, *[1.0] * (len(rows) * size)])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.array(starts, np.int32)
    program.a_matrix_.index_ = np.array(index, np.int32)
    program.a_matrix_.value_ = np.array(value)
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    model = quiet(mip_max_nodes=limits.nodes, mip_rel_gap=0.0, mip_abs_gap=0.5)
    if clock.end is not None:
        model.setOptionValue("time_limit", max(1.0, clock.left() * 0.8))
    model.passModel(program)
    model.run()
    if model.getInfo().primal_solution_status != 2:
        return None
    tasks = [[0] * len(problem.classes[j].kinds) for j, _ in rows]
    for (place, k), x in zip(at, model.getSolution().col_value, strict=True):
        tasks[place][k] = round(x)
    for (j, _), here in zip(rows, tasks, strict=True):
        while not problem.classes[j].fits(here):  # a tolerance of the program: one new task less
            k = max(k for k, m in enumerate(here) if m)
            here[k] -= 1
    nodes = [(j, 1, here) for (j, _), here in zip(rows, tasks, strict=True)]
    return _trimmed(question, Placement(problem, nodes))
