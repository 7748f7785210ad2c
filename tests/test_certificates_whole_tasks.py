"""The judge of whole tasks: passes fillings, refuses spoiled ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_filling import clusters

from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.filling import SCHEDULERS, SELECTIONS, fill
from fairopt.instance import Instance

FILLED = {"name": "fill:rps-dsf", "parameters": {"increment": 1.0}}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@settings(max_examples=15, deadline=None)
@given(inst=clusters(), selection=st.sampled_from([None, *SELECTIONS]))
def test_every_filling_is_certified(scheduler, inst, selection):
    verdict = certify(fill(inst, scheduler, selection))
    assert verdict.certified, verdict.explain()


def test_one_task_less_is_refuted():
    inst = Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])
    verdict = certify(Allocation(inst, FILLED, [[19, 2], [2, 18]]))
    assert verdict.verdict == "refuted"
    assert verdict.gap == pytest.approx(1 / 20)
    assert any("u2 fits at s2" in check.witness for check in verdict.checks)


def test_one_task_too_many_is_not_certified():
    inst = Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])
    verdict = certify(Allocation(inst, FILLED, [[20, 2], [2, 19]]))
    assert verdict.verdict == "unproved"
    assert not all(check.holds for check in verdict.checks)


def test_part_of_a_task_is_not_certified():
    inst = Instance([[2.0]], [[5.0]])
    verdict = certify(Allocation(inst, FILLED, [[2.5]]))
    assert not verdict.certified


def test_a_row_that_fits_only_in_the_sum_is_not_certified():
    # three tasks of 3 fit into 2 x 5 in the sum, not machine by machine
    inst = Instance([[3.0]], [[5.0]], count=[2])
    assert certify(fill(inst)).certified
    packed = [{"count": 1, "tasks": {"u1": 2}}, {"count": 1, "tasks": {"u1": 1}}]
    steps = ({"machines": {"s1": packed}},)
    verdict = certify(Allocation(inst, FILLED, [[3]], steps=steps))
    assert not verdict.certified
    assert any(c.name == "capacity of every machine" and not c.holds for c in verdict.checks)


def test_a_packing_that_does_not_add_up_is_not_certified():
    inst = Instance([[2.0]], [[4.0]], count=[2])
    good = {"machines": {"s1": [{"count": 2, "tasks": {"u1": 2}}]}}
    assert certify(Allocation(inst, FILLED, [[4]], steps=(good,))).certified
    for wrong in ([{"count": 3, "tasks": {"u1": 2}}], [{"count": 2, "tasks": {"u1": 1}}]):
        spoiled = Allocation(inst, FILLED, [[4]], steps=({"machines": {"s1": wrong}},))
        assert not certify(spoiled).certified


def test_without_the_packing_of_its_machines_a_row_is_unproved():
    inst = Instance([[2.0]], [[4.0]], count=[2])
    verdict = certify(Allocation(inst, FILLED, [[4]]))
    assert verdict.verdict == "unproved"
    assert "not judged" in verdict.explain()


def test_exact_fit_of_tenths_is_seen():
    inst = Instance([[0.1]], [[1.0]])
    assert certify(Allocation(inst, FILLED, [[10]])).certified
    assert certify(Allocation(inst, FILLED, [[9]])).verdict == "refuted"


def test_a_user_at_its_limit_needs_no_more():
    inst = Instance([[1.0]], [[10.0]], limit=[3])
    assert certify(Allocation(inst, FILLED, [[3]])).certified


def test_one_more_that_just_reaches_the_limit_is_seen():
    inst = Instance([[1.0]], [[10.0]], limit=[3])
    assert certify(Allocation(inst, FILLED, [[2]])).verdict == "refuted"


def test_exact_fit_of_part_of_a_task_is_seen():
    halves = {"name": "fill:rps-dsf", "parameters": {"increment": 0.5}}
    inst = Instance([[0.2]], [[1.0]])
    assert certify(Allocation(inst, halves, [[5.0]])).certified
    assert certify(Allocation(inst, halves, [[4.5]])).verdict == "refuted"
