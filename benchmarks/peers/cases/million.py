"""A million different users on ten servers: time, memory, proof."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS
from fairopt.instance.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users = 500 if quick else 1_000_000
    return random_instance(users, 10, 3, seed=13), fo.ProportionalFair()


CASES = (
    Case(
        "million", "proportional fairness, everybody everywhere", "engine-speed", build, (OURS,),
        rounds=3, limit=120,
    ),
)  # fmt: skip
