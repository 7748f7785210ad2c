"""The judge of whole tasks: passes fillings, refuses spoiled ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.filling import SCHEDULERS, SELECTIONS, fill
from fairopt.instance import Instance
from tests.filling.test_filling import clusters

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


# -- best-fit-any passes users over ----------------------------------------------------------------


def drawn(seed: int) -> fo.Instance:
    rng = np.random.default_rng(seed)
    n, i, r = (int(rng.integers(1, most)) for most in (6, 5, 4))
    demand = rng.integers(0, 4, (n, r)).astype(float)
    demand[np.arange(n), rng.integers(0, r, n)] += 1
    return fo.Instance(
        demand * (0.1 if seed % 3 == 0 else 1),
        rng.integers(3, 20, (i, r)).astype(float),
        limit=np.where(rng.random(n) < 0.3, rng.integers(1, 5, n), np.inf),
        count=rng.integers(1, 4, i),
    )


@pytest.mark.parametrize("seed", range(40))
def test_best_fit_any_ends_where_every_best_match_is_full(seed):
    inst = drawn(seed)
    found = fo.fill(inst, "bf-drf", "best-fit-any", seed=seed)
    assert fo.certify(found).certified
    empty = found.with_(tasks=np.zeros_like(found.tasks), steps=())
    said = fo.certify(empty)
    assert said.verdict == ("refuted" if found.tasks.any() else "certified")


def test_a_user_may_be_passed_over_but_not_where_its_best_match_has_room():
    # of shape (1, 1) is the first machine rather than the second, also when its memory is full
    inst = fo.Instance([[1, 1]], [[3, 2], [3, 12]])
    for tasks, selection, verdict in (
        ([[2, 0]], "best-fit-any", "certified"),
        ([[2, 0]], "best-fit", "refuted"),
        ([[1, 0]], "best-fit-any", "refuted"),
        ([[0, 0]], "best-fit-any", "refuted"),
        ([[2, 3]], "best-fit", "certified"),
        ([[0, 3]], "best-fit-any", "refuted"),
    ):
        named = {"name": "fill:bf-drf", "parameters": {"selection": selection}}
        assert fo.certify(fo.Allocation(inst, named, tasks)).verdict == verdict


@pytest.mark.parametrize("name", ["fill:nonsense", "fill:", "fill:psdsf"])
def test_an_unknown_scheduler_is_refused(name):
    with pytest.raises(fo.BadInput, match="notion.name: found the text .*; wanted .*fill:"):
        fo.Allocation(fo.Instance([[1]], [[2]]), {"name": name, "parameters": {}}, [[2]])
