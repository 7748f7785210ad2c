"""Seeded random families of instances, for tests and benchmarks.

Equal arguments give equal instances, on every machine with the same NumPy.
"""

from __future__ import annotations

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Bools, Instance


def random_instance(
    users: int,
    servers: int,
    resources: int,
    density: float = 1.0,
    seed: int = 0,
    weight_decades: float = 0.0,
    zero_demand: float = 0.0,
    limits: float = 0.0,
    nested: bool = False,
) -> Instance:
    """A random instance in which every user is eligible somewhere.

    Parameters
    ----------
    users, servers, resources : N, I, R >= 1.
    density : probability in [0, 1] that placement allows a pair; a user without a server gets one.
    seed : of numpy.random.default_rng.
    weight_decades : weights are 10^w with w uniform over this many decades around 0; 0 = all 1.
    zero_demand : probability in [0, 1) that a user does not demand a resource; every user demands
        at least one.
    limits : fraction of the users, in [0, 1], that have a limit: between 1/10 and twice the tasks
        they would have if every server were divided equally.
    nested : a user may run on servers 1 to k, so that placement lists contain one another; k is
        binomial with mean density * I.

    Returns
    -------
    Instance : demand uniform in [0.1, 1], capacity uniform in [0.5, 1] times twice the users per
        server, so that all resources matter.

    Raises
    ------
    UsageError : a size below 1 or a chance out of range.

    Examples
    --------
    >>> random_instance(3, 2, 2, density=0.5, seed=1) == random_instance(3, 2, 2, 0.5, 1)
    True
    """
    _check(users, servers, resources, density, weight_decades, zero_demand, limits)
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1.0, (users, resources))
    demand[rng.random((users, resources)) < zero_demand] = 0.0
    kept = rng.integers(resources, size=users)
    rows = np.arange(users)
    lost = ~(demand > 0).any(axis=1)
    demand[rows[lost], kept[lost]] = rng.uniform(0.1, 1.0, users)[lost]
    capacity = rng.uniform(0.5, 1.0, (servers, resources)) * (2.0 * users / servers)
    placement = _placement(rng, users, servers, density, nested)
    weight = 10.0 ** (weight_decades * (rng.random(users) - 0.5))
    inst = Instance(demand, capacity, placement, weight)
    if limits == 0:
        return inst
    most = inst.alone.sum(axis=1) / users * rng.uniform(0.1, 2.0, users)
    return inst.replace(limit=np.where(rng.random(users) < limits, most, np.inf))


def _placement(
    rng: np.random.Generator, users: int, servers: int, density: float, nested: bool
) -> Bools:
    """(N, I) bool with at least one True in every row."""
    if nested:
        allowed = np.maximum(rng.binomial(servers, density, users), 1)
        return np.arange(servers)[None, :] < allowed[:, None]
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(servers, size=users)] |= ~placement.any(axis=1)
    return placement


def _check(
    users: int,
    servers: int,
    resources: int,
    density: float,
    weight_decades: float,
    zero_demand: float,
    limits: float,
) -> None:
    for name, size in (("users", users), ("servers", servers), ("resources", resources)):
        if size < 1:
            raise UsageError(f"{name}: found {size}; wanted a whole number >= 1")
    for name, chance in (("density", density), ("limits", limits), ("zero_demand", zero_demand)):
        if not 0 <= chance <= 1:
            raise UsageError(f"{name}: found {chance:g}; wanted a number from 0 to 1")
    if not 0 <= weight_decades <= 100:
        raise UsageError(f"weight_decades: found {weight_decades:g}; wanted a number from 0 to 100")


__all__ = ["random_instance"]
