"""Nodes filled again a few at a time: less is short, and every node holds what it holds."""

from __future__ import annotations

from fractions import Fraction

from fairopt.whole.asking import searched
from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock
from fairopt.whole.proof import claims
from fairopt.whole.proof.answer import EXACT, Asked
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import NodeRow
from fairopt.whole.proof.zones import Spread
from fairopt.whole.repair import fewer
from tests.whole_cases import zoned


def two_sizes():
    """Three nodes of 10 hold 3 + 3 + 4 and so on exactly: 6 of 3 and 3 of 4."""
    need = [{"cpu": Fraction(3)}, {"cpu": Fraction(4)}]
    kinds = tuple((n, "", own, None) for n, own in enumerate(need))
    row = NodeRow("s", 3, {"cpu": Fraction(10)}, kinds)
    due = (Fraction(6), Fraction(3))
    return Asked(("A", "B"), (row,), due, (6, 3), (1, 1), (EXACT,) * 2, ({"s": 3},))


def test_tasks_that_are_short_are_found_room_for():
    problem = two_sizes().problem
    begin = Placement(problem, [(0, 1, (0, 2)), (0, 1, (2, 1)), (0, 1, (3, 0))])
    assert claims.short(problem, begin.total) == 1
    found = fewer(begin, [6, 3], [1.0, 1.0], 0, SearchLimits(), Clock())
    assert found is not None
    assert found.total == [6, 3]
    assert sum(count for _, count, _ in found.nodes()) == 3
    assert all(problem.classes[j].fits(tasks) for j, _, tasks in found.nodes())


def test_where_nothing_is_short_or_no_time_is_left_nothing_is_done():
    problem = two_sizes().problem
    full = Placement(problem, [(0, 3, (2, 1))])
    assert fewer(full, [6, 3], [1.0, 1.0], 0, SearchLimits(), Clock()) is None
    begin = Placement(problem, [(0, 3, (3, 0))])
    assert fewer(begin, [6, 3], [1.0, 1.0], 0, SearchLimits(), Clock(0.0)) is None


def test_what_costs_more_is_kept_before():
    """One node of 4 holds one task of A or of B."""
    problem = two_sizes().problem
    begin = Placement(problem, [(0, 3, (0, 0))])
    found = fewer(begin, [6, 3], [1.0, 100.0], 0, SearchLimits(), Clock())
    assert found is not None
    assert found.total[1] == 3


def test_zones_stay_even_and_room_is_found_in_them():
    gained = 0
    for asked in (own for own in map(zoned, range(80)) if own.spreads):
        problem = asked.problem
        begin = Placement(problem)
        ones = [1.0] * len(problem.users)
        found = fewer(begin, problem.whole, ones, 0, SearchLimits(), Clock())
        if found is not None:
            gained += 1
            assert claims.short(problem, found.total) < claims.short(problem, begin.total)
            for own in problem.spreads:
                assert not own.uneven(found.by_zone(own.user))
    assert gained >= 10


def test_a_task_for_which_another_zone_must_give_room():
    """A node a zone; A is spread. B, which may run in both, leaves the zone in which it is.

    With B beside A in the first zone, which has room for two, A has one there
    and no more than two in the second.
    """
    need = [{"cpu": Fraction(1)}, {"cpu": Fraction(1)}]
    kinds = tuple((n, "", own, None) for n, own in enumerate(need))
    rows = tuple(NodeRow(name, 1, {"cpu": Fraction(k)}, kinds) for name, k in (("a", 2), ("b", 4)))
    asked = Asked(
        ("A", "B"),
        rows,
        (Fraction(4), Fraction(2)),
        (4, 2),
        (1, 1),
        (EXACT,) * 2,
        ({"a": 1}, {"b": 1}),
        spreads=(Spread(0, ("a", "b"), (0, 1), 1),),
    )
    begin = Placement(asked.problem, [(0, 1, (1, 1)), (1, 1, (2, 1))])
    found = fewer(begin, [4, 2], [1.0, 1.0], 0, SearchLimits(), Clock())
    assert found is not None
    assert found.total == [4, 2]
    assert found.by_zone(0) == [2, 2]


def test_answers_with_it_are_judged_as_all_others():
    found = searched(two_sizes(), fewest=True)
    assert judge(found).proved
    assert found.short == 0
