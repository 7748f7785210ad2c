"""The physical limit for very many users: one pass over all pairs, and nothing else.

A pass computes costs at given prices, each user's cheapest server, one exponential a pair and the
sums of use: what every method must do at least once. No prices are found and nothing is proved.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.question import Answer

CHUNK = 8192
"""users at a time, so that what a pass computes stays in the cache"""


def solve(given: tuple[fo.Instance, Any]) -> Answer:
    """Seconds of one pass, as `inner`: the better of two."""
    inst, _ = given
    return Answer(None, inner=min(bare(inst) for _ in range(2)))


def bare(inst: fo.Instance) -> float:
    """Seconds of one pass: costs, minimum, exponential, sums."""
    prices, use = np.ones(inst.pool.shape), np.zeros(inst.pool.shape)
    start = time.perf_counter()
    for users in range(0, len(inst.users), CHUNK):
        rows = slice(users, users + CHUNK)
        cost = np.where(inst.eligible[rows], inst.demand[rows] @ prices.T, np.inf)
        part = np.exp(1 - cost / cost.min(axis=1)[:, None])
        use += part.T @ inst.demand[rows]
    return time.perf_counter() - start
