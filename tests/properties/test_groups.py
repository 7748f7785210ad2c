"""Properties where there are groups and guarantees: siblings, entitlements, the known lies."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import properties
from fairopt.properties.scaling import scaled
from tests.quota_cases import story

TASKS = fo.MaxMin("tasks")


def held(inst: fo.Instance, *tasks: float) -> fo.Allocation:
    return fo.Allocation(inst, TASKS, np.reshape(tasks, (-1, 1)))


def test_envy_is_judged_between_siblings():
    # 2A has 150 and 1A 30: no envy between teams of different organisations
    assert properties.envy_free(held(story(), 30, 30, 90, 150)).holds
    found = properties.envy_free(held(story(), 20, 40, 90, 150))
    assert not found.holds and "1A would run 40 tasks with 1B's share" in found.witness
    # 1C weighs three times as much: 30 of its 90 are as much as 1A's 30
    assert not properties.envy_free(held(story(), 30, 30, 93, 147)).holds
    # and those served first are not envied by those served later
    assert properties.envy_free(held(story(priority={"1B": 1}), 20, 40, 60, 150)).holds


def test_everybody_is_due_its_part_of_its_groups_part():
    assert properties.sharing_incentive(held(story(), 30, 30, 90, 150)).holds
    found = properties.sharing_incentive(held(story(), 60, 30, 90, 120))
    assert not found.holds and "2A runs 120 tasks" in found.witness
    # a guarantee takes from the others by design
    guaranteed = story(guarantees=[fo.Guarantee("1A", "gpu", 80)])
    answer = fo.solve(guaranteed, fo.MaxMin())
    assert "1C runs 52.5 tasks; its part" in properties.sharing_incentive(answer).witness


def test_the_answers_of_nested_max_min_are_free_of_both_faults():
    for k in range(5):
        rng = np.random.default_rng(k)
        inst = fo.Instance(
            rng.uniform(0.5, 2, (6, 2)),
            rng.uniform(5, 9, (1, 2)),
            quotas=fo.Quotas(
                [fo.Group("g"), fo.Group("h", "g", 2)], {"u1": "g", "u2": "g", "u3": "h", "u4": "h"}
            ),
        )
        answer = fo.solve(inst, fo.MaxMin())
        assert properties.sharing_incentive(answer).holds
        assert properties.envy_free(answer).holds


def test_the_lie_about_a_guarantee_in_tasks_is_found_and_none_about_a_bundle():
    truth = fo.read("quotas/g4").instance
    found = properties.strategy_proof(truth, fo.MaxMin(), trials=24, seed=0)
    assert not found.holds and found.found["user"] == "A"
    assert found.found["truth"] == pytest.approx(6) and found.found["after"] > 9.9
    bundle = truth.replace(quotas=fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 4)]))
    assert properties.strategy_proof(bundle, fo.MaxMin(), trials=16, seed=0).holds


def test_a_guarantee_in_tasks_is_scaled_with_the_task():
    inst = fo.read("quotas/g4").instance
    other = scaled(inst, 0, 2.0)
    assert other.quotas is not None and other.quotas.guarantee_tasks == {"A": 2.0}
    assert other.tree.guarantees is not None and scaled(inst, 1, 2.0).quotas == inst.quotas
    assert properties.scale_invariant(inst, fo.MaxMin(), trials=4).holds


def test_one_who_leaves_may_hurt_a_sibling_and_more_capacity_is_tried():
    inst = story(bounds=[fo.Bound("C1", "gpu", 100)])
    assert properties.population_monotone(inst, fo.MaxMin(), trials=4).holds
    assert properties.resource_monotone(inst, fo.MaxMin(), trials=4).holds
