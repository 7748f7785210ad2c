"""Nested placement: lists of servers that contain one another."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (40, 10) if quick else (1000, 100)
    inst = random_instance(users, servers, 3, density=0.3, seed=10, nested=True)
    return inst, fo.ProportionalFair()


CASES = (
    Case(
        "nested",
        "proportional fairness, nested placement, density 0.3",
        "engine-speed",
        build,
        (OURS, *CONIC),
        limit=30,
    ),
)
