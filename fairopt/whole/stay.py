"""Few moves: of all placements with everybody's floor, one that keeps most where it runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fairopt.whole import integer
from fairopt.whole.integer import Limits
from fairopt.whole.levels import rounded, share_out
from fairopt.whole.master import Clock, Goal, Master, Pool, proved, start
from fairopt.whole.patterns import quiet
from fairopt.whole.proof.certificate import Prices
from fairopt.whole.proof.placement import Nodes, Placement
from fairopt.whole.proof.problem import Problem, Tasks
from fairopt.whole.proof.staying import Staying

_SHARE = 0.75
"""part of the seconds that are left for one attempt"""
_MOST = 60_000
"""most numbers of tasks on single nodes for which all nodes are one program"""
_TRIES = 8
"""how often floors are raised by what rounding left short"""
_FIRST, _ROUNDS, _SOME = 12, 10, 30
"""how often nodes are filled again, at first and between programs over all patterns that this
found, and how many nodes at a time"""
_STALLED, _PROGRAMS = 2, 5
"""programs over the patterns without anything gained after which the search ends, and in all"""


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
    begin = Placement(
        problem, [(j, 1, _kinds(problem, j, own)) for j, nodes in enumerate(plain) for own in nodes]
    )
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
    near = _near(question, pool, master, clock, dear)

    def done() -> bool:
        return question.kept(best.nodes()) >= question.most(prices) or clock.over

    def take(found: Placement | None) -> bool:
        nonlocal best
        better = found is not None and _better(question, found, best)
        if found is not None and better:
            best = found
        return better

    take(near)
    if not done():
        take(_columns(question, pool, limits, clock, best))
    if not done():  # with the patterns of all nodes that are filled again, good or not
        found = _nodes(question, pool, limits, clock, near, _FIRST, 0)
        take(found)
        start(pool, found.nodes())
    stalled = 0
    for k in range(_PROGRAMS):
        if done() or stalled >= _STALLED:
            break
        if told is not None:
            told(f"what stays: {question.kept(best.nodes())} of at most {question.most(prices)}")
        gained = take(_columns(question, pool, limits, clock, best))
        if not done():
            gained |= take(_nodes(question, pool, limits, clock, best, _ROUNDS, k + 1))
        stalled = 0 if gained else stalled + 1
    if not done():
        part = Clock(None if clock.end is None else clock.left() * _SHARE)
        take(_every_node(question, pool, limits, part, best))
    share_out(best, problem.asked, problem.due)
    return best.nodes(), prices


def _near(question: Staying, pool: Pool, master: Master, clock: Clock, dear: float) -> Placement:
    """The program's answer rounded, with fewest short of their floors.

    Whoever is short after rounding is asked for more in the program, so that rounding leaves less.
    """
    floor = question.floor
    want = list(floor)
    best: tuple[int, int, Placement] | None = None
    for _ in range(_TRIES):
        found = rounded(pool, master)
        share_out(found, floor, [Fraction(f) for f in floor])
        short = [max(0, f - m) for f, m in zip(floor, found.total, strict=True)]
        score = (-sum(short), question.kept(found.nodes()))
        if best is None or score > best[:2]:
            best = (*score, found)
        if not any(short) or clock.over:
            break
        want = [w + s for w, s in zip(want, short, strict=True)]
        goal = Goal(want, [dear] * len(want), bonus=True)
        master = Master(pool, goal).solve(clock)
    assert best is not None
    return best[2]


def _better(question: Staying, found: Placement, best: Placement) -> bool:
    kept = all(m >= f for m, f in zip(found.total, question.floor, strict=True))
    return kept and question.kept(found.nodes()) > question.kept(best.nodes())


def _kinds(problem: Problem, j: int, by_user: Mapping[int, int]) -> Tasks:
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


def _every_node(
    question: Staying, pool: Pool, limits: Limits, clock: Clock, begin: Placement
) -> Placement | None:
    """All nodes at once, one by one, where there are not too many."""
    problem = question.problem
    nodes = [(j, tasks) for j, count, tasks in begin.nodes() for _ in range(count)]
    if sum(len(tasks) for _, tasks in nodes) > _MOST:
        return None
    found = _refilled(
        problem, nodes, question.floor, problem.asked, limits.nodes, clock.left() * _SHARE
    )
    if found is None:
        return None
    pairs = zip(nodes, found, strict=True)
    return _trimmed(question, Placement(problem, ((j, 1, tasks) for (j, _), tasks in pairs)))


def _nodes(
    question: Staying,
    pool: Pool,
    limits: Limits,
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
    nodes = [(j, tasks) for j, count, tasks in begin.nodes() for _ in range(count)]
    total = list(begin.total)
    for _ in range(rounds):
        if clock.over:
            break
        missing = [n for n, f in enumerate(question.floor) if total[n] < f]
        lost = [
            sum(
                kind.bonus * max(0, kind.most - problem.classes[j].by_user(tasks).get(kind.user, 0))
                for kind in problem.classes[j].kinds
                if kind.bonus
            )
            for j, tasks in nodes
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
        found = _refilled(problem, here, need, most, limits.nodes // 40, seconds)
        if found is None:
            continue
        now = problem.totals((j, 1, tasks) for (j, _), tasks in zip(here, found, strict=True))
        for k, tasks in zip(chosen, found, strict=True):
            nodes[k] = (nodes[k][0], tasks)
            j = nodes[k][0]
            pool.add(j, _kinds(problem, j, problem.classes[j].by_user(tasks)))
        total = [r + m for r, m in zip(rest, now, strict=True)]
    return _trimmed(question, Placement(problem, ((j, 1, tasks) for j, tasks in nodes)))


def _refilled(
    problem: Problem,
    here: Sequence[tuple[int, Tasks]],
    need: Sequence[int],
    most: Sequence[int],
    branches: int,
    seconds: float,
) -> list[Tasks] | None:
    """Whole numbers of tasks on these nodes: fewest below `need` of each user, then most kept."""
    import highspy

    users, size = len(problem.users), len(problem.classes[0].room)
    cost: list[float] = []
    upper: list[float] = []
    index: list[int] = []
    value: list[float] = []
    first: list[float] = []
    starts = [0]
    for place, (j, tasks) in enumerate(here):
        own = problem.classes[j]
        for kind, m in zip(own.kinds, _kinds(problem, j, own.by_user(tasks)), strict=True):
            cost.append(-float(kind.bonus))
            upper.append(float(kind.most))
            first.append(float(m))
            index.append(kind.user)
            value.append(1.0)
            for r, x in enumerate(kind.need):
                if x:
                    index.append(users + place * size + r)
                    value.append(x / own.room[r])
            starts.append(len(index))
    total = problem.totals((j, 1, tasks) for j, tasks in here)
    top = max((kind.bonus for j, _ in here for kind in problem.classes[j].kinds), default=1)
    for n, low in enumerate(need):
        cost.append(1000.0 * max(top, 1))
        upper.append(float(low))
        first.append(float(max(0, low - total[n])))
        index.append(n)
        value.append(1.0)
        starts.append(len(index))
    inf = highspy.kHighsInf
    program = highspy.HighsLp()
    rooms = len(here) * size
    program.num_col_, program.num_row_ = len(cost), users + rooms
    program.col_cost_, program.col_lower_ = np.array(cost), np.zeros(len(cost))
    program.col_upper_ = np.array(upper)
    program.row_lower_ = np.array([*map(float, need), *[-inf] * rooms])
    over = [float(max(a, t)) for a, t in zip(most, total, strict=True)]
    program.row_upper_ = np.array([*over, *[1.0] * rooms])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.array(starts, np.int32)
    program.a_matrix_.index_ = np.array(index, np.int32)
    program.a_matrix_.value_ = np.array(value)
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    model = quiet(mip_max_nodes=branches, mip_rel_gap=0.0, mip_abs_gap=0.5)
    if math.isfinite(seconds):
        model.setOptionValue("time_limit", max(0.5, seconds))
    model.passModel(program)
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
        if not own.fits(filled):  # a tolerance of the program
            return None
        found.append(filled)
    return found
