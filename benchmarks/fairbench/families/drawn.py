"""Instances drawn by size and by how many servers a user may use."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.fairbench.families import OWN, Built, called, of_instance
from benchmarks.fairbench.problem import Problem
from fairopt import criteria
from fairopt.instance.generate import random_instance

SIZES = (
    (4, 2, 2),
    (6, 3, 2),
    (10, 4, 3),
    (20, 5, 3),
    (50, 10, 3),
    (100, 20, 4),
    (300, 20, 4),
    (600, 30, 4),
)
DENSITIES = (1.0, 0.3)
ALPHAS = (0.5, 1.0, 2.0, 5.0, np.inf)


def problems() -> list[Built]:
    """Sizes by densities by notions; max-min up to a hundred users, as each costs its proof."""
    found: list[Built] = []
    for number, size in enumerate(SIZES):
        for density in DENSITIES:
            for alpha in ALPHAS:
                if np.isinf(alpha) and size[0] > 100:
                    continue
                shape = "x".join(map(str, size))
                name = f"drawn/{shape}-{density:g}/{called(alpha)}"
                found.append((name, partial(_build, name, size, density, alpha, number)))
    return found


def _build(
    name: str, size: tuple[int, int, int], density: float, alpha: float, seed: int
) -> Problem:
    inst = random_instance(*size, density=density, seed=seed, weight_decades=1.0, zero_demand=0.1)
    words = {
        "name": name,
        "family": "drawn",
        "title": f"{size[0]} users, {size[1]} servers, {size[2]} resources, density {density:g}",
        "source": f"fairopt.instance.generate.random_instance, seed {seed}",
        "licence": OWN,
    }
    by = "drf" if np.isinf(alpha) else "tasks"
    return of_instance(inst, criteria.score(inst, by), alpha, words)
