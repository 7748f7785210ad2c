"""Filling in ever smaller increments tends to the fluid notion on a single server."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance


@pytest.mark.parametrize("scheduler", ["drf", "ps-dsf", "tsf", "cdrf"])
def test_users_stop_at_different_times(scheduler):
    """Memory is full first and stops u2 and u3; u1, which needs none, takes the rest of the CPU."""
    inst = fo.Instance([[1, 0], [1, 1], [0, 1]], [[12, 6]])
    for increment in (0.1, 0.01, 0.001):
        filled = fo.fill(inst, scheduler, increment=increment)
        assert np.abs(filled.totals - [9, 3, 3]).max() <= 2 * increment


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("scheduler", "notion"),
    [("drf", fo.MaxMin("drf")), ("ps-dsf", fo.PerServerDominantShare()), ("tsf", fo.MaxMin("tsf"))],
)
def test_shrinking_increments_tend_to_the_fluid_notion(scheduler, notion, seed):
    inst = random_instance(4, 1, 3, seed=seed, zero_demand=0.3, weight_decades=0.6)
    fluid = fo.solve(inst, notion).totals
    # a user is off by its last increments, and by those of the others that it waited for
    for increment in (0.1, 0.01):
        off = np.abs(fo.fill(inst, scheduler, increment=increment).totals - fluid).max()
        assert off <= 10 * increment


def test_several_servers_do_not_tend_to_ps_dsf():
    """Tasks are not taken back: a distance stays that is no rounding."""
    inst = random_instance(5, 3, 3, density=0.7, seed=1, zero_demand=0.2, weight_decades=0.6)
    fluid = fo.solve(inst, fo.PerServerDominantShare()).totals
    off = [
        (np.abs(fo.fill(inst, "ps-dsf", increment=e).totals - fluid) / fluid).max()
        for e in (0.01, 0.002)
    ]
    assert min(off) > 0.05 and abs(off[0] - off[1]) < 0.1 * off[0]
