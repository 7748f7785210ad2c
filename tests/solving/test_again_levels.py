"""A start for max-min of one level, and beside quotas: shares as without, or solved anew."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving import again


def cluster(seed: int) -> fo.Instance:
    rng = np.random.default_rng(seed)
    placement = (rng.random((200, 20)) < 0.5) | (np.arange(20) == (np.arange(200) % 20)[:, None])
    return fo.Instance(rng.uniform(0.1, 1, (200, 3)), rng.uniform(5, 20, (20, 3)), placement)


def changes(inst: fo.Instance, seed: int) -> dict[str, fo.Instance]:
    rng = np.random.default_rng(seed)
    weight, capacity, demand = inst.weight.copy(), inst.capacity.copy(), inst.demand.copy()
    weight[3] *= 1.7
    capacity[2] *= 0.9
    demand[5] *= rng.uniform(0.6, 1.8, demand.shape[1])
    rest, every = np.delete(np.arange(len(inst.users)), 7), np.arange(len(inst.servers))
    return {
        "weight": inst.replace(weight=weight),
        "capacity": inst.replace(capacity=capacity),
        "demand": inst.replace(demand=demand),
        "leaves": inst.select(rest, every),
    }


@pytest.mark.parametrize("seed", range(3))
def test_max_min_from_a_start_is_max_min(seed: int) -> None:
    inst, used = cluster(seed), 0
    last = fo.solve(inst, fo.MaxMin())
    for changed in changes(inst, seed).values():
        answer = fo.solve(changed, fo.MaxMin(), start=last)
        cold = fo.solve(changed, fo.MaxMin())
        assert answer.certificate.certified
        assert answer.steps[0]["step"] == "start"
        used += answer.steps[0]["status"] == "used"
        assert np.abs(np.log(answer.shares / cold.shares)).max() < 1e-7
    assert used >= 1
    came = fo.solve(inst, fo.MaxMin(), start=fo.solve(changes(inst, seed)["leaves"], fo.MaxMin()))
    assert came.certificate.certified and np.allclose(came.shares, last.shares, rtol=1e-7)


@pytest.mark.parametrize("density", [0.04, 0.2])
def test_max_min_where_servers_come_and_go(density: float) -> None:
    """A server that comes takes tasks of many users, one that goes gives them to others; where
    users are on few servers many pairs are a basis."""
    rng = np.random.default_rng(5)
    placement = rng.random((400, 40)) < density
    placement[np.arange(400), np.arange(400) % 39] = True
    inst = fo.Instance(rng.lognormal(0, 1, (400, 3)), rng.uniform(1, 10, (40, 3)), placement)
    every = np.arange(400)
    less = inst.select(every, np.arange(39))
    used = 0
    for before, after in ((less, inst), (inst, less)):
        answer = fo.solve(after, fo.MaxMin(), start=fo.solve(before, fo.MaxMin()))
        cold = fo.solve(after, fo.MaxMin())
        assert answer.certificate.certified
        assert np.abs(np.log(answer.shares / cold.shares)).max() < 1e-7
        used += str(answer.steps[0]["status"]).startswith("used")
    assert used == 2


def test_a_forged_start_of_max_min_does_no_harm():
    inst, rng = cluster(0), np.random.default_rng(0)
    last = fo.solve(inst, fo.MaxMin())
    for _ in range(4):
        forged = last.with_(
            tasks=last.tasks * rng.uniform(0, 2, last.tasks.shape),
            level_prices=last.level_prices * rng.uniform(0, 3, last.level_prices.shape),
        )
        answer = fo.solve(inst, fo.MaxMin(), start=forged)
        assert answer.certificate.certified
        assert np.allclose(answer.shares, last.shares, rtol=1e-7)


def ruled(seed: int) -> fo.Instance:
    inst = cluster(seed)
    groups = [fo.Group("a", None, 2.0), fo.Group("b")]
    of = {user: "ab"[k % 2] for k, user in enumerate(inst.users)}
    bounds = [fo.Bound("a", inst.resources[0], 40.0)]
    return inst.replace(quotas=fo.Quotas(groups=groups, group=of, bounds=bounds))


@pytest.mark.parametrize("alpha", [1, 3])
def test_alpha_fairness_with_quotas_from_a_start(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    inst, notion, used = ruled(0), fo.AlphaFair(alpha), 0
    last = fo.solve(inst, notion)
    few = fo.solve(inst, notion, start=last)
    assert few.steps[0]["status"] == "not used, solved anew: few columns beside rules"
    monkeypatch.setattr(again, "FEW_COLUMNS", 0)
    for changed in changes(inst, 0).values():
        answer, cold = fo.solve(changed, notion, start=last), fo.solve(changed, notion)
        used += answer.steps[0].get("status") == "used"
        assert answer.certificate.certified
        assert np.abs(np.log(answer.shares / cold.shares)).max() < 1e-7
    assert used >= 1
    forged = last.with_(tasks=last.tasks[::-1] * 0.3, prices=last.prices[::-1])
    answer = fo.solve(inst, notion, start=forged)
    assert answer.certificate.certified and np.allclose(answer.shares, last.shares, rtol=1e-7)


def limited(seed: int) -> fo.Instance:
    """Several levels: of those that their limits stop, and one of the others."""
    inst, rng = cluster(seed), np.random.default_rng(seed)
    tasks = fo.solve(inst, fo.MaxMin()).totals * rng.uniform(0.3, 1.1, len(inst.users))
    return inst.replace(limit=np.where(rng.random(len(inst.users)) < 0.3, tasks, np.inf))


def test_max_min_of_several_levels_from_a_start() -> None:
    used = 0
    for seed in range(2):
        inst = limited(seed)
        last = fo.solve(inst, fo.MaxMin())
        assert len(last.level_prices) > 1
        for changed in changes(inst, seed).values():
            answer = fo.solve(changed, fo.MaxMin(), start=last)
            cold = fo.solve(changed, fo.MaxMin())
            used += answer.steps[0]["status"] == "used"
            assert answer.certificate.certified
            assert np.abs(np.log(answer.shares / cold.shares)).max() < 1e-7
        forged = last.with_(level_prices=last.level_prices[::-1] * [[[1.0, 0.0, 3.0]]])
        answer = fo.solve(inst, fo.MaxMin(), start=forged)
        assert answer.certificate.certified
        assert np.allclose(answer.shares, last.shares, rtol=1e-7)
    assert used >= 2
