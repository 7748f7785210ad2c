"""Is bottleneck max fairness stable whenever the load is below capacity? A search for a fluid path.

bonald2015 proves it for two resources and equal means (Theorem 1) and calls the rest a challenging
open problem. The fluid moves by dn_k/dt = mu_k (rho_k - phi_k(n)). Here: three or four resources,
three to five classes, means over four decades, loads from .9 to .99, zero requirements, many random
starts each. Where BMF is not unique, at every step the point is taken that is worst for the fluid,
of those that the order of the resources leads to. A path counts as drained once its work has
halved, as it goes on alike from there (docs/results/open-bmf-stability.md).

Run: python examples/open_bmf_stability.py [CLUSTERS [SEED [FIRST]]]; FIRST goes on from a cluster.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np

from fairopt.dynamics.rate_formulas import bmf
from fairopt.instance import Floats

STARTS, STEPS, STEP = 8, 1_500, 0.1


def cluster(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Requirements (K, R) of classes of load 1 each, their means and the load."""
    classes, resources = int(rng.integers(3, 6)), int(rng.integers(3, 5))
    part = rng.exponential(size=(classes, resources)) ** rng.uniform(0.5, 3)
    part *= rng.random(part.shape) > rng.uniform(0, 0.5)
    part[part.sum(axis=1) == 0] = 1.0
    load = rng.uniform(0.9, 0.99)
    part *= load / part.sum(axis=0).max()
    return part, np.exp(rng.uniform(-4.6, 4.6, classes)), load


def worst_rates(part: Floats, number: Floats) -> Floats:
    """Of the BMF rates that the orders of the resources lead to, those that serve least in all."""
    orders = list(permutations(range(part.shape[1])))[::5][:3]
    found = np.array([bmf(part[:, list(order)], number)[0] for order in orders])
    served = (found * part.sum(axis=1)).sum(axis=2)
    least = served.argmin(axis=0)
    return np.asarray(found[least, np.arange(len(number))])


def drain(part: Floats, mean: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(STARTS,) the least work reached, relative to the start, and the most on the way.

    number_k = time_k / mean_k is what arrives of a class in time_k (rho_k = 1). Within a step every
    transaction keeps its rate, and the linear equation is solved exactly.
    """
    time = np.exp(rng.uniform(-4, 4, (STARTS, len(part))))
    first = (time @ part).max(axis=1)
    work = least = most = first.copy()
    for _ in range(STEPS):
        go = least > 0.5 * first
        if not go.any():
            break
        number = time[go] / mean
        one = worst_rates(part, number) / number
        served = one / mean
        stay = np.exp(-served * STEP * work[go, None])
        time[go] = np.maximum(time[go] * stay + (1 - stay) / served, 1e-9 * work[go, None])
        work[go] = (time[go] @ part).max(axis=1)
        least, most = np.minimum(least, work), np.maximum(most, work)
    return least / first, most / first


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    clusters, seed, begin = given + [200, 0, 0][len(given) :]
    stuck, grown, paths = [], 1.0, 0
    for k in range(begin, clusters):
        rng = np.random.default_rng([seed, k])
        part, mean, load = cluster(rng)
        least, most = drain(part, mean, rng)
        paths += len(least)
        if most.max() > grown:
            grown = float(most.max())
            print(f"cluster {k}: load {load:.3f}, work grew to {grown:.4f} times the start")
        if (least > 0.5).any():
            stuck.append(k)
            print(f"cluster {k}: {int((least > 0.5).sum())} paths have not halved")
        if (k + 1) % 10 == 0:
            done = f"{k + 1 - begin} clusters, {paths} paths"
            print(f"{done}: {len(stuck)} with a path that has not halved", flush=True)


if __name__ == "__main__":
    main()
