"""A medium case, small enough for cvxpy written plainly and for DeDe."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, DENSE, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (20, 8) if quick else (300, 100)
    return random_instance(users, servers, 3, density=0.7, seed=8), fo.ProportionalFair()


def small(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (6, 3) if quick else (30, 10)
    return random_instance(users, servers, 3, density=0.7, seed=8), fo.ProportionalFair()


CASES = (
    Case(
        "small",
        "proportional fairness, density 0.7",
        "engine-speed",
        small,
        (OURS, "cvxpy plain", *CONIC, "DeDe"),
        limit=30,
    ),
    Case(
        "medium",
        "proportional fairness, density 0.7",
        "engine-speed",
        build,
        (OURS, DENSE, "cvxpy plain", *CONIC),
        limit=30,
    ),
)
