"""Lexicographic max-min for entrants that only have a linear program: one program a level.

An entrant hands over `maximise(goal, matrix, right) -> (x, multipliers)`: max goal x, matrix x <=
right, x >= 0. Rows and columns are scaled to about 1. Users with a multiplier are frozen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from benchmarks.fairbench.problem import Floats, Problem

SURE = 1e-6
"""a multiplier above this part of the largest freezes its user"""
Maximise = Callable[[Floats, csr_array, Floats], tuple[Floats, Floats]]


def scaled(problem: Problem) -> tuple[csr_array, csr_array, Floats]:
    """Rows (M, K) of capacity 1, shares (N, K), and the tasks (K,) that a unit of a column is."""
    use, have = problem.rows
    unit = problem.alone / problem.users
    rows = csr_array(use.multiply(unit[None, :]).multiply(1 / have[:, None]))
    return rows, csr_array(problem.of_user.multiply(unit[None, :])), unit


def lexicographic(problem: Problem, maximise: Maximise) -> Floats:
    """Tasks (K,) of max-min, level by level.

    Raises
    ------
    RuntimeError : no user stops a level, which says that the program was not solved.
    """
    rows, share, unit = scaled(problem)
    equal = np.asarray(share.sum(axis=1)).ravel()
    share = csr_array(share.multiply(1 / equal[:, None]))
    slope = problem.weight / equal
    size = slope.max()
    users, columns = share.shape
    free, level = np.ones(users, bool), np.zeros(users)
    goal = np.concatenate([np.zeros(columns), [1.0]])
    while free.any():
        last = np.where(free, slope / size, 0.0)[:, None]
        top = hstack([rows, csr_array((rows.shape[0], 1))])
        matrix = csr_array(vstack([top, hstack([-share, csr_array(last)])]))
        right = np.concatenate([np.ones(rows.shape[0]), -level])
        found, multipliers = maximise(goal, matrix, right)
        worth = np.where(free, np.abs(multipliers[rows.shape[0] :]) * slope, 0.0)
        if not worth.max() > 0:
            raise RuntimeError("nobody stops the level")
        stopped = worth > SURE * worth.max()
        level[stopped] = slope[stopped] / size * found[-1]
        free &= ~stopped
    return found[:-1] * unit
