"""Demands and capacities as whole numbers, so that filling never rounds."""

from __future__ import annotations

import math

import numpy as np

from fairopt.exact import as_printed
from fairopt.instance import Floats, Instance

SLACK = 1e-10
"""relative tolerance where the numbers have no common unit; below the 1e-9 of feasibility"""
_EXACT = 2**53
_MANY_ROWS = 20_000
"""rows of demand and capacity beyond which units are not made whole"""


def scaled(instance: Instance, increment: float) -> tuple[Floats, Floats, Floats, bool]:
    """Demand of one increment and capacity, in units that make both whole numbers.

    Every number is taken as the shortest decimal that prints as it: 0.1 is one tenth, so ten tasks
    of 0.1 fit in 1. The whole numbers stay below 2^53, so floats hold them exactly.

    Parameters
    ----------
    instance : the cluster.
    increment : tasks given at a time, > 0.

    Returns
    -------
    demand : (N, R) or (N, I, R), of one increment.
    capacity : (I, R), of one machine.
    slack : (I, R), by how much a task may exceed what is left: 0 where such a unit was found, else
        1e-10 of the capacity.
    exact : whether every resource has such a unit.
    """
    instance.only_linear("whole tasks")
    demand, capacity = instance.demand.copy(), instance.capacity.copy()
    slack = np.zeros_like(capacity)
    exact = True
    for r in range(capacity.shape[1]):
        each, inverse = np.unique(demand[..., r], return_inverse=True)
        have, back = np.unique(capacity[:, r], return_inverse=True)
        whole = _whole(each.tolist(), have.tolist(), increment)
        if whole is None:
            exact = False
            demand[..., r] *= increment
            slack[:, r] = SLACK * capacity[:, r]
        else:
            demand[..., r] = np.asarray(whole[0])[inverse].reshape(demand.shape[:-1])
            capacity[:, r] = np.asarray(whole[1])[back]
    return demand, capacity, slack, exact


def _whole(
    demand: list[float], capacity: list[float], increment: float
) -> tuple[list[float], list[float]] | None:
    if len(demand) + len(capacity) > _MANY_ROWS:
        return None
    step = as_printed(increment)
    fractions = [as_printed(v) * step for v in demand] + [as_printed(v) for v in capacity]
    unit = 1
    for value in fractions:
        unit = math.lcm(unit, value.denominator)
        if unit > _EXACT**2:
            return None
    numbers = [int(value * unit) for value in fractions]
    common = math.gcd(*numbers) or 1
    numbers = [value // common for value in numbers]
    if max(numbers) >= _EXACT:
        return None
    floats = [float(value) for value in numbers]
    return floats[: len(demand)], floats[len(demand) :]
