"""The judge of max-min levels, on good and on spoiled answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import levels
from fairopt.certificates.levels import rooms
from fairopt.generate import random_instance

SEEDS = range(6)


def answer(seed: int, **more: float) -> fo.Allocation:
    inst = random_instance(30, 12, 3, density=0.1, seed=seed, zero_demand=0.3, **more)
    alloc = fo.solve(inst, fo.MaxMin(("drf", "dominant-share")[seed % 2]))
    assert len(alloc.steps) >= 3 and fo.certify(alloc).certified
    return alloc


def scaled(alloc: fo.Allocation, user: int, factor: float) -> fo.Allocation:
    tasks = alloc.tasks.copy()
    tasks[user] *= factor
    return alloc.with_(tasks=tasks, certificate=None)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_user_cut_by_one_in_1e5_is_seen(seed: int) -> None:
    alloc = answer(seed)
    for user in range(30):
        certificate = fo.certify(scaled(alloc, user, 1 - 1e-5))
        assert not certificate.certified
        assert certificate.residual >= 0.99e-5
        assert alloc.instance.users[user] in certificate.undetermined


@pytest.mark.parametrize("seed", SEEDS)
def test_a_user_above_everybody_robbed(seed: int) -> None:
    alloc = answer(seed)
    top = int(np.argmax(alloc.levels))
    certificate = fo.certify(scaled(alloc, top, 0.5))
    assert not certificate.certified
    assert certificate.gap <= 1e-6  # the lowest level is still proved
    assert certificate.residual >= 0.99


@pytest.mark.parametrize("seed", SEEDS)
def test_more_than_there_is_is_refuted(seed: int) -> None:
    alloc = answer(seed)
    certificate = fo.certify(alloc.with_(tasks=alloc.tasks * (1 + 1e-6), certificate=None))
    assert certificate.verdict == "refuted"


@pytest.mark.parametrize("seed", SEEDS)
def test_each_level_needs_its_own_prices(seed: int) -> None:
    alloc = answer(seed)
    assert alloc.level_prices is not None
    names = alloc.instance.users
    for k, step in enumerate(alloc.steps):
        less = alloc.with_(level_prices=np.delete(alloc.level_prices, k, axis=0))
        certificate = fo.certify(less)
        assert not certificate.certified, k
        assert set(certificate.undetermined) <= set(names)
        assert set(certificate.undetermined) & set(step["users"])
    assert not fo.certify(alloc.with_(level_prices=None)).certified


@pytest.mark.parametrize("seed", SEEDS)
def test_wrong_prices_prove_nothing(seed: int) -> None:
    alloc = answer(seed)
    assert alloc.level_prices is not None
    rng = np.random.default_rng(seed)
    bent = alloc.level_prices * rng.uniform(0.9, 1.1, alloc.level_prices.shape)
    assert not fo.certify(alloc.with_(level_prices=bent)).certified
    blind = rng.random(alloc.level_prices.shape)
    assert not fo.certify(alloc.with_(level_prices=blind)).certified
    # their scale is free
    assert fo.certify(alloc.with_(level_prices=alloc.level_prices * 7e5)).certified


def test_another_notions_answer_is_no_max_min_answer() -> None:
    for seed in SEEDS:
        alloc = answer(seed)
        criterion = alloc.notion["parameters"]["criterion"]
        given = fo.solve(alloc.instance, fo.ProportionalFair(criterion))
        assert not fo.certify(alloc.with_(tasks=given.tasks, certificate=None)).certified


def test_users_at_their_limits_need_no_price_and_still_pay() -> None:
    inst = fo.Instance(np.ones((3, 1)), [[6.0]], limit=[1, np.inf, np.inf])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, [1, 2.5, 2.5], rtol=1e-12)
    assert fo.certify(alloc).certified
    assert not fo.certify(alloc.with_(tasks=[[0.9], [2.55], [2.55]])).certified
    for seed in SEEDS:
        assert fo.certify(answer(seed, limits=0.4)).certified


def test_room_is_what_can_be_gained() -> None:
    """Two users on one server, one has 2 of 6 and the other 4: the first can double, by hand."""
    inst = fo.Instance(np.ones((2, 1)), [[6.0]])
    alloc = fo.Allocation(inst, fo.MaxMin("tasks"), [[2], [4]], level_prices=[[[1.0]]])
    np.testing.assert_allclose(rooms(alloc), [2.0, 0.0], atol=1e-12)
    certificate = fo.certify(alloc)
    assert certificate.gap == pytest.approx(2.0)
    assert certificate.undetermined == ("u1",)
    assert certificate.intervals[0] == pytest.approx((2.0, 6.0))


@pytest.mark.parametrize("criterion", ["tasks", "drf", "dominant-share"])
def test_servers_alike_looked_at_once_prove_the_same(monkeypatch, criterion: str) -> None:
    base = random_instance(12, 3, 2, density=0.6, seed=4, limits=0.4)
    rows = np.repeat(np.arange(3), [4, 7, 2])
    inst = fo.Instance(
        base.demand, base.capacity[rows], base.placement[:, rows], base.weight, base.limit
    )
    alloc = fo.solve(inst, fo.MaxMin(criterion))
    assert fo.certify(alloc).certified and len(levels._distinct(alloc)) == 3
    changed = [alloc, scaled(alloc, 3, 0.9), alloc.with_(tasks=alloc.tasks * 0.99)]
    bent = np.array(alloc.level_prices)
    bent[:, 5] *= 1.25  # one machine priced unlike its equals
    changed.append(alloc.with_(level_prices=bent))
    assert len(levels._distinct(changed[-1])) > 3
    once = [rooms(answer) for answer in changed]
    monkeypatch.setattr(levels, "_distinct", lambda alloc: np.arange(len(rows)))
    for answer_, found in zip(changed, once, strict=True):
        np.testing.assert_array_equal(rooms(answer_), found)


def test_a_score_of_its_own_sets_a_server_apart() -> None:
    inst = fo.Instance(np.ones((2, 1)), np.ones((3, 1)))
    score = np.ones((2, 3))
    given = dict(tasks=np.full((2, 3), 0.5), level_prices=np.ones((1, 3, 1)))
    assert levels._distinct(fo.Allocation(inst, fo.MaxMin("tasks"), **given)).tolist() == [0]
    score[1, 2] = 2.0
    apart = fo.Allocation(inst, fo.MaxMin("tasks"), score=score, **given)
    assert levels._distinct(apart).tolist() == [0, 1, 2]


def test_what_a_user_at_its_limit_pays_is_the_best_of_all_prices() -> None:
    """The corners are enough: no price on a fine grid does better, and one does as well."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        cost, u = rng.uniform(0.1, 2, 6), rng.choice([0.5, 1.0, 2.0, 3.0], 6)
        share, limit = rng.uniform(0.5, 2, 2)
        mu = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 4000)])
        tried = ((cost + mu[:, None]) / u).min(axis=1) * share - mu * limit
        found = levels._credit(cost, u, share, limit)
        assert found >= tried.max() - 1e-12
        assert found <= tried.max() + 1e-2 * share * 20


def test_nothing_proved_is_open_and_no_nan() -> None:
    inst = fo.Instance([[1.0], [1.0]], [[1.0]])
    found = fo.certify(fo.Allocation(inst, fo.MaxMin("tasks"), [[0.0], [1.0]]))
    assert found.intervals == ((0.0, np.inf), (1.0, np.inf))
