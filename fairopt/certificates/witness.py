"""Search a better feasible allocation, which refutes an answer: SciPy searches, NumPy checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas import welfare
from fairopt.instance import Floats

LARGEST = 20_000
"""no witness is searched for instances of more pairs"""
SECTIONS = 40
"""steps of the golden section search on a segment: 4e-9 of its length is left"""
PATIENCE, SLOW = 5, 0.002
"""the search ends when recent rounds gained less than this part of the whole gain"""


def better(
    alloc: Allocation, log_w: Floats, alpha: float, rounds: int = 60
) -> tuple[Floats, float]:
    """Tasks (N, I) of a feasible allocation of larger equivalent share, and log of the ratio.

    Conditional gradients: a linear program finds the best vertex for the gradient at the present
    point, then the best point of the segment to it is searched. The ratio is computed in NumPy from
    the tasks returned; its log is 0 if nothing better was found.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    inst = alloc.instance
    n, i = inst.pairs
    users, servers, resources = inst.shape
    if len(n) > LARGEST:
        return alloc.tasks, 0.0
    u = alloc.score[n, i]
    pair = np.arange(len(n))
    use = coo_array(
        (inst.pair_part.ravel(),
         ((i[:, None] * resources + np.arange(resources)).ravel(), np.repeat(pair, resources))),
        shape=(servers * resources, len(n)),
    )  # fmt: skip
    limited = np.isfinite(inst.limit)
    cap = coo_array((1.0 / inst.limit[n[limited[n]]], (n[limited[n]], pair[limited[n]])),
                    shape=(users, len(n)))  # fmt: skip
    left = vstack([use, cap]).tocsr()
    start = np.maximum(alloc.tasks[n, i], 0.0)
    over = float((left @ start).max())
    start = start / max(over, 1.0)
    x = start

    def shares(tasks: Floats) -> Floats:
        return np.asarray(np.bincount(n, u * tasks, users), dtype=np.float64)

    def value(tasks: Floats) -> float:
        return welfare.log_equivalent(log_w, shares(tasks), alpha)

    base = value(start)
    if alpha > 0 and not (shares(start) > 0).all():
        # a user has nothing: begin in the interior, where the gradient is finite
        even = inst.alone[n, i] / (users * np.bincount(n, minlength=users)[n] * resources)
        x = 0.9 * start + 0.1 * even / max(float((left @ even).max()), 1.0)
    reached = [value(x)]
    size = inst.alone[n, i]
    scaled: Any = left.multiply(size[None, :]).tocsr()
    for _ in range(rounds):
        share = shares(x)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            slope = log_w[n] + np.log(u * size)
            if alpha > 0:
                slope = slope - alpha * np.log(share[n])
        gain = np.exp(np.maximum(slope - slope.max(), -600.0))
        found = linprog(-gain, A_ub=scaled, b_ub=np.ones(left.shape[0]), method="highs")
        if found.x is None:
            break
        target = np.maximum(found.x, 0.0) * size
        target = target / max(float((left @ target).max()), 1.0)
        moved = x + best_step(value, x, target) * (target - x)
        reached.append(value(moved))
        if not reached[-1] > reached[-2]:
            break
        x = moved
        late = reached[-1] - reached[max(-1 - PATIENCE, -len(reached))]
        if len(reached) > PATIENCE and late < SLOW * (reached[-1] - reached[0]):
            break
    x = x / max(float((left @ x).max()), 1.0)
    tasks = np.zeros((users, servers))
    tasks[n, i] = x
    gained = value(x) - base
    return (tasks, gained) if gained > 0 else (alloc.tasks, 0.0)


def best_step(value: Callable[[Floats], float], x: Floats, target: Floats) -> float:
    """The step in [0, 1] from x to target with the largest value, by golden section search."""
    def at(step: float) -> float:
        return value(x + step * (target - x))

    low, high, golden = 0.0, 1.0, (5**0.5 - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = at(a), at(b)
    for _ in range(SECTIONS):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = at(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = at(a)
    return (low + high) / 2
