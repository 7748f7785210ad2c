"""What the proof of levels asks of tasks and prices, each thing by a case in which nothing else is
wrong."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged
from fairopt.certificates.enclosed_levels import TasksClaim, TasksEnclosed
from fairopt.certificates.enclosed_prices import Judge, PricesClaim, PricesEnclosed
from fairopt.certificates.enclosed_search import exact_levels
from fairopt.certificates.exact_case import ExactCase, held
from fairopt.certificates.exact_verdict import ALL_ROUNDS


def case(
    rows,
    owner,
    score=None,
    flows=(),
    weight=None,
    rank=None,
    shut=(),
    unit=None,
    floor=None,
    base=None,
):
    """rows : ({column: entry}, right side). flows : (low, high) of the columns after the tasks."""
    users, size = max(owner) + 1, len(owner) + len(flows)
    column = [{k: row[c] for k, (row, _) in enumerate(rows) if c in row} for c in range(size)]
    open_ = [[c for c, n in enumerate(owner) if n == m and c not in shut] for m in range(users)]
    return ExactCase(
        column,
        [row for row, _ in rows],
        [right for _, right in rows],
        list(owner),
        list(score or [1] * len(owner)),
        list(unit or [1] * users),
        open_,
        [None if low is None else F(low) for low, _ in flows],
        [None if high is None else F(high) for _, high in flows],
        [F(w) for w in weight or [1] * users],
        list(rank or [0] * users),
        [F(v) for v in floor or [0] * users],
        [F(v) for v in base or [0] * users],
    )


LENT = [({0: 1, 2: 1}, 4), ({1: 1, 2: -1}, 1)]
BOTH = ([0], {0: 1, 1: 1})
LENDING = case(LENT, [0, 1], flows=[(0, 1)])
BORROWING = case([({0: 1, 2: 1}, 1), ({1: 1, 2: -1}, 4)], [0, 1], flows=[(-1, 0)])
FREELY = case(LENT, [0, 1], flows=[(None, None)])
PAID = case([({0: 1}, 1), ({0: -1, 1: 1}, 1)], [0, 1])
PAYS = case([({0: 1, 1: -1}, 1), ({1: 1}, 5)], [0, 1], weight=[1, F(1, 10)])
THIRDS = {"score": [1, 2, 1], "unit": [3, 3]}
SERVERS = case([({0: 1, 2: 1}, 2), ({1: 1}, 1)], [0, 0, 1], **THIRDS)
SWAPPED = case([({1: 1, 2: 1}, 2), ({0: 1}, 1)], [0, 0, 1], score=[2, 1, 1], unit=[3, 3])
FREE = case([({0: 1, 2: 1}, 2), ({1: 1}, 5)], [0, 0, 1])
LAST = case([({1: 1, 2: 1}, 2), ({0: 1}, 5)], [0, 0, 1], score=[1, 2, 2])
DOUBLE = case([({0: 2, 2: 1}, 2), ({1: 1}, 1)], [0, 0, 1], **THIRDS)
CROSSED = case([({0: 1, 1: 1}, 3), ({0: 1, 1: 2}, 4)], [0, 1])
CLASSES = case([({0: 1, 1: 1}, 2)], [0, 1], rank=[1, 0])
SHUT = case([({0: 1, 1: 1}, 2), ({1: 1}, 0)], [0, 1], shut=[1])
HEAVY = case([({0: 1, 1: 1}, 3)], [0, 1], weight=[2, 1])
SHARED = [({0: 1, 1: 1}, 4)]
PROMISED = case(SHARED, [0, 1], floor=[3, 0])
LESS = case(SHARED, [0, 1], floor=[1, 0])
ABOVE = case(SHARED, [0, 1], floor=[2, 0], base=[2, 0])
LATER = case(SHARED, [0, 1], floor=[1, 0], rank=[1, 0])


ASKED = [
    (LENDING, [3, 2, 1], 1, [([1], {1: 1}), BOTH], [3, 2]),
    (LENDING, [6, 4, 2], 2, [([1], {1: 1}), BOTH], [3, 2]),
    (LENDING, [3, 2, 1], 1, [([1], {1: 1}), ([0], {0: 1})], None),  # a flow that costs is high
    (LENDING, [4, 1, 0], 1, [([1], {1: 1}), BOTH], None),  # one that brings is low
    (LENDING, [7, 3, 1], 2, [([1], {1: 1}), BOTH], None),  # it is between
    (LENDING, [2, 3, 2], 1, [([0], {0: 1, 1: 1}), ([1], {1: 1})], None),  # it is above its end
    (LENDING, [5, 0, -1], 1, [([1], {0: 1, 1: 1}), BOTH], None),  # it is below
    (BORROWING, [2, 3, -1], 1, [([0], {0: 1}), ([1], {0: 1, 1: 1})], [2, 3]),
    (BORROWING, [1, 4, 0], 1, [([0], {0: 1}), ([1], {0: 1, 1: 1})], None),
    (BORROWING, [4, 6, -2], 2, [([0], {0: 1}), ([1], {0: 1, 1: 1})], [2, 3]),
    (LENDING, [5, 5, 3], 2, [BOTH], None),  # nothing wrong but a flow above its end
    (BORROWING, [5, 5, -3], 2, [BOTH], None),
    (FREELY, [5, 5, 3], 2, [BOTH], [F(5, 2), F(5, 2)]),
    (FREELY, [3, 2, 1], 1, [([1], {1: 1}), BOTH], None),  # no end at which it could be
    (FREELY, [3, 2, 1], 1, [([1], {}), BOTH], None),  # nothing stops the second
    (PAID, [1, 2], 1, [([0], {0: 1}), ([1], {0: 1, 1: 1})], [1, 2]),
    (PAID, [1, 2], 1, [([0], {0: 1}), ([1], {1: 1})], None),  # whoever was stopped is paid
    (PAYS, [6, 5], 1, [([0], {0: 1, 1: 1}), ([1], {1: 1})], [6, 50]),
    (PAYS, [2, 1], 1, [([0], {0: 1}), ([1], {})], None),  # whoever is stopped later is paid
    (PAYS, [2, 1], 1, [([0], {0: 1}), ([1], {0: 1, 1: 1})], None),  # a row has room
    (SERVERS, [0, 1, 2], 1, [([0, 1], {0: 1, 1: 2})], [F(2, 3), F(2, 3)]),
    (SERVERS, [0, 1, 2], 1, [([0, 1], {0: 1, 1: 1})], [F(2, 3), F(2, 3)]),
    (SERVERS, [0, 1, 2], 1, [([0, 1], {0: 1, 1: 3})], None),  # it runs where it is dearer
    (SERVERS, [1, 1, 1], 1, [([1], {0: 1}), ([0], {0: 1, 1: 2})], None),  # later users pay
    (SERVERS, [0, 1, 2], 1, [([0], {1: 2})], None),  # nothing stops the second
    (SERVERS, [0, 1, 2], 1, [([0], {1: 2}), ([1], {0: 1, 1: 2})], [F(2, 3), F(2, 3)]),
    (SERVERS, [0, 2, 4], 2, [([0, 1], {0: 1, 1: 2})], [F(2, 3), F(2, 3)]),
    (SWAPPED, [1, 0, 2], 1, [([0, 1], {0: 3, 1: 2})], [F(2, 3), F(2, 3)]),
    (SWAPPED, [1, 1, 1], 1, [([0, 1], {0: 3, 1: 2})], None),
    (FREE, [1, 0, 1], 1, [([0, 1], {0: 1})], None),  # it could run where nothing costs
    (FREE, [0, 5, 2], 1, [([1], {0: 1}), ([0], {0: 1, 1: 1})], [5, 2]),
    (LAST, [0, 1, 1], 1, [([0, 1], {0: 1})], None),
    (DOUBLE, [0, 1, 2], 1, [([0, 1], {0: 1, 1: 3})], [F(2, 3), F(2, 3)]),
    (CROSSED, [2, 1], 1, [([0], {0: 2, 1: -1}), ([1], {0: -1, 1: 1})], None),  # prices below 0
    (CROSSED, [4, 4], 3, [([0, 1], {1: 1})], [F(4, 3), F(4, 3)]),
    (CLASSES, [0, 2], 1, [([1], {0: 1}), ([0], {0: 1})], [0, 2]),
    (CLASSES, [1, 1], 1, [([1], {0: 1}), ([0], {0: 1})], None),  # the first class has less
    (SHUT, [2, 0], 1, [([0], {0: 1})], [2, 0]),
    (SHUT, [1, 1], 1, [([0], {0: 1})], None),  # tasks where a rule allows none
    (SHUT, [3, -1], 1, [([0], {0: 1})], None),
    (HEAVY, [2, 1], 1, [([0, 1], {0: 1})], [1, 1]),
    (HEAVY, [2, 1], 1, [([0, 1], {0: -1})], None),
    (HEAVY, [2, 1], 2, [([0, 1], {0: 1})], None),  # a row that has room
    (HEAVY, [3, 3], 2, [([0], {0: 1}), ([1], {0: 1})], None),
    (HEAVY, [4, 1], 1, [([0, 1], {0: 1})], None),  # more than there is
    (HEAVY, [0, 0], 0, [([0, 1], {0: 1})], None),
    (HEAVY, [-2, -1], -1, [([0, 1], {0: 1})], None),
    (PROMISED, [3, 1], 1, [([1], {0: 1})], [3, 1]),  # whoever holds its floor is proved as well
    (PROMISED, [6, 2], 2, [([0, 1], {0: 1})], [3, 1]),
    (PROMISED, [3, 1], 1, [([0], {0: 1})], None),  # by then the other has more than it is due
    (PROMISED, [2, 2], 1, [([0, 1], {0: 1})], None),  # less than is promised
    (LESS, [3, 1], 1, [([1], {0: 1})], None),  # more than is promised
    (LESS, [1, 3], 1, [([1], {0: 1})], None),  # the first one's turn comes sooner
    (LESS, [1, 3], 1, [([0], {0: 1}), ([1], {0: 1})], None),
    (LESS, [2, 2], 1, [([0, 1], {0: 1})], [2, 2]),
    (ABOVE, [3, 1], 1, [([0, 1], {0: 1})], [1, 1]),
    (ABOVE, [2, 2], 1, [([0], {0: 1}), ([1], {0: 1})], None),
    (LATER, [1, 3], 1, [([1], {0: 1}), ([0], {0: 1})], [1, 3]),
    (LATER, [2, 2], 1, [([1], {0: 1}), ([0], {0: 1})], None),  # a later class has more
    (LATER, [0, 4], 1, [([1], {0: 1}), ([0], {0: 1})], None),  # what it is promised comes first
]


def enclosed(of, x, bottom, prices):
    """What the same tasks and prices prove where nothing is left to equations but levels."""
    if bottom <= 0:
        return None
    fixed = {c: F(v, bottom) for c, v in enumerate(x) if v}
    if any(v.denominator & (v.denominator - 1) for v in fixed.values()):
        return None  # only what is a power of two apart may be given
    mine = [
        sum(of.score[c] * x[c] for c in range(len(of.owner)) if of.owner[c] == n)
        for n in range(len(of.unit))
    ]
    share = [F(s, u * bottom) for s, u in zip(mine, of.unit, strict=True)]
    level = [of.level(n, s) for n, s in enumerate(share)]
    key = list(zip(of.rank, level, strict=True))
    floored = [n for n, s in enumerate(share) if of.floor[n] and s == of.floor[n]]
    groups = [[n for n, t in enumerate(level) if t == each] for each in sorted(set(level))]
    groups = [[n for n in users if of.open_[n] and n not in floored] for users in groups]
    groups = [users for users in groups if users]
    first = np.cumsum([0, *map(len, groups)])[:-1].tolist()
    about = [1.0] * len(groups)
    held = TasksEnclosed.of(of, TasksClaim([], fixed, groups, floored, [], first, about))
    assert held is not None
    parts = list[PricesEnclosed]()
    for users, price in prices:
        cost = [sum(price.get(k, 0) * a for k, a in column.items()) for column in of.column]
        value = {
            n: min(mine, key=lambda c: F(cost[c], of.score[c]))
            for n, mine in enumerate(of.open_)
            if mine
        }
        runs = {of.owner[c]: c for c in fixed if c < len(of.owner)}
        last = max([key[n] for n in users if n not in floored] or [min(key[n] for n in users)])
        home = {
            n: c
            for n, c in {**value, **runs}.items()
            if cost[c] and (key[n] <= last or n in floored)
        }
        whole = {k: F(p) for k, p in price.items()}
        mine = [n for n in home if key[n] == last or (n in floored and key[n] > last)]
        part = PricesEnclosed.of(held, PricesClaim([], whole, home, mine, [], [], F(1)))
        assert part is not None
        parts.append(part)
    return held if Judge(held).proved(parts) else None


@pytest.mark.parametrize(("of", "x", "bottom", "prices", "level"), ASKED)
def test_what_is_asked(of, x, bottom, prices, level) -> None:
    found = enclosed(of, x, bottom, prices)
    if (of, prices) == (LENDING, [([1], {1: 1}), ([0], {0: 1})]):
        assert found is not None  # prices of earlier rounds are added to those of a later one
        return
    if (of, prices[0]) == (SERVERS, ([0], {1: 2})) and len(prices) > 1:
        assert found is None  # prices that prove nobody are wrong
        return
    if bottom in (0, 1, 2):
        assert (found is None) == (level is None)
    for n, t in enumerate(level or ()):
        if found is not None:
            low, high = found.share(n)
            assert low <= of.due(n, F(t)) <= high


INST = fo.Instance([[1.0, 1.0], [3.0, 0.0], [1.0, 0.0]], [[6.0, 0.7]], limit=[np.inf, 0.4, np.inf])
"""0.7, 0.4 and 4.1, as fractions of floats: stopped by a row, by a limit, by the other row"""


@pytest.mark.parametrize(
    ("part", "verdict"),
    [(0.0, "certified"), (0.9e-6, "certified"), (1.1e-6, "unproved"), (2.1e-6, "refuted")],
)
@pytest.mark.parametrize("who", range(3))
def test_shares_are_compared_with_those_that_are_due(who: int, part: float, verdict: str) -> None:
    alloc = fo.solve(INST, fo.MaxMin("tasks"))
    tasks = alloc.tasks.copy()
    tasks[who] *= 1 - part
    given = alloc.with_(tasks=tasks, certificate=None)
    assert held(given) == [F(x) for x in tasks[:, 0].tolist()]
    found = judged(given)
    assert found.verdict == verdict
    check = found.checks[-1]
    assert check.name == ALL_ROUNDS and found.bounded
    assert abs(check.residual - part) < 1e-11 + 1e-6 * part
    assert abs(found.residual - check.residual) < 1e-21 and found.residual >= part - 1e-16
    assert str(found.gap) != "-0.0"
    if part:
        assert check.witness == INST.users[who]
    assert abs(found.gap - (part if who == 1 else 0)) < 1e-11
    loose = (INST.users[who],) if part > 1e-6 else ()
    assert found.undetermined == loose
    levels = exact_levels(alloc)
    assert levels is not None
    for (low, high), due in zip(found.intervals, levels.share, strict=True):
        assert F(low) <= due <= F(high) and high - low <= 1e-15 * high
    if verdict == "refuted":
        assert found.notes[0].startswith(f"{INST.users[who]} holds a share of")


def test_who_is_due_nothing_may_hold_nothing() -> None:
    inst = fo.Instance(
        np.ones((3, 1)),
        [[3.0]],
        limit=[1, np.inf, np.inf],
        quotas=fo.Quotas(bounds=[fo.Bound("u3", "r1", 0.0)]),
    )
    found = fo.solve(inst, fo.MaxMin("tasks")).certificate
    assert found is not None and found.certified and found.checks[-1].name == ALL_ROUNDS
    assert found.intervals[2] == (0.0, 0.0) and found.gap == 0


def test_a_home_that_holds_nothing_is_as_dear_as_at_the_prices_that_name_it() -> None:
    """The second class holds nothing, and may have three on a row with room: that its home costs
    something at the prices of the first class is no value of its share."""
    of = case([({0: 1, 2: 1}, 1), ({1: 1}, 3), ({2: 1}, 1)], [0, 0, 1], rank=[1, 0])
    tasks = TasksEnclosed.of(of, TasksClaim([2], {}, [[1], [0]], [], [0, 2], [0, 1, 2], [1.0] * 3))
    assert tasks is not None and tasks.kept

    def part(row: int, home: dict[int, int], users: list[int]) -> PricesEnclosed:
        claim = PricesClaim([], {row: F(1)}, home, users, [], [], F(1))
        found = PricesEnclosed.of(tasks, claim)
        assert found is not None and found.kept
        return found

    first, second = part(0, {1: 2}, [1]), part(2, {0: 0, 1: 2}, [0])
    judge = Judge(tasks)
    assert judge._prove([1], [first])
    assert not judge._prove([0], [second])
    assert not judge._prove([0], [second, first])
