"""Properties beside modes, limits on servers, ceilings, lending and own rules: numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import properties
from fairopt.properties.compared import most
from fairopt.properties.envy import envy
from fairopt.properties.lies import ShareLie, truly_runs
from fairopt.properties.scaling import scaled
from tests.quota_cases import story

FAIR = fo.ProportionalFair()


def cards(**more) -> fo.Instance:
    """4 A100 and 10 T4; a runs on either, on a T4 at half the speed, b on T4 alone."""
    return fo.Instance(
        [[0, 0], [0, 1]],
        [[4, 10]],
        users=["a", "b"],
        servers=["node"],
        resources=["A100", "T4"],
        modes={"a": [fo.Mode("fast", {"A100": 1}), fo.Mode("slow", {"T4": 1}, 0.5)]},
        **more,
    )


def ran(inst: fo.Instance, *tasks: float) -> fo.Allocation:
    """Tasks of each way on one server."""
    return fo.Allocation(inst, FAIR, None, way_tasks=np.reshape(tasks, (-1, 1)))


def held(inst: fo.Instance, *tasks: float) -> fo.Allocation:
    return fo.Allocation(inst, FAIR, np.reshape(tasks, (len(inst.users), -1)))


def pool(**more) -> fo.Instance:
    """9 CPU for A and B."""
    return fo.Instance([[1], [1]], [[9]], users=["A", "B"], resources=["cpu"], **more)


def apart(**more) -> fo.Instance:
    """12 CPU on x and on y; A may run on x alone."""
    return fo.Instance(
        [[1], [1]],
        [[12], [12]],
        placement=[[1, 0], [1, 1]],
        users=["A", "B"],
        servers=["x", "y"],
        **more,
    )


def test_half_of_every_card_is_output_of_the_best_modes():
    """Half of it is 2 + 5/2 for a and 5 for b; proportional fairness gives 9/2 and 9."""
    assert properties.sharing_incentive(fo.solve(cards(), FAIR)).holds
    found = properties.sharing_incentive(ran(cards(), 4, 0, 9))
    assert found.residual == pytest.approx(1 / 9) and "a runs 4 tasks" in found.witness


def test_envy_is_of_what_the_best_modes_would_do_with_it():
    answer = fo.solve(cards(), FAIR)
    assert envy(answer) == pytest.approx(np.array([[4.5, 4.5], [1, 9]]))
    assert properties.envy_free(answer).holds
    assert not properties.envy_free(ran(cards(), 4, 0, 10)).holds


def test_limits_hold_for_bundles_too():
    """At most 3 tasks: 3 fast of four, or 3 slow; on A100 and T4 both, 2 fast and 1 slow."""
    inst = cards(limit=[3, np.inf])
    bundles = np.array([[[4.0, 0]], [[0, 9]], [[2, 5]]])
    assert most(inst, 0, bundles) == pytest.approx([3, 1.5, 2.5])
    assert most(cards(), 0, bundles) == pytest.approx([4, 4.5, 4.5])
    on = cards(limit_on=[[3], [np.inf]])
    assert most(on, 0, bundles) == pytest.approx([3, 1.5, 2.5])


def test_a_limit_on_a_server_excuses_as_a_limit_does():
    """A's half of x is 6, but it can use 3 there."""
    inst = apart(limit_on={"A": {"x": 3}})
    assert properties.sharing_incentive(held(inst, 3, 0, 9, 12)).holds
    assert properties.envy_free(held(inst, 3, 0, 9, 12)).holds
    found = properties.sharing_incentive(held(inst, 2, 0, 10, 12))
    assert found.residual == pytest.approx(1 / 3)
    free = apart()
    assert properties.sharing_incentive(held(free, 3, 0, 9, 12)).residual == pytest.approx(0.5)
    assert properties.bottleneck_fair(held(inst, 3, 0, 9, 12)).holds
    assert not properties.bottleneck_fair(held(free, 3, 0, 9, 12)).holds
    assert properties.no_justified_complaints(held(inst, 3, 0, 9, 12)).holds
    assert not properties.no_justified_complaints(held(free, 3, 0, 9, 12)).holds


@pytest.mark.parametrize(
    ("inst", "best", "worse", "words"),
    [
        (pool(quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 3)])), (3, 6), (3, 4), "B from 4 to 6"),
        (
            pool(quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 3), fo.Bound("B", "cpu", 3)])),
            (3, 3),
            (2, 3),
            "A from 2 to 3",
        ),
        (
            pool(
                limit=[2, np.inf],
                quotas=fo.Quotas(quotas=[fo.Quota("A", "cpu", 6, lend=1), fo.Quota("B", "cpu", 3)]),
            ),
            (2, 4),
            (2, 3),
            "B from 3 to 4",
        ),
        (
            pool(rules=[fo.Rule("half", least=0, terms=[fo.Term("B"), fo.Term("A", times=-0.5)])]),
            (6, 3),
            (4, 3),
            "without loss",
        ),
        (pool(limit_on=[[2], [3]]), (2, 3), (2, 2), "B from 2 to 3"),
        (cards(), (4, 1, 9), (4, 0, 9), "without loss"),
        (pool(quotas=fo.Quotas(priority={"A": 1})), (9, 0), (8, 0), "without loss"),
        (pool(start=[3, 0]), (3, 6), (3, 5), "without loss"),
    ],
)
def test_pareto_within_all_that_is_allowed(inst, best, worse, words):
    put = held if inst.modes is None else ran
    assert properties.pareto_optimal(put(inst, *best)).holds
    found = properties.pareto_optimal(put(inst, *worse))
    assert not found.holds and words in found.witness


