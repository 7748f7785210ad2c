"""Large alpha, where general solvers end in wrong answers labelled optimal."""

from __future__ import annotations

from functools import partial
from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import CONIC, OURS
from fairopt.instance.generate import random_instance


def build(quick: bool, alpha: float) -> tuple[fo.Instance, Any]:
    users, servers = (12, 5) if quick else (100, 30)
    return random_instance(users, servers, 3, density=0.7, seed=11), fo.AlphaFair(alpha)


CASES = tuple(
    Case(
        f"alpha-{alpha:g}",
        f"alpha-fairness, alpha = {alpha:g}, density 0.7",
        "engine-speed",
        partial(build, alpha=alpha),
        (OURS, "cvxpy plain", *CONIC),
        limit=20,
    )
    for alpha in (2.0, 10.0, 50.0)
)
