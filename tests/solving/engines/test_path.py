"""The one interior path: its systems beside the whole matrix, its answers beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.formulas.lowered import lower
from fairopt.instance.generate import random_instance
from fairopt.solving.engines import path
from fairopt.solving.engines.path import along, blocks, frame, grid, system
from tests.connect.test_kueue_drawn import small
from tests.quota_draws import drawn


def lowered(inst):
    return lower(inst, np.ones(inst.shape[:2]))


def answer(inst, alpha, **more):
    n = inst.shape[0]
    log_w = alpha * np.log(inst.weight)
    floor = more.pop("floor", np.zeros(n))
    return path.solve(lowered(inst), log_w, alpha, floor, False, np.ones(n), **more)


def clusters():
    """Plain, with limits alone, with modes and limits (two terms a user), with every kind."""
    for seed in range(12):
        what = ["", "limit", "limit mode", "tree bound quota limit mode"][seed % 4]
        yield pytest.param(drawn(seed, what), id=f"{seed} {what}")


@pytest.mark.parametrize("inst", list(clusters()))
@pytest.mark.parametrize("kind", ["inverse", "factor", "sparse", "blocks"])
def test_a_step_solves_the_whole_system(inst, kind, monkeypatch):
    """dz and prices against H and A written out in full."""
    if kind != "inverse":
        monkeypatch.setattr(system, "TINY", 0)
    if kind == "blocks":
        monkeypatch.setattr(blocks, "LEAST_ROWS", 0)
        monkeypatch.setattr(blocks, "MANY_USERS", 100.0)
    if kind == "sparse":
        for name, value in (("SMALL", 0), ("DENSE", 0), ("THICK", 2.0)):
            monkeypatch.setattr(frame, name, value)
    n = inst.shape[0]
    f = frame.Frame(lowered(inst), np.ones(n))
    rng = np.random.default_rng(5)
    theta, heat, rho = (rng.uniform(0.5, 2, size) for size in (f.columns, n, f.count))
    stiff = np.where(f.limited, rng.uniform(0.5, 2, n), 0.0) if f.limited.any() else None
    made = system.PathSystem(f, theta, heat, stiff, rho)
    c, a, b = (rng.normal(size=size) for size in (f.columns, n, f.count))
    at = np.where(f.limited, rng.normal(size=n), 0.0)
    z, gained, used, price = made.step(c, a, at, b)
    share = np.zeros((f.columns, n))
    share[np.arange(f.tasks), f.owner] = 1.0
    of_limit = f.limit[:, None] * share
    k = np.zeros(n) if stiff is None else stiff
    h = np.diag(1 / theta) + share @ np.diag(heat) @ share.T + of_limit @ np.diag(k) @ of_limit.T
    rows = np.asarray(f.a.todense()) if hasattr(f.a, "todense") else f.a
    whole = np.block([[h, rows.T], [rows, -np.diag(rho)]])
    right = np.concatenate([c + share @ a - of_limit @ at, b])
    exact = np.linalg.solve(whole, right)
    np.testing.assert_allclose(np.concatenate([z, price]), exact, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(gained, share.T @ exact[: f.columns], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(used, of_limit.T @ exact[: f.columns], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("density", [0.5, 1.0])
def test_products_by_demand_are_those_of_the_matrix(density, monkeypatch):
    inst = random_instance(12, 5, 3, density=density, seed=3, zero_demand=0.3)
    score = np.random.default_rng(2).uniform(1, 2, (12, 5))
    unit = np.random.default_rng(4).uniform(1, 2, 12)
    plain = frame.Frame(lower(inst, score), unit)
    monkeypatch.setattr(frame, "SMALL", 0)
    monkeypatch.setattr(grid, "LARGE", 0)
    made = frame.Frame(lower(inst, score), unit)
    assert made.grid is not None and plain.grid is None
    rng = np.random.default_rng(1)
    z, price = rng.random(plain.columns), rng.random(plain.count)
    np.testing.assert_allclose(made.a @ z, plain.a @ z)
    np.testing.assert_allclose(made.at @ price, plain.at @ price)
    np.testing.assert_allclose(made.coupled(z), plain.coupled(z))
    whole = np.zeros((2, plain.count, plain.count))
    for k, one in enumerate((made, plain)):
        products, i, j = one.gram
        whole[k, np.maximum(i, j), np.minimum(i, j)] = products @ z
    np.testing.assert_allclose(whole[0], whole[1])


def test_demand_that_depends_on_the_server_is_no_grid(monkeypatch):
    monkeypatch.setattr(frame, "SMALL", 0)
    monkeypatch.setattr(grid, "LARGE", 0)
    demand = np.random.default_rng(1).uniform(1, 2, (6, 3, 2))
    inst = fo.Instance(demand, np.full((3, 2), 9.0))
    assert frame.Frame(lowered(inst), np.ones(6)).grid is None


def pool(**more):
    return fo.Instance([[1.0], [2.0], [4.0]], [[12.0]], weight=[1.0, 2.0, 3.0], **more)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0, 7.0, 40.0])
def test_one_resource_is_divided_by_the_closed_form(alpha):
    """x_n proportional to w_n d_n^(-1/alpha)."""
    demand, weight = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])
    x = weight * demand ** (-1 / alpha)
    x *= 12 / (demand @ x)
    assert answer(pool(), alpha).x == pytest.approx(x, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 6.0])
def test_a_limit_binds_and_has_the_price_of_what_its_user_would_pay(alpha):
    """User 0 stops at 1/2; the others divide what is left."""
    demand, weight = np.array([2.0, 4.0]), np.array([2.0, 3.0])
    x = weight * demand ** (-1 / alpha)
    x *= 11.5 / (demand @ x)
    found = answer(pool(limit=[0.5, np.inf, np.inf]), alpha)
    assert found.x == pytest.approx([0.5, *x], rel=1e-9)
    value = np.array([1.0, 2.0, 3.0]) ** alpha * found.x**-alpha / 3.0**alpha
    capacity, limit = found.price
    assert capacity == pytest.approx(value[1] / 2, rel=1e-7)
    assert limit == pytest.approx(value[0] - capacity, rel=1e-7)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 6.0])
def test_a_limit_on_a_server_is_taken_into_its_column(alpha):
    """Two servers, user 0 held to 1/4 on the first, where it alone may also run: the same as one
    server less."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[1.0], [1.0]],
        [[True, False], [True, True]],
        limit_on=[[0.25, np.inf], [np.inf, np.inf]],
    )
    found = answer(inst, alpha)
    # the limit, and the second server, of which one user alone can have anything
    assert len(frame.Frame(lowered(inst), np.ones(2)).alone) == 2
    assert found.x[0] == pytest.approx(0.25, rel=1e-9)
    assert found.x[1:].sum() == pytest.approx(1.75, rel=1e-9)
    pays = (1.75 / np.array([0.25, 1.75])) ** alpha * 1.75**-alpha
    assert found.price[-1] == pytest.approx(pays[0] - pays[1], rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 6.0])
