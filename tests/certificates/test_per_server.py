"""The judges of Theorems 1 and 2 and of the pools programs, on good and on spoiled answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Allocation
from fairopt.certificates import certify, per_server
from fairopt.instance import Instance
from fairopt.notions.bottleneck import BottleneckMaxFair
from fairopt.notions.drf_hug import HandOutDRF
from fairopt.notions.equal_m import EqualTasks
from fairopt.notions.per_server_drf import PerServerDRF
from fairopt.notions.ps_dsf import PerServerDominantShare
from fairopt.notions.sum_m import CommonTasks
from fairopt.solving.engines.programs import common_tasks
from fairopt.solving.engines.water import refill
from tests.per_server_cases import figure_1, random_instance

RDM = PerServerDominantShare()
TDM = PerServerDominantShare("tdm")


@pytest.mark.parametrize("notion", [RDM, TDM])
def test_spoiled_answers_are_not_certified(notion: PerServerDominantShare) -> None:
    for seed in range(40):
        inst = random_instance(seed, limits=seed % 2 == 1)
        timed = notion.division == "tdm"
        part = inst.part_of_time() if timed else inst.part_of_row()
        tasks, _ = refill.refill(inst, part, list(range(len(inst.servers))))
        alloc = Allocation(inst, notion, tasks)
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
    engine = common_tasks.solve_equal if isinstance(notion, EqualTasks) else common_tasks.solve_sum
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


def crowd(holders: int, here: float, level: float = 1.0) -> Instance:
    """The first user has server 1 alone but for holders with `here` of a task each; what else each
    holder has is on a server of its own, `level` tasks in all."""
    placement = np.zeros((holders + 1, holders + 1), dtype=bool)
    placement[:, 0] = True
    placement[np.arange(1, holders + 1), np.arange(1, holders + 1)] = True
    own = np.full(holders, level - here)
    return Instance(
        np.ones((holders + 1, 1)), np.concatenate([[1 + holders * here], own])[:, None], placement
    )


def crowded(inst: Instance, here: float, taken: float) -> np.ndarray:
    """Every holder takes `taken` from the first user."""
    holders = inst.shape[0] - 1
    tasks = np.diag(inst.capacity[:, 0])
    tasks[1:, 0] = here + taken
    tasks[0, 0] = 1 - holders * taken
    return tasks


@pytest.mark.parametrize("notion", [RDM, TDM])
def test_many_holders_a_little_above_are_summed(notion: PerServerDominantShare) -> None:
    """Each of 300 is 9e-7 above its due, and one user 0.03% below."""
    inst = crowd(300, 1e-3)
    assert certify(Allocation(inst, notion, crowded(inst, 1e-3, 0.0))).certified
    found = certify(Allocation(inst, notion, crowded(inst, 1e-3, 9e-7)))
    # it would rise until all meet: each holder falls by as much as it is above that level
    assert not found.certified and found.gap == pytest.approx(300 * 9e-7, rel=5e-3)
    for short, good in ((0.5e-6, True), (2e-6, False)):
        # taken from it: what it is short of, less what the rise is short of all it lacks
        found = certify(Allocation(inst, notion, crowded(inst, 1e-3, short / 300)))
        assert found.certified == good, found.explain()


def test_many_servers_a_little_idle_are_summed() -> None:
    """A user that holds 1e-3 of each of 400 servers lacks 9e-7 of its tasks on every one."""
    servers = 400
    placement = np.zeros((servers + 1, servers), dtype=bool)
    placement[0] = True
    placement[np.arange(1, servers + 1), np.arange(servers)] = True
    total = servers * 1e-3
    inst = Instance(
        np.ones((servers + 1, 1)),
        np.full((servers, 1), 1 + 1e-3),
        placement,
        weight=np.concatenate([[total], np.ones(servers)]),
    )
    tasks = np.zeros(inst.shape[:2])
    tasks[0], tasks[np.arange(1, servers + 1), np.arange(servers)] = 1e-3, 1.0
    for notion in (RDM, TDM):
        assert certify(Allocation(inst, notion, tasks)).certified
        for lacked, good in ((0.5e-6 / servers, True), (2e-6 / servers, False), (9e-7, False)):
            short = tasks.copy()
            short[0] -= lacked * total
            assert certify(Allocation(inst, notion, short)).certified == good, lacked


def test_a_limit_reached_on_another_server_is_no_excuse_for_drf_per_server() -> None:
    """All servers fill at one speed, so a limited user stops everywhere at one level."""
    inst = Instance([[1.0], [1.0]], [[4.0], [4.0]], limit=[2.0, np.inf])
    right = [[1.0, 1.0], [3.0, 3.0]]
    for notion in (PerServerDRF(), HandOutDRF()):
        assert certify(Allocation(inst, notion, right)).certified
        assert certify(fo.solve(inst, notion).with_(certificate=None)).certified
        for moved in (1e-5, 1e-3, 0.5, 1.0):
            tasks = [[1 + moved, 1 - moved], [3 - moved, 3 + moved]]
            assert not certify(Allocation(inst, notion, tasks)).certified, moved
        # half of the tolerance: how far the lower level is below the other
        for apart, good in ((0.5e-6, True), (2e-6, False)):
            tasks = [[1.0, 1 - apart], [3.0, 3 + apart]]
            assert certify(Allocation(inst, notion, tasks)).certified == good


def test_a_limited_user_may_be_stopped_earlier_by_a_bottleneck() -> None:
    """Server 1 is full at level 1/2; on server 2 the limit of the first is reached at level 3/4."""
    inst = Instance([[1.0], [1.0]], [[2.0], [8.0]], limit=[7.0, np.inf])
    alloc = fo.solve(inst, PerServerDRF())
    assert alloc.certificate is not None and alloc.certificate.certified
    limited = inst.replace(limit=[3.0, np.inf], weight=[3.0, 1.0])
    alloc = fo.solve(limited, PerServerDRF())
    assert alloc.certificate is not None and alloc.certificate.certified
    tasks = alloc.tasks[:, ::-1]
    assert not certify(alloc.with_(tasks=tasks)).certified


def test_rise_is_what_water_would_say() -> None:
    """Against bisection of the same sum, holder by holder."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        k = int(rng.integers(1, 7))
        own = rng.uniform(0.01, 0.5, k) * 10.0 ** rng.uniform(-3, 0, k)
        use = own * rng.choice([0, 0.01, 0.5, 1], k)
        level = np.round(rng.uniform(1, 1.3, k), int(rng.integers(1, 6)))
        left = float(rng.choice([0, 1e-3]))
        for n, found in enumerate(per_server._rise(use, level, own, left)):
            low, high = level[n], 1e6 * level[n]
            for _ in range(100):
                z = (low + high) / 2
                given = left + np.minimum(use, own * np.maximum(1 - z / level, 0)).sum()
                low, high = (z, high) if own[n] * (z / level[n] - 1) <= given else (low, z)
            assert found == pytest.approx(low / level[n] - 1, rel=1e-9, abs=1e-12)


def test_bmf_takes_the_two_ways_to_be_short_together() -> None:
    """0.8e-6 below the other and 0.8e-6 left: 1.6e-6 of its tasks are missing, or nearly."""
    inst = Instance([[1.0], [1.0]], [[1.0]])
    below, left = np.array([-0.5, 0.5]) * 0.8e-6, 0.8e-6
    half = 0.5 * (1 - 0.5 * left)
    for notion in (BottleneckMaxFair(), RDM):
        for times, good in ((0.25, True), (1.5, False)):
            tasks = (half + (0.5 - half) * (1 - times)) + 0.5 * times * below
            assert certify(Allocation(inst, notion, tasks[:, None])).certified == good
    # weights over twelve decades: the last digit of the heavy user is nothing left
    light = Instance(np.ones((2, 1)), [[3.0]], weight=[1e-12, 1.0])
    tasks = 3 * light.weight / light.weight.sum()
    for ulps in (-2, 0, 2):
        tasks[1] += ulps * np.spacing(tasks[1])
        assert certify(Allocation(light, BottleneckMaxFair(), tasks[:, None])).certified
