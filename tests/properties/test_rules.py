"""What own rules cost: sharing incentive, envy-freeness and, with `least`, truth; with examples."""

from __future__ import annotations

import fairopt as fo
from fairopt import properties

TASKS = {"criterion": "tasks"}


def test_sharing_incentive_and_envy_freeness_fail() -> None:
    """R5: A and B hold 2 each of 12, a third of which is 4, beside 8 of C."""
    answer = fo.solve(fo.read("rules/r5").instance, fo.ProportionalFair(**TASKS))
    assert not properties.PROPERTIES["sharing-incentive"](answer).holds
    assert not properties.PROPERTIES["envy-free"](answer).holds
    free = answer.instance.replace(rules=None)
    without = fo.solve(free, fo.ProportionalFair(**TASKS))
    assert properties.PROPERTIES["sharing-incentive"](without).holds
    assert properties.PROPERTIES["envy-free"](without).holds


def test_a_least_in_tasks_rewards_a_lie_that_the_search_finds() -> None:
    """12 GPUs, A at least 4 tasks: truth 6 and 6; claiming 5/2 a task A holds 10."""
    rule = fo.Rule("least A", least=4, terms=[fo.Term("A")])
    inst = fo.Instance([[1], [1]], [[12]], users=["A", "B"], rules=[rule])
    notion = fo.MaxMin()  # of dominant shares: without the rule no lie pays
    lied = fo.solve(inst.replace(demand=[[2.5], [1]]), notion)
    assert abs(float(lied.tasks[0].sum()) * 2.5 - 10) < 1e-6
    found = properties.strategy_proof(inst, notion, trials=40, seed=0)
    assert not found.holds
    assert properties.strategy_proof(inst.replace(rules=None), notion, trials=20, seed=0).holds
