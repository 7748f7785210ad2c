"""Levels and tasks to rounding, and left where that leads elsewhere."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt.solving.engines.quotas import sharpened


def horizon(seed: int, users: int = 6, slices: int = 9) -> fo.Instance:
    rng = np.random.default_rng(seed)
    base = fo.Instance(rng.uniform(0.2, 2, (users, 3)), [[users / 2] * 3])
    wants = rng.uniform(0.1, 2, (slices, users)) * (rng.random((slices, users)) < 0.7)
    wants[0] += 0.1
    return fo.horizon(base, wants).instance


def test_levels_are_sharpened():
    """What is proved of an answer is better than what the simplex method leaves."""
    for seed in range(4):
        inst = horizon(seed, 12, 20)
        assert fo.solve(inst, fo.MaxMin()).certificate.residual < 1e-9


def test_what_leads_elsewhere_is_left(monkeypatch):
    """Tasks that cannot be had at the levels worked out: the rounds stay as they were."""
    inst = horizon(1)
    monkeypatch.setattr(sharpened, "tasks", lambda *given: None)
    assert fo.solve(inst, fo.MaxMin()).certificate.certified


def test_levels_and_tasks_of_a_horizon_move_together():
    # levels from prices alone are off by 2e-12 here, at which no tasks fill the priced rows
    from benchmarks.over_time import draw

    answer = fo.solve(draw(50, 168, 4, 5).instance, fo.MaxMin(), uncertified="return")
    # what 168 rounds leave to each other may add up to more than is certified
    assert answer.certificate.residual < 1e-5


def test_rounds_of_a_tree_with_ceilings_and_lending_are_met_to_rounding():
    """Next to nothing is open in any round, so that little is carried on into the later ones."""
    from benchmarks.trees import QUESTIONS, cluster

    inst = cluster(1000, 100, 1, **QUESTIONS["tree, ceilings and lending"])
    answer = fo.solve(inst, fo.MaxMin("drf", measure="sum"), uncertified="return")
    assert len(answer.rounds) > 15
    assert answer.certificate.gap < 1e-12
    # what the judge takes 18 rounds to leave to each other, at the point nearby
    assert answer.certificate.residual < 1e-5


def test_light_users_beside_what_is_lent():
    """b and c lend a fifth; a, of a weight of 1e-10, is due a ten-billionth of what they have."""
    lent = fo.Quotas(
        [fo.Group("x"), fo.Group("y")],
        {"a": "x", "b": "x", "c": "y"},
        quotas=[fo.Quota("x", "cpu", 6, lend=1), fo.Quota("y", "cpu", 4, borrow=1, lend=0)],
    )
    inst = fo.Instance(
        [[1], [1], [1]], [[10]], weight=[1e-10, 1, 1], users=list("abc"), resources=["cpu"]
    ).replace(quotas=lent)
    answer = fo.solve(inst, fo.MaxMin("tasks", measure="sum"))
    # x and y are due as much, 5 each; of x's 5 a has one part of 1e10 + 1
    right = np.array([5e-10 / (1 + 1e-10), 5 / (1 + 1e-10), 5.0])
    np.testing.assert_allclose(answer.tasks[:, 0], right, rtol=1e-14)
    assert answer.certificate.certified and answer.certificate.residual < 1e-9
