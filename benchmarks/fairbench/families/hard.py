"""Degenerate instances: what makes solvers print an answer that is not one."""

from __future__ import annotations

from functools import partial

import numpy as np

import fairopt as fo
from benchmarks.fairbench.families import OWN, Built, called, of_instance
from benchmarks.fairbench.problem import Problem

ALPHAS = (1.0, 2.0, np.inf)
EACH = 3


def parallel(rng: np.random.Generator) -> fo.Instance:
    """Two resources that everybody uses in nearly the same ratio, both nearly full."""
    users = int(rng.integers(3, 7))
    first = rng.uniform(0.1, 1.0, users)
    second = first * (1 + 10.0 ** rng.uniform(-5, -2) * rng.uniform(-1, 1, users))
    ratio = (second / first).mean()
    return fo.Instance(np.column_stack([first, second]), [[1.0, float(ratio)]])


def ties(rng: np.random.Generator) -> fo.Instance:
    """Small whole numbers: several resources fill at once."""
    users, servers = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    demand = rng.integers(1, 4, (users, 2)).astype(float)
    return fo.Instance(demand, rng.integers(3, 9, (servers, 2)).astype(float))


def light(rng: np.random.Generator) -> fo.Instance:
    """Weights over eight decades: the lightest user is nobody to an objective."""
    users = int(rng.integers(3, 7))
    weight = 10.0 ** np.linspace(-4, 4, users)
    return fo.Instance(
        rng.uniform(0.1, 1, (users, 2)), rng.uniform(1, 3, (2, 2)), weight=rng.permutation(weight)
    )


def units(rng: np.random.Generator) -> fo.Instance:
    """Bytes beside cores: rows nine decades apart."""
    users = int(rng.integers(3, 7))
    demand = np.column_stack([rng.integers(1, 9, users), rng.integers(1, 33, users) * 2.0**30])
    capacity = np.array([[32.0, 128 * 2.0**30], [64.0, 64 * 2.0**30]])
    return fo.Instance(demand, capacity)


def absent(rng: np.random.Generator) -> fo.Instance:
    """Resources that many users do not take and some servers do not have."""
    users = int(rng.integers(4, 8))
    demand = rng.uniform(0.1, 1, (users, 3))
    demand[:, 1:] *= rng.random((users, 2)) < 0.4
    capacity = rng.uniform(1, 3, (3, 3))
    capacity[1, 2] = capacity[2, 1] = 0.0
    return fo.Instance(demand, capacity)


def apart(rng: np.random.Generator) -> fo.Instance:
    """Two halves that share nothing, one a million times the other."""
    users = 2 * int(rng.integers(2, 4))
    allowed = np.zeros((users, 2), bool)
    allowed[: users // 2, 0] = allowed[users // 2 :, 1] = True
    capacity = rng.uniform(1, 3, (2, 2)) * np.array([[1.0], [1e6]])
    return fo.Instance(rng.uniform(0.1, 1, (users, 2)), capacity, allowed)


def limits(rng: np.random.Generator) -> fo.Instance:
    """Most users are stopped by limits of their own, some only just."""
    users = int(rng.integers(4, 8))
    inst = fo.Instance(rng.uniform(0.1, 1, (users, 2)), rng.uniform(1, 3, (2, 2)))
    most = inst.alone.sum(axis=1) / users
    return inst.replace(limit=most * rng.choice([0.3, 0.9, 1.0, 3.0], users))


KINDS = (parallel, ties, light, units, absent, apart, limits)


def problems() -> list[Built]:
    """Each kind by seeds and notions."""
    found: list[Built] = []
    for kind in KINDS:
        for seed in range(EACH):
            for alpha in ALPHAS:
                name = f"hard/{kind.__name__}-{seed}/{called(alpha)}"
                found.append((name, partial(_build, name, kind, seed, alpha)))
    return found


def _build(name: str, kind, seed: int, alpha: float) -> Problem:
    inst = kind(np.random.default_rng([7, seed]))
    words = {
        "name": name,
        "family": "hard",
        "title": kind.__doc__.rstrip("."),
        "source": f"benchmarks/fairbench/families/hard.py, {kind.__name__}, seed {seed}",
        "licence": OWN,
    }
    return of_instance(inst, np.ones(inst.shape[:2]), alpha, words)