def test_a_gain_is_of_output():
    """One idle T4 is half a task of a, of 9 alone, or one of b, of 10: b's is the larger part."""
    found = properties.pareto_optimal(ran(cards(), 4, 0, 9))
    assert found.residual == pytest.approx(1 / 10)


def test_siblings_are_compared_and_nobody_else():
    right, wrong = held(story(), 30, 30, 90, 150), held(story(), 20, 40, 90, 150)
    for name in ("single-resource-fair", "bottleneck-fair", "single-bottleneck-fair"):
        assert properties.PROPERTIES[name](right).holds
        assert not properties.PROPERTIES[name](wrong).holds
    for name in ("pool-sharing-incentive", "no-justified-complaints"):
        assert properties.PROPERTIES[name](right).holds
        found = properties.PROPERTIES[name](wrong)
        assert found.residual == pytest.approx(1 / 3) and "1A" in found.witness


def test_a_resource_dominates_if_it_does_in_every_mode():
    """CPU is dominant in both modes of A, and is divided 5 and 5."""
    modes = {"A": [fo.Mode("one"), fo.Mode("two", (2, 1), 1.5)]}
    inst = fo.Instance([[1, 1], [1, 1]], [[10, 100]], users=["A", "B"], modes=modes)
    assert properties.bottleneck_fair(ran(inst, 5, 0, 5)).holds
    assert properties.bottleneck_fair(ran(inst, 1, 2, 5)).holds
    assert not properties.bottleneck_fair(ran(inst, 6, 0, 4)).holds
    assert "no resource" in properties.bottleneck_fair(ran(cards(), 4, 1, 9)).witness


def test_who_can_do_without_the_bottleneck_does_not_lack_it():
    """100 A100 and 10 T4: all T4 to b alone is no wrong to a, who runs 50 fast tasks."""
    inst = cards().replace(capacity=[[100, 10]], limit=[50, np.inf])
    assert properties.single_bottleneck_fair(ran(inst, 50, 0, 10)).holds
    three = fo.Instance(
        [[0, 0], [0, 1], [0, 1]],
        [[100, 10]],
        limit=[50, np.inf, np.inf],
        users=["a", "b", "c"],
        modes={"a": [fo.Mode("fast", (1, 0)), fo.Mode("slow", (0, 1), 0.5)]},
    )
    assert properties.single_bottleneck_fair(ran(three, 50, 0, 5, 5)).holds
    found = properties.single_bottleneck_fair(ran(three, 50, 0, 6, 4))
    assert found.residual == pytest.approx(1 / 3)


def test_a_dominant_share_is_of_what_is_held():
    assert properties.pool_sharing_incentive(ran(cards(), 4, 1, 9)).holds
    found = properties.pool_sharing_incentive(ran(cards(), 1, 4, 6))
    assert (
        found.residual == pytest.approx(1 / 5) and "a has a dominant share of 0.4" in found.witness
    )


def test_a_liar_with_modes_truly_runs_the_best_of_what_it_is_given():
    """Claiming 2 A100 a fast task, 2 of those and a slow one are 4 A100 and a T4: output 9/2."""
    lie = ShareLie(0, np.array([2.0, 0.0]), np.array([True]))
    told = lie.told(cards())
    assert told.ways.demand.tolist() == [[2, 0], [0, 1], [0, 1]]
    assert truly_runs(cards(), lie, np.array([[2.0], [1.0], [9.0]])) == pytest.approx(4.5)
    found = properties.strategy_proof(cards(), fo.MaxMin("tasks"), trials=12)
    assert found.tried == 12 and found.unproved == 0


@pytest.mark.parametrize(
    "inst",
    [
        cards(),
        apart(limit_on={"A": {"x": 3}}),
        pool(start=[3, 0]),
        pool(rules=[fo.Rule("some", most=4, terms=[fo.Term("A")])]),
        pool(rules=[fo.Rule("power", most=4, terms=[fo.Term("A", resource="cpu")])]),
    ],
)
def test_the_size_of_a_task_matters_to_nothing(inst):
    """Limits on servers, what was had, and rules that count tasks are in tasks of the new size."""
    for notion in (fo.MaxMin(), FAIR):
        assert properties.scale_invariant(inst, notion, trials=6).holds
        assert properties.resource_monotone(inst, notion, trials=3).tried == 3
        assert properties.population_monotone(inst, notion, trials=2).tried == 2


def test_rules_count_larger_tasks_for_more():
    inst = pool(rules=[fo.Rule("some", most=4, terms=[fo.Term(times=0.5)])])
    other = scaled(inst, 0, 4.0)
    assert other.own_rows[0].value.tolist() == [2.0, 0.5]
    assert other.limit_on is None and scaled(cards(), 0, 2.0).ways.demand[1].tolist() == [0, 2]
