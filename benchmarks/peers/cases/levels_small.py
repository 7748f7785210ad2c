"""All levels of lexicographic max-min at sizes that cvxpy_leximin may finish."""

from __future__ import annotations

from functools import partial
from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS
from fairopt.instance.generate import random_instance

_SIDES = (OURS, "HiGHS a level, simplex", "HiGHS a level, interior", "cvxpy_leximin")


def build(quick: bool, users: int, servers: int, density: float) -> tuple[fo.Instance, Any]:
    users, servers = (6, 4) if quick else (users, servers)
    return random_instance(users, servers, 3, density=density, seed=15), fo.MaxMin()


CASES = tuple(
    Case(
        f"levels-{users}-{density:g}",
        f"all levels of max-min, density {density:g}",
        "lexicographic-speed",
        partial(build, users=users, servers=servers, density=density),
        _SIDES,
        rounds=3,
        limit=60,
    )
    for users, servers, density in ((20, 8, 0.1), (50, 20, 0.1), (50, 20, 0.7))
)
