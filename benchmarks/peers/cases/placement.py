"""Every size at three densities of placement, with servers that are alike and that are not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import DENSE, OURS
from fairopt.instance.generate import random_instance

SIZES = ((30, 10, 3), (100, 20, 3), (300, 100, 3), (1_000, 100, 4), (1_000, 300, 4))
DENSITIES = (0.05, 0.2, 0.5)
PEERS = ("cvxpy pairs, Clarabel", "cvxpy pairs, SCS")
LARGE = 300
"""users from which the dense algebra alone is measured too; below it is lost in the calls"""


def build(
    quick: bool, size: tuple[int, int, int], density: float, alike: bool
) -> tuple[fo.Instance, Any]:
    """Servers alike, or of sizes over a decade and mixes within one of two."""
    users, servers, resources = (12, 5, 3) if quick else size
    inst = random_instance(users, servers, resources, density=density, seed=16)
    capacity = inst.capacity
    if alike:
        capacity = np.tile(capacity.mean(axis=0), (servers, 1))
    else:
        big = 10.0 ** (np.random.default_rng(16).random(servers) - 0.5)
        capacity = capacity * big[:, None]
    return inst.replace(capacity=capacity), fo.ProportionalFair()


CASES = tuple(
    Case(
        f"placement-{size[0]}-{size[1]}-{density:g}-{'alike' if alike else 'apart'}",
        f"density {density:g}, servers {'alike' if alike else 'not alike'}",
        "placement",
        partial(build, size=size, density=density, alike=alike),
        (OURS, *((DENSE,) if size[0] >= LARGE else ()), *PEERS),
        rounds=3,
        limit=12,
    )
    for size in SIZES
    for density in DENSITIES
    for alike in (True, False)
)
