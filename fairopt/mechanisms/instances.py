"""The instances that mechanisms are surveyed on: known small ones, then random ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairopt.errors import BadInput
from fairopt.instance import Floats, Instance

_KNOWN = ("khamse2016/figure-1", "khamse2016/figure-2", "kesidis2016/placement")
_KNOWN_POOLS = ("bonald2015/example-2-4", "ghodsi2011/example")


def instances(seed: int, pool: bool = False) -> Iterator[Instance]:
    """An endless sequence of small instances: 2 to 4 users, 1 to 3 servers, 1 to 3 resources.

    The examples of the papers come first. In the random ones two pairs of three are eligible, one
    demand in five and one capacity in ten is 0, and half the instances have small whole numbers,
    which make ties. One in three has weights; in one of three the first resource is made scarce,
    so that it is dominant for everybody.

    Parameters
    ----------
    seed : of the random ones. pool : one server, every user eligible.
    """
    from fairopt import files

    for name in (*_KNOWN_POOLS, *(() if pool else _KNOWN)):
        yield files.read(name).instance
    rng = np.random.default_rng([seed, int(pool)])
    while True:
        found = _random(rng, pool)
        if found is not None:
            yield found


def _random(rng: np.random.Generator, pool: bool) -> Instance | None:
    users = int(rng.integers(2, 5))
    servers = 1 if pool else int(rng.integers(1, 4))
    resources = int(rng.integers(1, 4))
    whole = bool(rng.random() < 0.5)
    demand = _amounts(rng, (users, resources), 1, 6, whole)
    capacity = _amounts(rng, (servers, resources), 4, 20, whole)
    demand[rng.random(demand.shape) < 0.2] = 0.0
    if resources > 1:
        capacity[rng.random(capacity.shape) < (0.0 if pool else 0.1)] = 0.0
    if rng.random() < 1 / 3:
        demand[:, 0] = np.maximum(demand.max(axis=1), 1.0) * 2.0
        capacity[:, 0] = np.where(capacity[:, 0] > 0, capacity[:, 0], 6.0)
    placement = None if pool else rng.random((users, servers)) < 2 / 3
    weight = _amounts(rng, (users,), 1, 4, whole) if rng.random() < 1 / 3 else None
    try:
        return Instance(demand, capacity, placement, weight)
    except BadInput:  # a user that demands nothing, or is eligible nowhere
        return None


def _amounts(
    rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int, whole: bool
) -> Floats:
    """Whole numbers, or real ones, from low to high."""
    if whole:
        return rng.integers(low, high + 1, shape).astype(np.float64)
    return rng.uniform(low, high, shape)
