"""Arrays over pairs in both layouts."""

from __future__ import annotations

import numpy as np
import pytest

from fairopt.instance.generate import random_instance
from fairopt.solving.engines.interior import layout
from fairopt.solving.engines.point import AlphaQuestion


@pytest.mark.parametrize("shape", [(30, 12, 3, 0.7), (5, 4, 2, 1.0)])
def test_both_layouts_do_the_same(shape):
    inst = random_instance(*shape[:3], density=shape[3], seed=1)
    users, servers, resources = inst.shape
    rng = np.random.default_rng(0)
    score = rng.uniform(1, 2, (users, servers))
    question = AlphaQuestion.of(inst, score, 1.0, False)
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
