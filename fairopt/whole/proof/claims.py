r"""Levels of an answer in whole tasks, and what prices prove of them.

Two measures, one after the other: *parts* min(1, m_n / w_n) of the whole part that is due, then
*dues* min(1, m_n / d_n). A *level* is a value below 1 with the number of users at it. Sorted
vectors are compared from the lowest value, so a placement is better than this one exactly if for
some level it agrees in all levels before and has fewer users at or below that one. Such a placement
would have

- at every level before, at most as many users below the next value as this one has: *all but K
  users have at least x_n tasks*;
- at the level, all but K - 1 users above it.

What all this costs at given prices is bounded from below: of every step that a user must make, the
K dearest are taken off. If that is above what all nodes are worth, there is no such placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest

from fairopt.whole.proof.problem import Problem

PARTS, DUES = "parts", "dues"
MEASURES = (PARTS, DUES)
_MOST_SHORT = 1000
"""with gangs, tasks short are counted exactly up to so many"""
_MOST_ROWS = 24
"""with more rows than these only the first and the last are looked at"""


@dataclass(frozen=True)
class ProvedLevel:
    """A value below 1 of a measure, and the users at it.

    Parameters
    ----------
    measure : "parts" or "dues". value : from 0 to below 1.
    users : positions of those at the value. below : number of users at lower values.
    """

    measure: str
    value: Fraction
    users: tuple[int, ...]
    below: int


def value(problem: Problem, measure: str, n: int, tasks: int) -> Fraction:
    """What `tasks` are worth to user n in a measure; 1 where nothing is due in it."""
    due = of(problem, measure, n)
    return Fraction(1) if tasks >= due else Fraction(tasks) / due


def of(problem: Problem, measure: str, n: int) -> Fraction:
    """What user n is measured against."""
    return Fraction(problem.whole[n]) if measure == PARTS else problem.due[n]


def levels(problem: Problem, totals: Sequence[int]) -> list[ProvedLevel]:
    """All levels of an answer: of parts from the lowest, then of dues."""
    found = []
    for measure in MEASURES:
        at: dict[Fraction, list[int]] = {}
        for n, m in enumerate(totals):
            here = value(problem, measure, n, m)
            if here < 1:
                at.setdefault(here, []).append(n)
        below = 0
        for v in sorted(at):
            found.append(ProvedLevel(measure, v, tuple(at[v]), below))
            below += len(at[v])
    return found


def least(problem: Problem, measure: str, n: int, at: Fraction, above: bool = False) -> int | None:
    """The fewest tasks with which user n is at a value, or above it; None where it asks less."""
    due, gang = of(problem, measure, n), problem.gang[n]
    if due == 0:
        return 0
    if at >= 1:
        need = problem.whole[n] if measure == PARTS else problem.full[n]
    else:
        need = -gang * int(-(at * due) // gang)
        if above and need == at * due:
            need += gang
    return need if need <= problem.asked[n] else None


Need = Sequence[int | None]
"""(N,) the fewest tasks of each user; None for one who cannot have as many"""


@dataclass(frozen=True)
class NeedRow:
    """All but `spared` users have at least `need` tasks."""

    need: Need
    spared: int


def rows_at_least(problem: Problem, found: Sequence[ProvedLevel], measure: str) -> list[NeedRow]:
    """What holds of every placement that agrees with these levels of a measure.

    All users are at the lowest value or above it, all but those there at the next one, and so on;
    all others have what is due.
    """
    own = [level for level in found if level.measure == measure]
    rows = [
        NeedRow([least(problem, measure, n, level.value) for n in _all(problem)], level.below)
        for level in own
    ]
    spared = own[-1].below + len(own[-1].users) if own else 0
    rows.append(NeedRow([least(problem, measure, n, Fraction(1)) for n in _all(problem)], spared))
    return rows


def better(problem: Problem, found: Sequence[ProvedLevel], k: int) -> tuple[list[NeedRow], NeedRow]:
    """What a placement would have that agrees in the levels before `found[k]` and is better there.

    Returns the rows of the levels before, and that of the level.
    """
    level = found[k]
    before = [one for one in found[:k] if one.measure == level.measure]
    rows = rows_at_least(problem, found, PARTS) if level.measure == DUES else []
    rows += [
        NeedRow([least(problem, level.measure, n, one.value) for n in _all(problem)], one.below)
        for one in [*before, level]
    ]
    last = [least(problem, level.measure, n, level.value, above=True) for n in _all(problem)]
    return rows, NeedRow(last, level.below + len(level.users) - 1)


def reaching(problem: Problem, found: Sequence[ProvedLevel], k: int, at: Fraction) -> list[NeedRow]:
    """Rows of a placement that agrees before `found[k]` and has the others at `at` or above."""
    level = found[k]
    rows, _ = better(problem, found, k)
    last = [least(problem, level.measure, n, at) for n in _all(problem)]
    return [*rows, NeedRow(last, level.below)]


def _all(problem: Problem) -> range:
    return range(len(problem.users))


def impossible(price: Sequence[int], budget: int, rows: Sequence[NeedRow], last: NeedRow) -> bool:
    """Whether rows and the last one together cost more than the budget."""
    found = cost(price, rows, last)
    return found is None or found > budget


def cost(price: Sequence[int], rows: Sequence[NeedRow], last: NeedRow) -> int | None:
    """What rows and the last one together cost at least; None if they cannot be kept at all.

    Every choice of rows gives a right bound. Where users are spared at many levels, the steps are
    dearest when only the rows of everybody and the last one are looked at.
    """
    must = [row for row in rows if row.spared == 0]
    choices = [[*must, last]]
    if len(rows) > len(must):
        some = rows if len(rows) <= _MOST_ROWS else [*rows[:2], *rows[-2:]]
        choices.append([*some, last])
    found = [_cost(price, chosen) for chosen in choices]
    return None if None in found else max(x for x in found if x is not None)


def _cost(price: Sequence[int], rows: Sequence[NeedRow]) -> int | None:
    """What these rows cost at least, the steps of each given to the row that spares fewest."""
    found = steps(price, rows)
    return None if found is None else found[0]


def steps(
    price: Sequence[int], rows: Sequence[NeedRow]
) -> tuple[int, list[tuple[int, int, int]]] | None:
    """(what these rows cost at least, the steps (saved, row, user) that were taken off).

    None if the rows cannot be kept at all. The steps of each user are given to the row that spares
    fewest; of the steps of a row, the dearest are taken off.
    """
    held = [0] * len(price)
    total, off = 0, []
    for k in sorted(range(len(rows)), key=lambda k: rows[k].spared):
        row, own = rows[k], []
        spared = row.spared
        for n, need in enumerate(row.need):
            if need is None:  # this user is one of those spared, whatever it costs
                spared -= 1
            elif need > held[n]:
                own.append((price[n] * (need - held[n]), k, n))
                held[n] = need
        if spared < 0:
            return None
        dearest = nlargest(spared, own)
        total += sum(step[0] for step in own) - sum(step[0] for step in dearest)
        off += dearest
    return total, off


def least_short(problem: Problem, price: Sequence[int], budget: int) -> int:
    """No placement is fewer tasks short of all whole parts.

    The tasks that are short are worth what the whole parts cost above the budget, and nobody is
    short of more than its whole part, or of part of a gang.
    """
    users = sorted(_all(problem), key=lambda n: (-price[n], n))
    lack = sum(p * w for p, w in zip(price, problem.whole, strict=True)) - budget
    must = {n: max(0, problem.whole[n] - problem.asked[n]) for n in users}
    found = sum(must.values())
    lack -= sum(price[n] * m for n, m in must.items())
    if any(problem.gang[n] > 1 for n in users if problem.whole[n]):
        more = _fewest_in_gangs(problem, price, lack, [problem.whole[n] - must[n] for n in users])
        if more is not None:
            return found + more
    for n in users:  # dearest first
        if lack <= 0 or price[n] == 0:
            break
        tasks = min(problem.whole[n] - must[n], -(-lack // price[n]))
        found += tasks
        lack -= tasks * price[n]
    return found


def _fewest_in_gangs(
    problem: Problem, price: Sequence[int], lack: int, most: Sequence[int]
) -> int | None:
    """The fewest tasks in whole gangs worth `lack`; None where they are too many to count."""
    users = sorted(_all(problem), key=lambda n: (-price[n], n))
    best = [0]
    """the most that so many tasks in whole gangs are worth, or -1"""
    while max(best) < lack:
        if len(best) > _MOST_SHORT:
            return None
        size = 2 * len(best)
        best = [0] + [-1] * size
        for n, top in zip(users, most, strict=True):
            gang, worth = problem.gang[n], price[n] * problem.gang[n]
            gangs, part = top // gang, 1
            while gangs > 0 and worth:
                step = min(part, gangs)
                for s in range(size, step * gang - 1, -1):
                    before = best[s - step * gang]
                    if before >= 0 and before + step * worth > best[s]:
                        best[s] = before + step * worth
                gangs -= step
                part *= 2
        if size > sum(most) and max(best) < lack:
            return sum(most) + 1  # cannot be: the prices are no proof
    return next(s for s, x in enumerate(best) if x >= lack) if lack > 0 else 0


def short(problem: Problem, totals: Sequence[int]) -> int:
    """Tasks that are missing of the whole parts of all users."""
    return sum(max(w - m, 0) for w, m in zip(problem.whole, totals, strict=True))


def candidates(problem: Problem, measure: str, low: Fraction) -> Iterator[Fraction]:
    """Values above `low` that users can be at next."""
    for n in _all(problem):
        due = of(problem, measure, n)
        need = least(problem, measure, n, low, above=True) if due else None
        if need is not None:
            yield value(problem, measure, n, need)


def alike(a: Sequence[ProvedLevel], b: Sequence[ProvedLevel]) -> bool:
    """Whether levels have the same values with as many users."""
    return [(x.measure, x.value, len(x.users)) for x in a] == [
        (x.measure, x.value, len(x.users)) for x in b
    ]
