"""Shrinking keeps the fault, and gives fewer and rounder numbers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance
from fairopt.instance.shrink import rounded, shrink


def heavy_user(inst: fo.Instance) -> bool:
    """Some user holds less than half of what it could have alone on some server with r2."""
    return "r2" in inst.resources and len(inst.users) >= 2 and float(inst.weight.max()) > 1.5


@pytest.mark.parametrize("seed", range(4))
def test_still_bad_and_small(seed):
    start = random_instance(5, 4, 3, density=0.6, seed=seed, weight_decades=3, limits=0.5)
    small = shrink(start, heavy_user)
    assert heavy_user(small)
    assert small.shape == (2, 1, 1) and small.resources == ("r2",)
    assert small.placement.all() and np.isinf(small.limit).all()
    for array in (small.demand, small.capacity):
        assert (array == rounded(array, 1)).all()
    assert set(small.users) <= set(start.users)


def test_rounds_no_further_than_the_fault_allows():
    start = fo.Instance([[1.23456]], [[7.7]])
    small = shrink(start, lambda inst: bool(1.2 < inst.demand[0, 0] < 1.24))
    assert small.demand[0, 0] == 1.23 and small.capacity[0, 0] == 8


def test_demand_by_server_becomes_demand():
    start = fo.Instance([[[1.0], [2.0]]], [[4.0], [5.0]], count=[2, 3])
    small = shrink(start, lambda inst: len(inst.servers) == 2)
    assert small.demand.shape == (1, 1) and (small.count == 1).all()


def test_budget_counts_calls_and_errors_are_not_bad():
    calls = []

    def fault(inst: fo.Instance) -> bool:
        calls.append(inst)
        if len(inst.users) < 3:
            raise fo.UsageError("cannot say")
        return True

    small = shrink(random_instance(4, 2, 2, seed=1), fault, budget=5)
    assert len(calls) == 5 and len(small.users) == 3
    assert len(shrink(random_instance(4, 1, 1, seed=1), fault).users) == 3


def test_refuses_what_is_not_bad():
    inst = fo.Instance([[1]], [[2]])
    with pytest.raises(fo.UsageError, match="not bad"):
        shrink(inst, lambda _: False)
    with pytest.raises(fo.UsageError, match="budget: found 0"):
        shrink(inst, lambda _: True, budget=0)


def test_rounding():
    assert rounded([[0.0, np.inf, 2 / 3]], 2).tolist() == [[0.0, np.inf, 0.67]]
    assert float(rounded(987654.0, 1)) == 1e6
