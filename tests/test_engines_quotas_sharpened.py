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
    monkeypatch.setattr(sharpened, "_tasks", lambda *given: None)
    assert fo.solve(inst, fo.MaxMin()).certificate.certified


def test_levels_and_tasks_of_a_horizon_move_together():
    # levels from prices alone are off by 2e-12 here, at which no tasks fill the priced rows
    from benchmarks.over_time import draw

    answer = fo.solve(draw(50, 168, 4, 5).instance, fo.MaxMin())
    assert answer.certificate.certified
