"""All levels of lexicographic max-min, beside one linear program a level."""

from __future__ import annotations

from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS
from fairopt.generate import random_instance


def build(quick: bool) -> tuple[fo.Instance, Any]:
    users, servers = (20, 8) if quick else (1000, 100)
    density = 0.2 if quick else 0.06
    return random_instance(users, servers, 3, density=density, seed=14), fo.MaxMin()


CASES = (
    Case(
        "levels", "all levels of max-min, density 0.06", "lexicographic-speed", build,
        (OURS, "HiGHS a level, simplex", "HiGHS a level, interior"), rounds=3, limit=60,
    ),
)  # fmt: skip
