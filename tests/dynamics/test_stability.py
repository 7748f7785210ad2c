"""The load of pools and of clusters."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.dynamics.stability import load_on_servers


def test_the_load_of_one_pool_is_that_of_its_fullest_resource():
    inst = fo.Instance([[1.0, 2.0], [3.0, 1.0]], [[10.0, 10.0]], resources=["cpu", "net"])
    load, named = load_on_servers(inst, [2.0, 1.0])
    assert load == pytest.approx(0.5)
    assert sum(sum(line.values()) for line in named.values()) == pytest.approx(1.0)


def test_the_dual_names_what_is_overloaded():
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[1.0], [2.0]],
        placement=[[True, False], [True, True]],
        users=["a", "b"],
        servers=["A", "B"],
        resources=["cpu"],
    )
    load, named = load_on_servers(inst, [0.9, 0.9])
    assert load == pytest.approx(0.9)  # a has A alone
    assert named == {"A": {"cpu": pytest.approx(1.0)}}
    load, named = load_on_servers(inst, [0.9, 3.0])
    assert load == pytest.approx(1.3)  # both servers are full
    assert named["B"]["cpu"] == pytest.approx(2 / 3)


def test_what_is_no_load_is_refused():
    inst = fo.Instance([[1.0]], [[1.0]])
    for wrong in ([1.0, 2.0], [-1.0], [np.nan]):
        with pytest.raises(fo.BadInput, match="loads"):
            load_on_servers(inst, wrong)
