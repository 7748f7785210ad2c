"""Trees of ceilings over groups of users, and horizons: hours as servers with budgets over all."""

from __future__ import annotations

from functools import partial

import numpy as np

import fairopt as fo
from benchmarks.fairbench.families import OWN, Built, called, of_instance, with_rules
from benchmarks.fairbench.problem import Problem

TREES = ((6, 0), (9, 1), (16, 2), (40, 3), (80, 4))
HORIZONS = ((3, 4, 0), (4, 6, 1), (6, 12, 2), (12, 24, 3), (20, 48, 4))
"""users, hours, seed"""


def problems() -> list[Built]:
    """Trees and horizons by size and notion."""
    found: list[Built] = []
    for alpha in (1.0, 2.0, np.inf):
        for users, seed in TREES:
            name = f"trees/{users}-{seed}/{called(alpha)}"
            found.append((name, partial(_tree, name, users, seed, alpha)))
        for users, hours, seed in HORIZONS:
            name = f"horizons/{users}x{hours}-{seed}/{called(alpha)}"
            found.append((name, partial(_horizon, name, users, hours, seed, alpha)))
    return found


def _tree(name: str, users: int, seed: int, alpha: float) -> Problem:
    """Departments of teams of users; a ceiling on what each takes of one resource everywhere."""
    rng = np.random.default_rng([31, seed])
    servers = 2 + seed
    demand = rng.uniform(0.1, 1.0, (users, 2))
    inst = fo.Instance(demand, rng.uniform(0.5, 1.5, (servers, 2)) * users / servers)
    plain = of_instance(inst, np.ones(inst.shape[:2]), alpha, _words(name, "trees", _tree, seed))
    rules = []
    for size in (max(2, users // 6), max(3, users // 3)):
        for first in range(0, users, size):
            inside = (plain.user >= first) & (plain.user < first + size)
            r = int(rng.integers(2))
            part = size / users * float(rng.uniform(0.4, 1.4))
            columns = np.flatnonzero(inside)
            most = part * float(inst.pool[:, r].sum())
            rules.append((most, columns.tolist(), plain.demand[columns, r].tolist()))
    return with_rules(plain, rules)


def _horizon(name: str, users: int, hours: int, seed: int, alpha: float) -> Problem:
    """What a user wants an hour bounds its column there; budgets are over all hours."""
    rng = np.random.default_rng([32, seed])
    demand = rng.uniform(0.2, 1.0, (users, 2))
    wants = rng.gamma(1.5, 1.0, (users, hours)) * 2
    present = rng.random((users, hours)) < 0.7
    present[np.arange(users), rng.integers(hours, size=users)] = True
    inst = fo.Instance(demand, np.full((hours, 2), 0.6 * users), present)
    words = _words(name, "horizons", _horizon, seed)
    plain = of_instance(inst, np.ones(inst.shape[:2]), alpha, words)
    rules = [
        (float(wants[n, t]), [k], [1.0])
        for k, (n, t) in enumerate(zip(plain.user.tolist(), plain.server.tolist(), strict=True))
    ]
    for n in range(0, users, 2):
        mine = np.flatnonzero(plain.user == n)
        most = float(wants[n, present[n]].sum() * rng.uniform(0.3, 1.2))
        rules.append((most, mine.tolist(), [1.0] * len(mine)))
    return with_rules(plain, rules)


def _words(name: str, family: str, how, seed: int) -> dict[str, str]:
    return {
        "name": name,
        "family": family,
        "title": how.__doc__.rstrip("."),
        "source": f"benchmarks/fairbench/families/ruled.py, {how.__name__[1:]}, seed {seed}",
        "licence": OWN,
    }
