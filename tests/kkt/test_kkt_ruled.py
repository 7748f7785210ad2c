"""The conditions of alpha-fair answers beside rules: they hold of answers, and not of others."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import kkt
from tests.composes import instance

COLUMNS = (
    "limits on servers",
    "groups",
    "guarantees",
    "a group's ceiling",
    "own rules",
    "modes",
)
NOTIONS = (
    fo.AlphaFair(0),
    fo.AlphaFair(0.5),
    fo.ProportionalFair(),
    fo.AlphaFair(2, weight_inside=True),
    fo.AlphaFair(3, over="above"),
)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_conditions_hold_of_answers_and_not_of_others(column: str, notion: fo.AlphaFair) -> None:
    answer = fo.solve(instance(column), notion)
    (table,) = kkt.tables(answer)
    assert max(table.worst().values()) < 1e-8
    if not notion.alpha:  # whoever has nothing at all may pay what it likes
        return
    by_way = answer.by_way * np.linspace(0.5, 1, len(answer.by_way))[:, None]
    given = {"tasks": answer.instance.ways.running(by_way)}
    if answer.way_tasks is not None:
        given["way_tasks"] = by_way
    (spoiled,) = kkt.tables(answer.with_(**given))
    assert max(spoiled.worst().values()) > 1e-4


def test_by_hand() -> None:
    """12 CPU, A at least 6 of them, B and C at most 4 together: 8, 2 and 2. Of log s the gain is
    1/s: 1/8 is the price of a CPU, 1/2 - 1/8 that of the ceiling, and 0 of A's guarantee."""
    inst = fo.Instance(
        [[1.0]] * 3,
        [[12.0]],
        users=["A", "B", "C"],
        servers=["x"],
        resources=["cpu"],
        quotas=fo.Quotas(
            groups=[fo.Group("g", weight=2.0)],
            group={"B": "g", "C": "g"},
            bounds=[fo.Bound("g", "cpu", 4.0)],
            guarantees=[fo.Guarantee("A", "cpu", 6.0)],
        ),
    )
    answer = fo.solve(inst, fo.ProportionalFair())
    assert answer.totals == pytest.approx([8, 2, 2])
    rows = answer.kkt("rows")
    assert rows["lambda"].tolist() == pytest.approx([1 / 8, 3 / 8])
    assert rows.index.tolist() == [("x", "cpu"), ("the ceiling of g: cpu", "")]
    pairs = answer.kkt("pairs")
    assert pairs["gain"].tolist() == pytest.approx([1 / 8, 1 / 2, 1 / 2])
    assert pairs["rules"].tolist() == pytest.approx([0, 3 / 8, 3 / 8])
    held = inst.replace(quotas=fo.Quotas(guarantees=[fo.Guarantee("A", "cpu", 6.0)]))
    pairs = fo.solve(held, fo.ProportionalFair()).kkt("pairs")
    assert pairs["guarantee"].tolist() == pytest.approx([1 / 3 - 1 / 6, 0, 0])


def test_what_no_answer_tells_is_refused_by_name() -> None:
    for column, words in (("lending", "lending"), ("shares already had", "start")):
        with pytest.raises(fo.UsageError, match=words):
            kkt.tables(fo.solve(instance(column), fo.ProportionalFair()))
    with pytest.raises(fo.UsageError, match="priorities"):
        kkt.tables(fo.solve(instance("priorities"), fo.ProportionalFair()))
