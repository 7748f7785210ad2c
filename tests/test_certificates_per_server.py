"""The judges of Theorems 1 and 2 and of the pools programs, on good and on spoiled answers."""

from __future__ import annotations

import numpy as np
import pytest
from per_server_cases import figure_1, random_instance

from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.engines import pools, refill
from fairopt.instance import Instance
from fairopt.notions.equal_m import EqualTasks
from fairopt.notions.ps_dsf import PerServerDominantShare
from fairopt.notions.sum_m import CommonTasks

RDM = PerServerDominantShare()
TDM = PerServerDominantShare("tdm")


@pytest.mark.parametrize("notion", [RDM, TDM])
def test_spoiled_answers_are_not_certified(notion: PerServerDominantShare) -> None:
    for seed in range(40):
        inst = random_instance(seed, limits=seed % 2 == 1)
        alloc = Allocation(inst, notion, refill.solve(inst, notion).tasks)
        assert certify(alloc).certified
        n = int(np.argmin(alloc.totals / inst.limit))  # a user that is not at its limit, if any
        if alloc.totals[n] >= inst.limit[n] * (1 - 1e-6):
            continue
        less = alloc.tasks.copy()
        less[n] *= 0.99
        certificate = certify(alloc.with_(tasks=less))
        assert certificate.verdict == "refuted", seed
        assert certificate.gap > 1e-3
        more = alloc.tasks.copy()
        more[n] *= 1.01
        assert not certify(alloc.with_(tasks=more)).certified
        slightly = alloc.tasks.copy()
        slightly[n] *= 1 - 1e-5
        assert certify(alloc.with_(tasks=slightly)).verdict == "unproved"


def test_feasible_efficient_and_still_refuted() -> None:
    """Figure 1 with the weights forgotten: RAM full, users 1 and 2 above their due."""
    alloc = Allocation(figure_1(), RDM, [[3.5, 0], [3, 0], [0, 5.5]])
    certificate = certify(alloc)
    assert certificate.verdict == "refuted"
    assert "u" in certificate.checks[-1].witness


def test_a_user_with_one_task_in_a_billion_counts_no_more_than_that() -> None:
    inst = Instance([[1.0], [1.0]], [[1.0], [1.0]])
    tasks = np.array([[0.5, 0.5], [0.5, 0.5]])
    tasks += np.array([[1e-12, -1e-12], [-1e-12, 1e-12]])
    assert certify(Allocation(inst, RDM, tasks)).certified


def test_tdm_refuses_what_only_divided_resources_allow() -> None:
    """Two users with no common resource: both whole under rdm, half the time each under tdm."""
    inst = Instance([[1, 0], [0, 1]], [[1, 1]])
    assert certify(Allocation(inst, RDM, [[1], [1]])).certified
    certificate = certify(Allocation(inst, TDM, [[1], [1]]))
    assert certificate.verdict == "refuted"
    assert not {c.name: c.holds for c in certificate.checks}["time"]
    assert certify(Allocation(inst, TDM, [[0.5], [0.5]])).certified


def test_limits_exempt_a_user_and_a_server_of_satisfied_users() -> None:
    inst = Instance([[1.0], [1.0]], [[10.0]], limit=[1, 2])
    for notion in (RDM, TDM):
        assert certify(Allocation(inst, notion, [[1], [2]])).certified
        assert certify(Allocation(inst, notion, [[1], [1.9]])).verdict == "refuted"


def solved(inst: Instance, notion: EqualTasks | CommonTasks) -> Allocation:
    engine = pools.solve_equal if isinstance(notion, EqualTasks) else pools.solve_sum
    answer = engine(inst, notion)
    return Allocation(inst, notion, answer.tasks, answer.prices, answer.limit_prices)


def test_pools_programs_by_hand() -> None:
    """Pools (4,8) and (8,4), demands (1,1) and (1,3).

    (9): resource 2 of pool 2 holds M + 3M = 4, M = 1. Pool 1 then has 2 and 4 left: a task of A
    is worth 1/4+1/8 = 3/8, of B 1/4+3/8 = 5/8; both left-overs are used up at A 1, B 1 more.
    (10): M_1 + M_2 <= 4 (pool 1), M_1 + 3 M_2 <= 4 (pool 2): the most is (4, 0).
    """
    inst = Instance([[1, 1], [1, 3]], [[4, 8], [8, 4]])
    equal = solved(inst, EqualTasks())
    assert equal.tasks == pytest.approx(np.array([[2, 1], [2, 1]]))
    common = solved(inst, CommonTasks())
    assert common.tasks == pytest.approx(np.array([[4, 4], [0, 0]]))
    for alloc in (equal, common):
        assert certify(alloc).certified
        assert not certify(alloc.with_(tasks=alloc.tasks * 0.999)).certified


@pytest.mark.parametrize("notion", [EqualTasks(), CommonTasks()])
def test_pools_programs_on_random_instances(notion: EqualTasks | CommonTasks) -> None:
    for seed in range(100):
        alloc = solved(random_instance(seed, limits=seed % 2 == 1), notion)
        assert certify(alloc).certified, f"{seed}: {certify(alloc).explain()}"


def test_claim_2_threshold_and_the_condition_over_subsets() -> None:
    placement = np.array([[1, 1], [1, 1], [0, 1]], dtype=bool)
    ones = np.ones(3)
    for capacity, margin in ((1.7, 0.45), (1.25, 0.0), (1.0, -0.25)):
        found = pools.proportional_condition(np.array([2.5, capacity]), placement, ones)
        assert found == pytest.approx(margin, abs=1e-12)
    # two users share the small pool: each alone passes, the pair does not
    placement = np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)
    capacity = np.array([1.2, 1.0])
    assert pools.proportional_condition(capacity, placement, ones) > 0
    assert pools.proportional_condition(capacity, placement, ones, subsets=True) < 0


def test_the_last_digit_of_a_large_holder_is_nothing_left() -> None:
    """Weights over twelve decades on one resource: 1e-12 of the server is due to the first user."""
    weight = np.array([1e-6, 1.0, 1e6])
    inst = Instance(np.ones((3, 1)), [[10.0]], weight=weight)
    tasks = 10.0 * weight[:, None] / weight.sum()
    for ulps in (-2, 0, 2):
        moved = tasks.copy()
        moved[2] += ulps * np.spacing(moved[2])
        assert certify(Allocation(inst, RDM, moved)).certified
    # what the digits can say is still seen
    moved = tasks.copy()
    moved[2] *= 1 - 1e-13
    assert certify(Allocation(inst, RDM, moved)).verdict == "refuted"
    moved = tasks.copy()
    moved[0] *= 1 - 1e-5
    assert not certify(Allocation(inst, RDM, moved)).certified
