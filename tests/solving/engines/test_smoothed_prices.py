"""Prices of servers around a base that groups share, resource by resource."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.solving.engines.point import AlphaQuestion
from fairopt.solving.engines.smoothed import newton, path
from fairopt.solving.engines.smoothed.prices import SAME_BASE, ServerPrices
from tests.solving.engines.test_smoothed_newton import cluster, judged


def drawn(seed: int) -> tuple[ServerPrices, np.random.Generator]:
    rng = np.random.default_rng(seed)
    label = np.unique(rng.integers(0, 4, 7), return_inverse=True)[1]
    prices = rng.choice([1.0, 1.0 + SAME_BASE / 3, 2.0], (4, 3))[label]
    return ServerPrices.grouped(prices * (1 + 1e-12 * rng.normal(size=(7, 3))), label), rng


@given(st.integers(0, 10_000))
def test_a_base_is_shared_by_groups_of_nearly_the_same_price(seed: int) -> None:
    prices, _ = drawn(seed)
    all_, base = prices.all, prices.heads[prices.label]
    for r in range(3):
        apart = np.abs(all_[:, r, None] / all_[:, r] - 1)
        same = base[:, r, None] == base[:, r]
        assert same[apart < 0.9 * SAME_BASE].all()
        assert not same[apart > 10 * SAME_BASE].any()


@given(st.integers(0, 10_000))
def test_steps_are_kept_in_base_and_difference_together(seed: int) -> None:
    prices, rng = drawn(seed)
    step = 1e-6 * rng.normal(size=prices.off.shape)
    moved = prices.moved(step)
    np.testing.assert_allclose(moved.all, prices.all + step, rtol=1e-14)
    np.testing.assert_allclose(prices.within(step) + prices.common(step)[prices.label], step)
    same = prices.heads[prices.label][:, None] == prices.heads[prices.label]
    np.testing.assert_array_equal(
        (moved.heads[moved.label][:, None] == moved.heads[moved.label])[same], True
    )
    np.testing.assert_allclose(prices.common(prices.within(step)), 0, atol=1e-20)


def accelerated(users: int, servers: int, density: float, seed: int, more: float) -> fo.Instance:
    """Every second server has none of the third resource, and three users in ten ask for it."""
    plain, rng = cluster(users, density, seed, servers), np.random.default_rng(7)
    demand, capacity, placement = (
        np.array(part) for part in (plain.demand, plain.capacity, plain.placement)
    )
    demand[rng.random(users) < 0.7, 2] = 0.0
    demand[:, 2] *= more
    capacity[1::2, 2] = 0.0
    placement[(demand[:, 2] > 0) & ~placement[:, ::2].any(axis=1), 0] = True
    return fo.Instance(demand, capacity, placement)


def test_who_asks_for_nothing_that_some_servers_lack_finds_them_equally_dear() -> None:
    """Servers with and without the third resource have prices of their own, of which two are the
    same: differences of the size of tau between them are not rounded away, and the path ends."""
    inst = accelerated(4_000, 6, 0.6, 3, 3.0)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    found = newton.follow(question)
    assert found is not None
    assert found.ended
    lam = found.end.prices.all
    with_, without = lam[::2], lam[1::2]
    assert len(found.end.prices.heads) > 1
    shared = (np.abs(with_[:, None, :2] / without[:, :2] - 1) < 1e-9).all(axis=2)
    assert shared.any()
    assert with_[:, 2].max() > 1e-6 * lam.max()
    assert found.end.miss < path.CLOSE
    assert judged(question, found.point)[1] < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_which_little_is_left_cut_no_steps_of_users(seed: int) -> None:
    """Few users share a tie, at an alpha at which their money moves: as many steps as elsewhere."""
    inst = accelerated(20_000, 10, 0.1, seed, 1.0)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 5.0, False)
    found = newton.follow(question)
    assert found is not None
    assert found.ended
    assert judged(question, found.point)[1] < 1e-6
