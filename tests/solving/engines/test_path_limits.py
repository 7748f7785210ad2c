"""Users at their limits on the path, at large exponents."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from benchmarks.trees import cluster as teams


def test_many_limits_that_bind_are_met_slowly_at_a_large_alpha() -> None:
    """150 teams, half of them with limits, at alpha 20: no quicker way comes to the end."""
    inst, rng = teams(150, 20, 1, tree=False), np.random.default_rng(1)
    held, some = fo.solve(inst, fo.ProportionalFair()).totals, rng.random(150) < 0.5
    inst = inst.replace(limit=np.where(some, held * rng.uniform(0.3, 1.2, 150), np.inf))
    alloc = fo.solve(inst, fo.AlphaFair(20))
    assert alloc.certificate is not None and alloc.certificate.certified
    assert [step["step"] for step in alloc.steps if "gap" in step][0] == "interior"
