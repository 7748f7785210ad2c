"""All levels of lexicographic max-min, beside one linear program a level.

With servers of about one size nearly everybody ends on one level; nested placement, and servers
whose sizes differ by three decades, make many.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS
from fairopt.instance.generate import random_instance


def build(quick: bool, decades: float = 0.0, nested: bool = False) -> tuple[fo.Instance, Any]:
    users, servers = (20, 8) if quick else (1000, 100)
    density = 0.2 if quick else 0.06
    inst = random_instance(users, servers, 3, density=density, seed=14, nested=nested)
    if decades:
        size = 10.0 ** (decades * (np.random.default_rng(14).random(servers) - 0.5))
        inst = inst.replace(capacity=inst.capacity * size[:, None])
    return inst, fo.MaxMin()


CASES = tuple(
    Case(
        f"levels{name}",
        f"all levels of max-min, density 0.06{words}",
        "lexicographic-speed",
        partial(build, **options),
        (OURS, "HiGHS a level, simplex", "HiGHS a level, interior"),
        rounds=3,
        limit=60,
    )
    for name, words, options in (
        ("", "", {}),
        ("-nested", ", nested placement", {"nested": True}),
        ("-uneven", ", servers of very different sizes", {"decades": 3.0}),
    )
)
