"""The main case: many users on many servers, most of them eligible."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, DENSE, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (80, 30) if quick else (1000, 300)
    return random_instance(users, servers, 4, density=0.7, seed=7), fo.ProportionalFair()


CASES = (
    Case(
        "main",
        "proportional fairness, density 0.7",
        "engine-speed",
        build,
        (OURS, DENSE, *CONIC),
        limit=90,
    ),
)
