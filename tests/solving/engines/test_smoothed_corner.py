"""The corner at the end of the path of users in partitions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo


@pytest.mark.parametrize("heavy", [1.0, 50.0])
def test_few_passes_however_many_users(tmp_path: Path, heavy: float) -> None:
    """Of so many users the nearest to a tie that do not share it are nearly in it: by what they
    have there beside what it costs above, dozens shared ties that nobody does, and each was given
    up by itself, in two passes."""
    users, rng = 50_000, np.random.default_rng(5)
    capacity = rng.uniform(1, 10, (10, 3)) * users
    placement = rng.random((users, 10)) < 0.2
    placement[np.arange(users), rng.integers(0, 10, users)] = True
    weight = np.where(rng.random(users) < 0.01, heavy, 1.0)
    inst = fo.Instance(rng.lognormal(0, 1, (users, 3)), capacity, placement, weight)
    source = fo.write_partitions(inst, tmp_path / "in", 12_500)
    passes: Counter[str] = Counter()
    found = fo.solve_partitions(
        source,
        fo.ProportionalFair(),
        tmp_path / "out",
        progress=lambda _, doing: passes.update([doing]),
    )
    assert found.certificate.certified and 1 <= passes["corner"] <= 12
