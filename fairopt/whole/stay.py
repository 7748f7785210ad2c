"""Few moves: of all placements with everybody's floor, one that keeps most where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from fairopt.whole import integer, refill
from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock, Master, MasterGoal, PatternPool, proved, start
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.placement import Nodes, Placement
from fairopt.whole.proof.staying import Staying, by_kind
from fairopt.whole.rounding import rounded, share_out

_SHARE = 0.75
"""part of the seconds that are left for one attempt"""
_TRIES = 8
"""how often floors are raised by what rounding left short"""
_FIRST, _ROUNDS = 12, 10
"""how often nodes are filled again, at first and between programs over all patterns that this
found"""
_DEAR, _DEARER, _DEAREST = 10.0, 6.0, 2500.0
"""cost of a task below its floor beside that of a move, by how much it is raised as long as the
program leaves some short, and the most"""
_NONE = 1e-6
"""fewer tasks than these are none"""
_STALLED, _PROGRAMS = 2, 5
"""programs over the patterns without anything gained after which the search ends, and in all"""


def keep(
    question: Staying,
    plain: Sequence[Sequence[Mapping[int, int]]],
    seconds: float | None = None,
    limits: SearchLimits | None = None,
    told: Callable[[str], None] | None = None,
) -> tuple[Nodes, PatternPrices]:
    """Nodes of the question's classes that keep as much as was found, and prices that bound it.

    Parameters
    ----------
    plain : for each class, on each of its nodes {user: tasks}, which keep all floors together.
    """
    clock, limits = Clock(seconds), limits or SearchLimits()
    problem = question.problem
    begin = Placement(
        problem,
        [(j, 1, by_kind(problem, j, own)) for j, nodes in enumerate(plain) for own in nodes],
    )
    pool = PatternPool(problem)
    start(pool, begin.nodes())
    for j, own in enumerate(problem.classes):  # what runs now, as it is
        stay = tuple(kind.most if kind.bonus else 0 for kind in own.kinds)
        if own.fits(stay):
            pool.add(j, stay)
    master, prices = _priced(question, pool, limits, clock, told)
    best = begin

    def done() -> bool:
        return question.kept(best.nodes()) >= question.most(prices) or clock.over

    def take(found: Placement | None) -> bool:
        nonlocal best
        better = found is not None and _better(question, found, best)
        if found is not None and better:
            best = found
        return better

    take(_near(question, pool, master, clock, 1))
    if not done():
        take(_columns(question, pool, limits, clock, best))
    if not done():
        near = _near(question, pool, master, clock, _TRIES)
        take(near)
    if not done():  # with the patterns of all nodes that are filled again, good or not
        found = refill.some(question, pool, limits, clock, near, _FIRST, 0)
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
            gained |= take(refill.some(question, pool, limits, clock, best, _ROUNDS, k + 1))
        stalled = 0 if gained else stalled + 1
    if not done():
        part = Clock(None if clock.end is None else clock.left() * _SHARE)
        take(refill.every(question, pool, limits, part, best))
    share_out(best, problem.asked, problem.due)
    return best.nodes(), prices


def _priced(
    question: Staying,
    pool: PatternPool,
    limits: SearchLimits,
    clock: Clock,
    told: Callable[[str], None] | None,
) -> tuple[Master, PatternPrices]:
    """The program with nobody short of its floor, and the prices that say how much can stay.

    Totals without slack are worth many moves a task: the cost of one that is missing is raised
    until none is. A cost that is too high to begin with makes the program slow.
    """
    users = len(question.problem.users)
    bonus = [kind.bonus for own in question.problem.classes for kind in own.kinds]
    least = max(bonus, default=1)
    dear = _DEAR
    best = proved(pool, PatternPrices((0,) * users, (), (), 1), limits.branches)
    while True:
        goal = MasterGoal(question.floor, [dear * least] * users, bonus=True)
        master = Master(pool, goal).solve(clock, told)
        done = master.missing() < _NONE or dear > _DEAREST or clock.over
        if done:
            master.settle(limits.branches, clock)
        if master.prices is not None:
            found = proved(pool, master.prices, limits.branches)
            best = min(best, found, key=question.most)
        if done:
            return master, best
        dear *= _DEARER


def _near(
    question: Staying, pool: PatternPool, master: Master, clock: Clock, tries: int
) -> Placement:
    """The program's answer rounded, with fewest short of their floors.

    Whoever is short after rounding is asked for more in the program, so that rounding leaves less.
    """
    floor = question.floor
    want = list(floor)
    best: tuple[int, int, Placement] | None = None
    for left in range(tries - 1, -1, -1):
        found = refill.trimmed(question, rounded(pool, master))
        share_out(found, floor, [Fraction(f) for f in floor])
        short = [max(0, f - m) for f, m in zip(floor, found.total, strict=True)]
        score = (-sum(short), question.kept(found.nodes()))
        if best is None or score > best[:2]:
            best = (*score, found)
        if not any(short) or clock.over or not left:
            break
        want = [w + s for w, s in zip(want, short, strict=True)]
        goal = MasterGoal(want, master.goal.cost, bonus=True)
        master = Master(pool, goal).solve(clock)
    assert best is not None
    return best[2]


def _better(question: Staying, found: Placement, best: Placement) -> bool:
    kept = all(m >= f for m, f in zip(found.total, question.floor, strict=True))
    return kept and question.kept(found.nodes()) > question.kept(best.nodes())


def _columns(
    question: Staying, pool: PatternPool, limits: SearchLimits, clock: Clock, begin: Placement
) -> Placement | None:
    """Whole numbers of the patterns found."""
    users = len(question.problem.users)
    found = integer.fewest_short(
        pool, question.floor, [1] * users, [0] * users, limits, clock, begin, bonus=True
    )
    return None if found is None else refill.trimmed(question, found)
