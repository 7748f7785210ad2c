"""Compiled passes beside the NumPy text that defines them: the same to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria, fast
from fairopt.solving.engines.point import AlphaQuestion
from fairopt.solving.engines.smoothed import kinds, newton, passes
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.smooth import Smooth
from fairopt.solving.engines.smoothed.sway import swaying
from fairopt.solving.engines.smoothed.users import UsersRead

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed")


def users(rng, size, alpha, scored):
    eligible = rng.random((size, 4)) < 0.6
    eligible[np.arange(size), rng.integers(0, 4, size)] = True
    log_score = rng.normal(0, 0.1, (size, 4)) if scored else None
    demand = rng.lognormal(0, 1, (size, 3)) * (rng.random((size, 3)) < 0.8) + 0.01
    return UsersRead(alpha, demand, rng.normal(size=size), eligible, log_score)


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("tau", [0.3, 1e-3, 1e-8])
def test_users_are_told_apart_alike(tau, scored):
    rng = np.random.default_rng(3)
    some = users(rng, 5_000, 2.0, scored)
    lam = rng.uniform(0.9, 1.1, (4, 3))
    lam[1] = lam[0] * (1 + tau * 1e-3)  # a tie
    plain = kinds.told(some, lam, tau, None)
    loops = kinds.told(replace(some, compiled=True), lam, tau, None)
    assert scored or plain.near.sum() > 5_000
    for name, one in plain._asdict().items():
        other = getattr(loops, name)
        if one.dtype == bool:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scored", [False, True])
def test_the_same_users_sway(scored):
    rng = np.random.default_rng(4)
    some = users(rng, 3_000, 0.5, scored)
    lam = rng.uniform(0.9, 1.1, (4, 3))
    root = rng.normal(size=(12, 12))
    inverse = 1e-2 * root @ root.T
    tau = 0.05
    seen = kinds.told(some, lam, tau, None)
    ties = ~np.eye(4, dtype=bool)
    found = [
        swaying(each, seen.near, seen.log_least, ties, lam, None, tau, inverse)
        for each in (some, replace(some, compiled=True))
    ]
    assert 100 < found[0].sum() < 2_900
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
@pytest.mark.parametrize(("tau", "reach"), [(0.3, 700.0), (1e-4, 60.0), (1e-9, 60.0)])
def test_sums_of_a_partition_are_those_of_its_kinds(tau, reach, alpha):
    rng = np.random.default_rng(6)
    some = users(rng, 6_000, alpha, False)
    base = rng.uniform(0.9, 1.1, (4, 3))
    base[1] = base[0]
    near = np.where([[True], [True], [False], [False]], tau * rng.normal(size=(4, 3)), 0.0)
    prices = ServerPrices.grouped(base + near, np.array([0, 0, 1, 2]))
    skip = np.array([3, 70, 5_000])
    others = some.some(np.delete(np.arange(6_000), skip))
    plain = Smooth(others).sums(prices, tau)
    loops = passes.summed(some, prices, tau, reach, skip)
    for name in ("use", "spent", "drift", "curvature"):
        one, other = getattr(plain, name), getattr(loops, name)
        # logarithms of costs are rounded, and a window is tau
        close = 1e-12 + 1e-15 / tau
        np.testing.assert_allclose(other, one, rtol=0, atol=close * np.abs(one).max())


def test_an_answer_says_and_does_what_was_chosen(monkeypatch):
    rng = np.random.default_rng(5)
    placement = rng.random((2_000, 3)) < 0.3
    placement[:, 0] |= ~placement.any(axis=1)
    demand = rng.lognormal(0, 1, (2_000, 2))
    inst = fo.Instance(demand, rng.uniform(1, 10, (3, 2)) * 2_000, placement)
    asked = AlphaQuestion.of(inst, criteria.score(inst, "tasks"), 2.0, False)
    tasks = []
    for choice in ("0", "1", "1"):
        monkeypatch.setenv(fast.CHOICE, choice)
        found = newton.follow(asked)
        assert found is not None and ("compiled" in found.told) == (choice == "1")
        tasks.append(found.point.x)
    assert tasks[1].tobytes() == tasks[2].tobytes()
    np.testing.assert_allclose(tasks[1].sum(axis=1), tasks[0].sum(axis=1), rtol=1e-8)


def test_smooth_users_told_apart_have_the_same_sums():
    rng = np.random.default_rng(7)
    some = users(rng, 4_000, 2.0, False)
    lam = rng.uniform(0.9, 1.1, (4, 3))
    lam[1] = lam[0] * (1 + 1e-7)
    told = [
        kinds.Kinds(each, ServerPrices.apart(lam), 1e-4, None)
        for each in (some, replace(some, compiled=True))
    ]
    assert len(told[0].smooth_at) > 500
    np.testing.assert_array_equal(told[0].smooth_at, told[1].smooth_at)
    plain, loops = (each.sums(each.prices, 5e-5) for each in told)
    for name in ("use", "spent", "drift", "curvature"):
        one, other = getattr(plain, name), getattr(loops, name)
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-12 * np.abs(one).max())
