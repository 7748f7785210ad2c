"""The judge of max-min levels, on good and on spoiled answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
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
