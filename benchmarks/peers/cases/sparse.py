"""Sparse placement: a tenth of the pairs, and fewer."""

from __future__ import annotations

from functools import partial
from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, DENSE, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool, density: float) -> tuple[fo.Instance, Any]:
    users, servers = (40, 10) if quick else (1000, 100)
    return random_instance(users, servers, 4, density=density, seed=9), fo.ProportionalFair()


CASES = (
    Case(
        "sparse",
        "proportional fairness, density 0.1",
        "engine-speed",
        partial(build, density=0.1),
        (OURS, DENSE, "cvxpy plain", *CONIC),
        limit=30,
    ),
    Case(
        "sparser",
        "proportional fairness, density 0.06",
        "engine-speed",
        partial(build, density=0.06),
        (OURS, DENSE, *CONIC),
        limit=30,
    ),
)
