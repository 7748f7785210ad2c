"""Arrays over pairs in both layouts, and the system of a step of a level in them."""

from __future__ import annotations

import numpy as np
import pytest

from fairopt.instance.generate import random_instance
from fairopt.solving.engines.interior import layout, schur
from fairopt.solving.engines.point import Question


@pytest.mark.parametrize("shape", [(30, 12, 3, 0.7), (5, 4, 2, 1.0)])
def test_both_layouts_do_the_same(shape):
    inst = random_instance(*shape[:3], density=shape[3], seed=1)
    users, servers, resources = inst.shape
    rng = np.random.default_rng(0)
    score = rng.uniform(1, 2, (users, servers))
    question = Question.of(inst, score, 1.0, False)
    unit = rng.uniform(1, 2, users)
    grid, pairs = layout.GridLayout(question, unit), layout.Pairs(question, unit)
    y, rows = rng.random(pairs.shape), rng.random((servers, resources))
    full = grid.from_pairs(y)
    assert (grid.rows == pairs.rows).all()
    np.testing.assert_allclose(grid.used(full), pairs.used(y))
    np.testing.assert_allclose(grid.to_pairs(grid.cost(rows)), pairs.cost(rows))
    np.testing.assert_allclose(grid.blocks(full), pairs.blocks(y))
    np.testing.assert_allclose(grid.of_user(full), pairs.of_user(y))
    np.testing.assert_allclose(grid.least(full), pairs.least(y))
    inverse, root = rng.random((servers, resources, resources)), rng.random(users)
    np.testing.assert_allclose(grid.coupling(full, inverse, root), pairs.coupling(y, inverse, root))


def test_sparse_coupling_is_the_dense_one(monkeypatch):
    inst = random_instance(60, 30, 2, density=0.03, seed=4)
    question = Question.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    pairs = layout.Pairs(question, np.ones(60))
    rng = np.random.default_rng(0)
    given = rng.random(pairs.shape), rng.random((30, 2, 2)), rng.random(60)
    dense = pairs.coupling(*given)
    monkeypatch.setattr(layout, "DENSE", 0)
    monkeypatch.setattr(layout, "THICK", 1.0)
    np.testing.assert_allclose(pairs.coupling(*given).toarray(), dense)


@pytest.mark.parametrize("tiny", [0, 1000])
@pytest.mark.parametrize("shape", [(6, 9, 3), (40, 3, 2)])
def test_a_step_solves_its_equations(monkeypatch, tiny, shape):
    monkeypatch.setattr(schur, "TINY", tiny)
    inst = random_instance(*shape, density=0.6, seed=2)
    question = Question.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    pairs = layout.Pairs(question, np.ones(shape[0]))
    rng = np.random.default_rng(1)
    theta = 10.0 ** rng.uniform(-2, 2, pairs.shape)
    heat, rho = 10.0 ** rng.uniform(-2, 2, shape[0]), 10.0 ** rng.uniform(-2, 2, pairs.rows.shape)
    z, a = rng.normal(size=pairs.shape), rng.normal(size=shape[0])
    b = np.where(pairs.rows, rng.normal(size=pairs.rows.shape), 0.0)
    system = schur.SchurSystem(pairs, theta, heat, rho, pairs.rows)
    dy, dx, dlam, dcost = system.step(z, a, b)
    np.testing.assert_allclose(pairs.of_user(dy), dx, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        dy, z - theta * (dcost + pairs.spread(heat * dx - a)), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(
        np.where(pairs.rows, pairs.used(dy) - rho * dlam, 0.0), b, rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(dcost, pairs.cost(dlam))
