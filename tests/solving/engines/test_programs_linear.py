"""Linear programs refined: small gains beside large ones, checked in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.engines.programs import linear
from tests.engine_cases import judged, question


def test_gains_over_twenty_decades_are_all_seen() -> None:
    """Pairs of columns on rows of their own: the better of each takes its row, however small."""
    scale = 10.0 ** -np.arange(0, 24, 4)
    gain = np.concatenate([scale, scale * 1.5])
    use = np.tile(np.eye(len(scale)), 2)
    none = np.full(len(gain), np.inf)
    x, price, bound = linear.maximum(gain, use, np.ones(len(scale)), none)
    assert x == pytest.approx(np.repeat([0.0, 1.0], len(scale)), abs=1e-9)
    assert price == pytest.approx(scale * 1.5, rel=1e-9)
    assert not bound.any()


def test_a_bound_has_a_price_and_a_row_is_filled_to_the_last_digit() -> None:
    gain, use = np.array([3.0, 1.0]), np.array([[1.0, 1.0]])
    x, price, bound = linear.maximum(gain, use, np.ones(1), np.array([1e-11, np.inf]))
    assert x[0] == 1e-11 and abs(1 - x.sum()) <= 2.0**-52
    assert price == pytest.approx([1.0]) and bound == pytest.approx([2.0, 0.0])


@pytest.mark.parametrize("seed", range(20))
def test_optimal_in_fractions(seed: int) -> None:
    """Weak duality in exact arithmetic, after prices are raised by what they lack: 1e-9, and each
    column by itself, twelve decades of gains."""
    rng = np.random.default_rng(seed)
    use = rng.random((4, 8)) * (rng.random((4, 8)) < 0.6)
    use[0, use.max(axis=0) == 0] = 0.5
    gain = 10.0 ** rng.uniform(-12, 0, 8)
    x, y, _ = linear.maximum(gain, use, np.ones(4), np.full(8, np.inf))
    exact = [[Fraction(float(u)) for u in row] for row in use]
    for row in exact:
        used = sum((u * Fraction(float(v)) for u, v in zip(row, x, strict=True)), Fraction())
        assert used <= 1 + Fraction(1, 10**15)
    for k in range(8):
        cost = sum((Fraction(float(y[j])) * exact[j][k] for j in range(4)), Fraction())
        part = float(cost / Fraction(float(gain[k])))
        assert part >= 1 - 1e-8
        if x[k] > 1e-6:
            assert part <= 1 + 1e-8


def test_throughput_over_twelve_decades_with_tiny_limits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        limit = np.where(rng.random(6) < 0.5, 10.0 ** rng.uniform(-10, 1, 6), np.inf)
        inst = fo.Instance(
            rng.uniform(0.1, 1, (6, 2)),
            rng.uniform(1, 10, (3, 2)),
            rng.random((6, 3)) < 0.9,
            10.0 ** rng.uniform(-6, 6, 6),
            limit,
        )
        assert fo.solve(inst, fo.Throughput()).certificate.certified


@pytest.mark.parametrize("alpha", [0.5, 1.0, 100.0])
def test_everybody_at_the_limit(alpha: float) -> None:
    """Proved where there is room, by prices of limits alone; nothing where there is not."""
    demand, limit = [[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]], [1e-6, 2.0, 1.0]
    inst = fo.Instance(demand, [[4.0, 2.0], [4.0, 2.0]], weight=[1.0, 1e-9, 1e3], limit=limit)
    asked = question(inst, alpha)
    found = linear.at_limits(asked)
    assert found is not None
    np.testing.assert_allclose(found.tasks(inst).sum(axis=1), limit, rtol=1e-12)
    assert not found.rows.any()
    if alpha <= 1:  # beyond, the ladder computes the money of limits again from the shares
        assert judged(asked, found).certified
    assert fo.solve(inst, fo.AlphaFair(alpha)).certificate.certified
    assert linear.at_limits(question(inst.replace(limit=[3.0, 3.0, 3.0]), alpha)) is None


def test_limits_whose_money_is_decades_apart_need_no_second_path() -> None:
    """It ended uncertified after the path and every general solver: nobody is held by a row."""
    rng = np.random.default_rng([77, 531])
    users, servers, resources = rng.integers(2, 13), rng.integers(1, 6), rng.integers(1, 5)
    demand = rng.uniform(0.1, 1, (users, resources))
    capacity = rng.uniform(0.5, 2, (servers, resources)) * users
    weight = 10 ** rng.uniform(-6, 6, users)
    demand = demand * 10 ** rng.uniform(-3, 3, (users, 1))
    inst = fo.Instance(demand, capacity * 10 ** rng.uniform(-2, 2, (servers, 1)), weight=weight)
    most = inst.alone.sum(axis=1) / users * 10 ** rng.uniform(-3, 0.5, users)
    assert (rng.random(users) < 0.6).all()
    alloc = fo.solve(inst.replace(limit=most), fo.AlphaFair(50.0))
    assert alloc.steps[-1]["step"] in ("polish", "everybody at the limit")
    np.testing.assert_allclose(alloc.totals, most, rtol=1e-9)
