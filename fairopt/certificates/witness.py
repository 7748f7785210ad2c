"""Search a better feasible allocation, which refutes an answer: SciPy searches, NumPy checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.formulas import penalties, welfare
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats

MOST_PAIRS = 20_000
"""no witness is searched for instances of more pairs"""
SECTIONS = 40
"""steps of the golden section search on a segment: 4e-9 of its length is left"""
PATIENCE, SLOW = 5, 0.002
"""the search ends when recent rounds gained less than this part of the whole gain"""


class Goal(NamedTuple):
    """What is to be made larger, and its slopes up to a factor, of amounts (P,) of all pairs."""

    value: Callable[[Floats], float]
    slope: Callable[[Floats], Floats]


def welfare_of(alloc: Allocation, log_w: Floats, alpha: float) -> Goal:
    """log of the equivalent share."""
    inst = alloc.instance
    n, i = inst.pairs
    u = alloc.score[n, i]

    def shares(x: Floats) -> Floats:
        return np.asarray(np.bincount(n, u * x, inst.shape[0]), dtype=np.float64)

    def slope(x: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            found = log_w[n] + np.log(u) - (alpha * np.log(shares(x)[n]) if alpha > 0 else 0.0)
        return np.asarray(np.exp(np.maximum(found - found.max(), -600.0)))

    return Goal(lambda x: welfare.log_equivalent(log_w, shares(x), alpha), slope)


def penalised(alloc: Allocation) -> Goal:
    """The trade-off (16) with its penalties."""
    inst, terms = alloc.instance, alloc.terms

    def spread(x: Floats) -> Floats:
        tasks = np.zeros(inst.shape[:2])
        tasks[inst.pairs] = x
        return tasks

    def value(x: Floats) -> float:
        return penalties.objective(inst, alloc.score * spread(x), terms)

    def slope(x: Floats) -> Floats:
        return penalties.gain(inst, alloc.score, spread(x), terms)

    return Goal(value, slope)


def better(alloc: Allocation, goal: Goal, rounds: int = 60) -> tuple[Floats, float]:
    """Tasks (N, I) of a feasible allocation of larger value, and by how much it is larger.

    Conditional gradients: a linear program finds the best vertex for the gradient at the present
    point, then the best point of the segment to it is searched. The value is computed in NumPy from
    the tasks returned; 0 if nothing better was found.
    """
    inst = alloc.instance
    n, i = inst.pairs
    users, servers, resources = inst.shape
    if len(n) > MOST_PAIRS or clock.over():
        return alloc.tasks, 0.0
    low = lower(inst, alloc.score)
    left: Any = low.matrix.multiply(1.0 / low.rhs[:, None]).tocsr()
    start = np.maximum(alloc.tasks[n, i], 0.0)
    over = float((left @ start).max())
    start = start / max(over, 1.0)
    x = start

    value = goal.value
    with np.errstate(all="ignore"):
        base, finite = value(start), np.isfinite(goal.slope(start)).all()
    if not (np.isfinite(base) and finite):
        # a user has nothing: begin in the interior, where the gradient is finite
        even = inst.alone[n, i] / (users * np.bincount(n, minlength=users)[n] * resources)
        x = 0.9 * start + 0.1 * even / max(float((left @ even).max()), 1.0)
    reached = [value(x)]
    program = LinearProgram(low)
    for _ in range(rounds):
        gain = goal.slope(x)
        if not 0 < float(np.abs(gain).max(initial=0.0)) < np.inf:
            break
        found = program.most(gain)
        if found is None:
            break
        target = found.x / max(float((left @ found.x).max()), 1.0)
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
