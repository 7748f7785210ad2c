"""Random families: the same seed gives the same instance, and each option does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.errors import UsageError
from fairopt.instance.generate import random_instance


@given(
    users=st.integers(1, 12),
    servers=st.integers(1, 6),
    resources=st.integers(1, 4),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**32),
    zero_demand=st.floats(0, 1),
    limits=st.floats(0, 1),
    nested=st.booleans(),
)
def test_every_user_is_eligible_somewhere(
    users: int,
    servers: int,
    resources: int,
    density: float,
    seed: int,
    zero_demand: float,
    limits: float,
    nested: bool,
) -> None:
    arguments = (users, servers, resources, density, seed, 6.0, zero_demand, limits, nested)
    inst = random_instance(*arguments)
    assert inst.shape == (users, servers, resources)
    assert inst.eligible.any(axis=1).all()
    assert inst == random_instance(*arguments)


def test_seeds_give_different_instances() -> None:
    assert random_instance(5, 3, 2, seed=1) != random_instance(5, 3, 2, seed=2)


def test_density_is_the_share_of_pairs_allowed() -> None:
    inst = random_instance(400, 50, 2, density=0.3, seed=3)
    assert inst.placement.mean() == pytest.approx(0.3, abs=0.02)
    assert random_instance(40, 5, 2, density=1.0).placement.all()


def test_density_zero_leaves_one_server_each() -> None:
    inst = random_instance(40, 5, 2, density=0.0, seed=3)
    assert (inst.placement.sum(axis=1) == 1).all()
    assert inst.placement.any(axis=0).all()


def test_weights_span_the_decades_and_default_to_one() -> None:
    weight = random_instance(2000, 2, 1, seed=4, weight_decades=12).weight
    assert 1e-6 <= weight.min() < 1e-5 and 1e5 < weight.max() <= 1e6
    assert (random_instance(5, 2, 1).weight == 1).all()


def test_zero_demand_is_the_share_of_zeros() -> None:
    inst = random_instance(1000, 2, 4, seed=5, zero_demand=0.5)
    assert (inst.demand == 0).mean() == pytest.approx(0.5, abs=0.04)
    assert (random_instance(50, 2, 4, seed=5, zero_demand=1.0).demand > 0).sum(axis=1).tolist() == [
        1
    ] * 50


def test_limits_are_given_to_a_share_of_the_users() -> None:
    inst = random_instance(1000, 4, 2, seed=6, limits=0.4)
    limited = np.isfinite(inst.limit)
    assert limited.mean() == pytest.approx(0.4, abs=0.05)
    fair = inst.alone.sum(axis=1) / 1000
    assert ((inst.limit >= 0.1 * fair) & (inst.limit <= 2 * fair))[limited].all()


def test_nested_placement_lists_contain_one_another() -> None:
    placement = random_instance(30, 8, 2, density=0.5, seed=7, nested=True).placement
    order = placement[np.argsort(placement.sum(axis=1))]
    assert (order[:-1] <= order[1:]).all()
    assert len(np.unique(placement, axis=0)) > 2


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"users": 0}, "users"),
        ({"resources": -1}, "resources"),
        ({"density": 1.5}, "density"),
        ({"density": float("nan")}, "density"),
        ({"zero_demand": -0.1}, "zero_demand"),
        ({"weight_decades": -1}, "weight_decades"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(change: dict[str, float], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: found"):
        random_instance(**{"users": 3, "servers": 2, "resources": 2, **change})  # type: ignore[arg-type]
