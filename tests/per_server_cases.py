"""Instances of khamse2016 and a seeded random family, for the tests of PS-DSF."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Instance


def figure_1() -> Instance:
    return Instance(
        [[1, 2, 10], [1, 2, 1], [1, 2, 0]], [[9, 12, 100], [12, 12, 0]], weight=[1, 1, 2]
    )


def figure_2() -> Instance:
    demand = [[1.5, 1, 10], [1, 2, 10], [0.5, 1, 0], [1, 0.5, 0]]
    return Instance(demand, [[9, 12, 100], [12, 12, 0]])


def section_5() -> Instance:
    return Instance(
        [[0.1, 0.1], [0.1, 0.2], [0.2, 0.1], [0.2, 0.3]],
        [[1, 1], [0.5, 0.5], [0.5, 0.25], [0.5, 0.75]],
        placement=[[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]],
        count=[8, 68, 33, 11],
    )


def figure_4(r22: float) -> Instance:
    """Two users, three channels; the rates restored as a family in r22."""
    rate = np.array([[1.5 - 0.75 * r22, 1.5 * r22, 0], [0, r22, 1 - r22 / 2]])
    demand = np.divide(1.0, rate, out=np.ones_like(rate), where=rate > 0)[:, :, None]
    return Instance(demand, np.ones((3, 1)), rate > 0)


def random_instance(seed: int, limits: bool = False, zeros: bool = True) -> Instance:
    rng = np.random.default_rng(seed)
    n, i, r = int(rng.integers(2, 8)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    demand = rng.uniform(0.1, 1, (n, r))
    if zeros:
        demand *= rng.random((n, r)) < 0.8
        demand[:, 0] += 0.05
    placement = rng.random((n, i)) < 0.5
    placement[np.arange(n), rng.integers(0, i, n)] = True
    limit = np.where(rng.random(n) < 0.4, rng.uniform(0.1, 5, n), np.inf) if limits else None
    return Instance(
        demand,
        rng.uniform(1, 10, (i, r)),
        placement,
        rng.uniform(0.5, 2, n),
        limit,
        rng.integers(1, 4, i),
    )
