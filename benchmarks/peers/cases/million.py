"""A million different users on ten servers: time, memory, proof, and what a bare pass takes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import BARE, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool, density: float = 1.0, decades: float = 0.0) -> tuple[fo.Instance, Any]:
    users = 500 if quick else 1_000_000
    inst = random_instance(users, 10, 3, density=density, seed=13)
    if decades:
        size = 10.0 ** (decades * (np.random.default_rng(13).random(10) - 0.5))
        inst = inst.replace(capacity=inst.capacity * size[:, None])
    return inst, fo.ProportionalFair()


CASES = (
    Case(
        "million",
        "proportional fairness, everybody everywhere",
        "engine-speed",
        build,
        (OURS, BARE),
        rounds=3,
        limit=120,
    ),
    Case(
        "million-sparse",
        "proportional fairness, density 0.2, servers of very different sizes",
        "engine-speed",
        partial(build, density=0.2, decades=1.0),
        (OURS, BARE),
        rounds=3,
        limit=120,
    ),
)