def test_a_floor_is_kept_and_priced(alpha):
    """User 2 must run 5/2, which takes 10 of 12; the others divide 2."""
    demand, weight = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    x = weight * demand ** (-1 / alpha)
    x *= 2 / (demand @ x)
    found = answer(pool(), alpha, floor=np.array([0.0, 0.0, 2.5]))
    assert found.x == pytest.approx([*x, 2.5], rel=1e-9)
    price = (1 / x[0]) ** alpha / 3.0**alpha
    own = (3.0 / 2.5) ** alpha / 3.0**alpha
    assert found.nu == pytest.approx([0.0, 0.0, 4 * price - own], rel=1e-7, abs=1e-9)


def test_who_does_not_count_keeps_its_floor():
    floor = np.array([0.0, 0.0, 2.0])
    found = answer(pool(), 1.0, floor=floor, active=np.array([True, True, False]))
    assert found.x == pytest.approx([4 / 3, 4 / 3, 2.0], rel=1e-9)


def test_weights_over_twelve_decades_are_divided_by_the_closed_form():
    weight = np.array([1e-6, 1.0, 1e6])
    inst = fo.Instance([[1.0]] * 3, [[1.0]], weight=weight)
    found = path.solve(
        lowered(inst), 2 * np.log(weight), 2.0, np.zeros(3), False, weight / weight.sum()
    )
    assert found.x == pytest.approx(weight / weight.sum(), rel=1e-9)


def test_a_path_that_ends_early_says_how_far_it_is():
    """Floors of twice what there is."""
    found = answer(pool(), 1.0, floor=np.array([6.0, 6.0, 6.0]))
    assert found.left > 1e-3


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 20.0])
def test_no_step_goes_whole_to_the_border(alpha, monkeypatch):
    """Beside drawn quotas of Kueue a slack was 0 after a step of exactly that length: no other
    step was found, and the path ended wherever it was."""
    least, honest = [], along.Path._stepped

    def stepped(self, state, missing):
        after = honest(self, state, missing)
        assert after is not None
        least.append(self.layout.products(after).min())
        return after

    monkeypatch.setattr(along.Path, "_stepped", stepped)
    for seed in (1, 6, 9, 11):
        inst = fo.connect.kubernetes(small(seed)).instance
        assert fo.solve(inst, fo.AlphaFair(alpha)).certificate.certified
    assert len(least) > 20
    assert min(least) > 0
