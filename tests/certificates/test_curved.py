"""The judge of weighted DRF with demand that is not linear, attacked."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo

MODELS = ["kesidis2016/demand-set-up", "kesidis2016/demand-power"]
DRF = fo.PerServerDRF()


def verdict(inst, totals, notion=DRF):
    return fo.certify(fo.Allocation(inst, notion, np.reshape(totals, (-1, 1))))


@pytest.fixture(params=MODELS)
def inst(request):
    return fo.read(request.param).instance


@pytest.mark.parametrize("part", [1e-4, 1e-5, 3e-6])
def test_less_for_one_is_not_certified(inst, part):
    x = fo.solve(inst, DRF).totals
    for n in range(len(x)):
        less = x.copy()
        less[n] *= 1 - part
        assert not verdict(inst, less).certified


def test_a_millionth_less_is_certified(inst):
    """Both sides of the tolerance."""
    x = fo.solve(inst, DRF).totals
    assert verdict(inst, x * (1 - 1e-7)).certified
    assert not verdict(inst, x * (1 - 1e-5)).certified


def test_taking_from_one_for_another_is_refuted(inst):
    x = fo.solve(inst, DRF).totals
    for n in range(2):
        given = x.copy()
        given[n] *= 0.9
        room = inst.pool[0] - inst.taken(np.where(np.arange(2) == n, given, 0.0)).sum(axis=0)
        given[1 - n] = inst.within(room)[1 - n] * (1 - 1e-12)
        found = verdict(inst, given)
        assert found.verdict == "refuted"
        assert found.residual > 1e-3


def test_nobody_is_left_out(inst):
    x = fo.solve(inst, DRF).totals
    alone = inst.alone[:, 0]
    for given in ((alone[0], 0.0), (0.0, alone[1]), (0.0, 0.0)):
        assert verdict(inst, given).verdict == "refuted"
    assert verdict(inst, x * 1.01).verdict == "refuted"
    assert verdict(inst, (x[0], -x[1])).verdict == "refuted"


def test_a_user_who_takes_little_is_held_to_its_own_share():
    """Weight 1e-9: a thousandth of its tasks is 1e-12 of the pool."""
    inst = fo.Instance([[1.0], [1.0]], [[1.0]], weight=[1, 1e-9], demand_power=[[0.5], [0.8]])
    x = fo.solve(inst, DRF).totals
    assert verdict(inst, x).certified
    for factor in (0.999, 1.001, 0.5, 2.0):
        given = x.copy()
        given[1] *= factor
        given[0] = inst.within(inst.pool[0] - inst.taken(given)[1])[0]
        assert not verdict(inst, given).certified, factor


def test_where_set_up_is_most_of_a_share_the_tasks_count():
    """Twice the tasks is a level higher by 2e-8 alone."""
    inst = fo.Instance([[1e-8], [1.0]], [[1.0]], demand_fixed=[[0.5 - 1e-8], [0.0]])
    x = fo.solve(inst, DRF).totals
    assert x == pytest.approx([1.0, 0.5], rel=1e-6)
    for factor in (0.5, 2.0):
        assert not verdict(inst, (x[0] * factor, 1.0 - inst.taken(x * factor)[0, 0])).certified


def test_a_limit_stops_a_user():
    inst = fo.Instance([[1.0], [1.0]], [[9.0]], limit=[4.0, np.inf], demand_power=[[0.5], [1]])
    answer = fo.solve(inst, DRF)
    assert answer.totals == pytest.approx([4.0, 7.0])
    assert answer.certificate.certified
    assert not verdict(inst, (3.9, 9 - 3.9**0.5)).certified


def test_users_of_other_resources_go_on():
    inst = fo.Instance(
        [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
        [[4.0, 9.0]],
        weight=[1, 1, 1],
        demand_power=[[0.5, 1], [1, 1], [1, 0.5]],
    )
    answer = fo.solve(inst, DRF)
    assert answer.totals == pytest.approx([4.0, 2.0, 49.0])
    assert len(answer.steps[0]["levels"]) == 2
    assert not verdict(inst, (4.0, 2.0, 9.0)).certified


def test_other_notions_are_judged_on_what_is_left():
    inst = fo.read(MODELS[0]).instance
    answer = fo.solve(inst, fo.ProportionalFair())
    assert answer.certificate.certified
    less = fo.certify(answer.with_(tasks=answer.tasks * (1 - 1e-4)))
    assert not less.certified
    forged = fo.certify(answer.with_(prices=answer.prices * 2))
    assert not forged.certified or forged.gap <= 1e-6
    assert verdict(inst, (inst.alone[0, 0], 0.0), fo.ProportionalFair()).verdict == "refuted"
    # all that is there, without the set-up
    linear = fo.solve(inst.replace(demand_fixed=None), fo.ProportionalFair())
    assert verdict(inst, linear.totals, fo.ProportionalFair()).verdict == "refuted"


def test_what_nobody_can_judge_is_unproved():
    power = fo.read(MODELS[1]).instance
    found = verdict(power, (1.0, 1.0), fo.ProportionalFair())
    assert found.verdict == "unproved"
    assert "no convex set" in found.notes[0]
    assert verdict(power, (10.0, 10.0), fo.ProportionalFair()).verdict == "refuted"
