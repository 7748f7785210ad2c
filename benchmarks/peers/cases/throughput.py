"""Throughput (alpha = 0): a linear program, where the peers are at their best."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import DENSE, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (30, 8) if quick else (1000, 100)
    return random_instance(users, servers, 3, density=0.7, seed=12), fo.Throughput()


CASES = (
    Case(
        "throughput",
        "throughput (alpha = 0), density 0.7",
        "engine-speed",
        build,
        (
            OURS,
            DENSE,
            "HiGHS",
            "cvxpy pairs, HiGHS",
            "SciPy linprog",
            "linopy, HiGHS",
            "cvxpy pairs, Clarabel",
        ),
        limit=30,
    ),
)
