"""Each property on an allocation that has it, and on one spoiled to break that one alone."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance
from fairopt.properties import PROPERTIES

FIGURE_1 = fo.read("khamse2016/figure-1").instance
TASKS = {"name": "proportional"}
LIGHT_ON_FULL = fo.Instance([[1, 0.1, 0.1], [0.01, 1, 1], [0.01, 1, 1]], [[1, 1, 1]])
ONE_RESOURCE = fo.Instance(
    [[1]] * 3, [[2.5], [1.7]], [[1, 1], [1, 1], [0, 1]], users=["g", "h", "l"]
)


def given(inst: fo.Instance, tasks: object) -> fo.Allocation:
    return fo.Allocation(inst, TASKS, tasks)


def failing(alloc: fo.Allocation) -> set[str]:
    return {name for name, judge in PROPERTIES.items() if not judge(alloc).holds}


def drfh_of_figure_1() -> fo.Allocation:
    """(60, 72, 144)/23, where printed C-DRFH gives the RAM by dominant shares of the pool."""
    a, b, c = np.array([60, 72, 144]) / 23
    return given(FIGURE_1, [[a, 0], [b, 0], [6 - a - b, a + b + c - 6]])


@pytest.mark.parametrize(
    ("name", "model", "tasks", "words"),
    [
        ("pareto-optimal", "kesidis2018/example", [[20, 0], [0, 20]], "without loss"),
        # C-DRFH and CDRF with placement: what they lose (khamse2016, Table I)
        ("sharing-incentive", "kesidis2016/placement", "drf", "its part of every server"),
        ("envy-free", "kesidis2016/placement", "cdrf", "with n2's share"),
    ],
)
def test_breaks_one_property_alone(name, model, tasks, words):
    inst = fo.read(model).instance
    alloc = fo.solve(inst, fo.MaxMin(tasks)) if isinstance(tasks, str) else given(inst, tasks)
    assert failing(alloc) == {name}
    check = PROPERTIES[name](alloc)
    assert words in check.witness and check.margin < 0 and check.tolerance == 1e-6
    good = fo.solve(inst, fo.ProportionalFair())
    assert not failing(good)


def test_figure_1_of_khamse2016():
    """PS-DSF alone divides RAM, the dominant resource of all three, by weight."""
    assert not failing(given(FIGURE_1, [[3, 0], [3, 0], [0, 6]]))
    spoiled = drfh_of_figure_1()
    assert failing(spoiled) == {"bottleneck-fair"}
    assert "n2 holds ram on s1 at level 6.26087, above n1 at 5.21739" in (
        fo.properties.bottleneck_fair(spoiled).witness
    )
    tsf = given(FIGURE_1, [[2, 0], [2, 0], [2, 6]])
    assert failing(tsf) == {"bottleneck-fair"}
    assert fo.properties.bottleneck_fair(tsf).residual == pytest.approx(0.5)


def test_single_resource_is_max_min_under_placement():
    good = given(ONE_RESOURCE, [[1.25, 0.15], [1.25, 0.15], [0, 1.4]])
    assert not failing(good)
    # a user of both servers is dominant in the one resource too: bottleneck fairness goes along
    spoiled = given(ONE_RESOURCE, [[1.25, 0.2], [1.25, 0.2], [0, 1.3]])
    assert failing(spoiled) == {"single-resource-fair", "bottleneck-fair"}
    assert "above l at 1.3" in fo.properties.single_resource_fair(spoiled).witness


def test_what_is_free_breaks_single_resource_fairness():
    idle = fo.properties.single_resource_fair(given(fo.Instance([[1], [1]], [[2]]), [[0.9], [0.9]]))
    assert not idle.holds and idle.residual == pytest.approx(0.1) and "free" in idle.witness


def test_complaint_of_a_user_whose_dominant_resource_is_not_full():
    alloc = given(LIGHT_ON_FULL, [[0.35], [0.4825], [0.4825]])
    assert failing(alloc) == {"no-justified-complaints"}
    check = fo.properties.no_justified_complaints(alloc)
    # of r2 and r3, which are full, it holds a tenth of its due; r1 is nearest to full
    assert check.residual == pytest.approx(1 - 0.35 - 2 * 0.004825)
    assert "r1 on s1" in check.witness
    # DRF leaves A a third of the CPU, the one full resource; proportional fairness fills both
    pool = fo.read("ghodsi2011/example").instance
    # (which is then the single bottleneck, divided 3 to 6)
    drf = given(pool, [[3], [2]])
    assert failing(drf) == {"no-justified-complaints", "single-bottleneck-fair"}
    assert fo.properties.single_bottleneck_fair(drf).residual == pytest.approx(0.5)
    assert not failing(given(pool, [[45 / 11], [18 / 11]]))


def test_single_bottleneck_alone():
    """Only r1 is full: at its limit a user excuses itself, and of the others each has its due."""
    inst = fo.Instance(
        [[1, 0.1], [1, 0.1], [1, 1.2]], [[1, 1]], limit=[0.2, np.inf, np.inf], users=list("abc")
    )
    spoiled = given(inst, [[0.2], [0.45], [0.35]])
    assert failing(spoiled) == {"single-bottleneck-fair"}
    check = fo.properties.single_bottleneck_fair(spoiled)
    assert check.residual == pytest.approx(1 - 0.35 / 0.45)
    assert check.witness == "only r1 is full; b holds 0.45 of it by weight, c holds 0.35"
    assert not failing(given(inst, [[0.2], [0.4], [0.4]]))
    # by weight; and a user at its limit may have less, but not more
    heavier = given(inst.replace(weight=[5, 9, 7]), [[0.2], [0.45], [0.35]])
    assert fo.properties.single_bottleneck_fair(heavier).holds
    above = given(inst.replace(limit=[0.5, 9, 9]), [[0.5], [0.25], [0.25]])
    assert not fo.properties.single_bottleneck_fair(above).holds


def test_one_pool_statements_say_when_they_are_not_about_the_instance():
    two = given(FIGURE_1, [[3, 0], [3, 0], [0, 6]])
    idle = given(LIGHT_ON_FULL, [[0.1], [0.1], [0.1]])
    assert fo.properties.single_bottleneck_fair(two).witness == "there are 2 servers"
    assert fo.properties.pool_sharing_incentive(two).witness == "there are 2 servers"
    assert fo.properties.single_bottleneck_fair(idle).witness == "0 resources are full"


@pytest.mark.parametrize("seed", range(8))
def test_on_a_pool_both_sharing_incentives_agree(seed):
    """Dominant shares against tasks alone: two ways to say the same (counts, limits, weights)."""
    inst = random_instance(
        3, 1, 3, seed=seed, weight_decades=1, zero_demand=0.3, limits=0.4
    ).replace(count=[3])
    rng = np.random.default_rng(seed)
    tasks = rng.random((3, 1)) * np.minimum(inst.alone, inst.limit[:, None]) / 2
    mine = fo.properties.sharing_incentive(given(inst, tasks))
    pool = fo.properties.pool_sharing_incentive(given(inst, tasks))
    assert pool.residual == pytest.approx(mine.residual, abs=1e-12) and pool.residual > 0
    assert "dominant share" in pool.witness and pool.witness.split()[0] == mine.witness.split()[0]


def test_weights_scale_what_is_due_and_envied():
    inst = fo.Instance([[1], [1]], [[4]], weight=[3, 1])
    assert not failing(given(inst, [[3], [1]]))
    even = given(inst, [[2], [2]])
    assert {"sharing-incentive", "pool-sharing-incentive", "envy-free"} <= failing(even)
    assert fo.properties.sharing_incentive(even).residual == pytest.approx(1 / 3)
    assert fo.properties.envy_free(even).residual == pytest.approx(2 / 3)


def test_limits_excuse():
    inst = fo.Instance([[1], [1]], [[4]], limit=[1, np.inf])
    assert not failing(given(inst, [[1], [3]]))
    # what the limited user cannot use is not given on: waste, and nobody's sharing incentive
    assert failing(given(inst, [[1], [2]])) == {
        "pareto-optimal",
        "bottleneck-fair",
        "single-resource-fair",
        "no-justified-complaints",
    }


def test_pareto_states_a_gain_that_exists():
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    check = fo.properties.pareto_optimal(given(inst, [[3], [1]]))
    # both resources full at (45, 18)/11; in parts of the 4.5 and 3 that each could have alone
    assert check.residual == pytest.approx((45 / 11 - 3) / 4.5 + (18 / 11 - 1) / 3)
    assert {"A from 3 to 4.09091", "B from 1 to 1.63636"} <= set(
        check.witness.removeprefix("without loss to anybody ").replace(" tasks", "").split(", ")
    )


@pytest.mark.parametrize("seed", range(12))
def test_theorem_3_of_khamse2016(seed):
    """PS-DSF has sharing incentive, envy-freeness, bottleneck and single-resource fairness."""
    inst = random_instance(
        4, 3, 1 + seed % 3, density=0.7, seed=seed, weight_decades=1, zero_demand=0.2
    )
    alloc = fo.solve(inst, fo.PerServerDominantShare())
    assert not failing(alloc) - {"pareto-optimal", "no-justified-complaints"}
    # proportional fairness is Pareto optimal whatever the instance
    fair = fo.solve(inst, fo.ProportionalFair())
    assert fo.properties.pareto_optimal(fair).holds
    assert not fo.properties.pareto_optimal(fair.with_(tasks=fair.tasks * 0.99, prices=None)).holds


@pytest.mark.parametrize("seed", range(6))
def test_demand_by_server_and_counts_written_out_change_nothing(seed):
    inst = random_instance(4, 3, 2, density=0.7, seed=seed, weight_decades=1)
    tasks = np.random.default_rng(seed).random(inst.alone.shape) * inst.alone / 4
    out = given(inst.replace(demand=inst.demand_by_server), tasks)
    halves = given(inst.replace(capacity=inst.capacity / 2, count=[2, 2, 2]), tasks)
    for name, judge in PROPERTIES.items():
        expected = judge(given(inst, tasks)).residual
        assert judge(out).residual == pytest.approx(expected, abs=1e-12), name
        assert judge(halves).residual == pytest.approx(expected, abs=1e-12), name
