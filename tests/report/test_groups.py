"""Groups, rounds and node prices of an answer in words."""

from __future__ import annotations

import fairopt as fo
from fairopt.report import groups
from fairopt.report.tables import allocation_text
from tests.quota_cases import story


def test_groups_stand_below_their_parents():
    inst = story(
        groups=[fo.Group("C2"), fo.Group("C1"), fo.Group("lab", "C2", 2.0)],
        group={"1A": "C1", "1B": "C1", "1C": "C1", "2A": "lab"},
    )
    answer = fo.solve(inst, fo.MaxMin("tasks"))
    heads, rows, more = groups.table(answer, 12)
    assert heads[0] == "group" and more == 0
    assert [row[0] for row in rows] == ["C2", "  lab", "C1"]
    assert [row[-1] for row in rows] == ["150", "150", "150"]
    assert groups.table(answer, 2)[2] == 3
    text = allocation_text(answer)
    assert "  lab" in text and "round" in text and text.count("\n") < 40


def test_quotas_are_set_against_nodes_first():
    for nominal, words in ((400, "but its nodes have 300"), (200, "100 are nobody's")):
        inst = story(quotas=[fo.Quota("C1", "gpu", nominal)])
        answer = fo.solve(inst, fo.MaxMin("tasks"))
        assert words in groups.lines(answer)[0]
        assert words in "".join(allocation_text(answer).splitlines()[1:3])
    assert groups.lines(fo.solve(story(), fo.MaxMin("tasks"))) == []


def test_who_gets_nothing_is_said_first():
    inst = story(priority={"1A": 1, "2A": 1})
    answer = fo.solve(inst, fo.MaxMin("tasks"))
    assert groups.lines(answer) == ["of lower priority, nothing is left for 1B, 1C"]


def test_node_prices_in_words():
    """Research may not borrow: its GPU costs more than the cluster's (G5)."""
    given = fo.read("quotas/g5-no-borrow").instance
    answer = fo.solve(given, fo.ProportionalFair())
    (line,) = groups.node_prices(answer)
    assert line.startswith("quota of gpu costs all 0, and limits of borrowing and lending add: ")
    assert line.endswith("research +0.01667")


def test_answers_without_groups_are_told_as_ever():
    answer = fo.solve(fo.read("ghodsi2011/example").instance, fo.MaxMin())
    assert groups.lines(answer) == [] and not groups.table(answer, 12)[1]
