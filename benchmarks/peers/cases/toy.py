"""Three users: what a small question costs."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, OURS


def build(quick: bool) -> tuple[fo.Instance, Any]:
    inst = fo.Instance(
        [[1, 4], [3, 1], [2, 2]],
        [[9, 18], [12, 6]],
        [[True, True], [True, False], [False, True]],
        weight=[1, 2, 1],
    )
    return inst, fo.ProportionalFair()


CASES = (
    Case(
        "toy",
        "proportional fairness, three users on two servers",
        "engine-speed",
        build,
        (OURS, "cvxpy plain", *CONIC),
        rounds=9,
        limit=20,
    ),
)
