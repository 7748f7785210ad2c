"""Lies about demand: who would run more of its true tasks if it claimed another demand?"""

from __future__ import annotations

import numpy as np

import fairopt as fo
from tests.oracles import pool

GAIN = 1e-9


def gain(inst: fo.Instance, notion: fo.MaxMin, user: int, claim: np.ndarray) -> float:
    """Relative gain of a user in true tasks, from what it holds, if it claims that demand (R,)."""
    demand = inst.demand.copy()
    demand[user] = claim
    truth = pool.tasks(inst, notion)[user]
    lied = pool.tasks(inst.replace(demand=demand), notion)[user] * claim
    needed = inst.demand[user] > 0
    useful = min((lied[needed] / inst.demand[user][needed]).min(), inst.limit[user])
    return float(useful / truth - 1) if truth > 0 else float(useful > GAIN)


def claims(rng: np.random.Generator, demand: np.ndarray, count: int):
    """Demands (R,) that a user might claim: each resource it needs, or all, more or less."""
    for _ in range(count):
        factor = 2.0 ** rng.uniform(-1.5, 1.5, len(demand))
        some = np.where(rng.random(len(demand)) < 0.5, factor, 1.0)
        extra = np.where((demand == 0) & (rng.random(len(demand)) < 0.3), 1.0, 0.0)
        yield demand * some + extra


def fits(inst: fo.Instance, notion: fo.MaxMin) -> bool:
    """Whether the guarantees of an instance on one pool fit."""
    from fairopt.criteria import drf
    from fairopt.formulas.entitled import entitled

    score = drf(inst)
    kind = {"name": "max-min", "parameters": notion.plain()["parameters"]}
    held = entitled(inst, score, kind).floor / score[:, 0]
    return bool((held @ inst.demand <= inst.pool[0] * (1 + 1e-9)).all())
