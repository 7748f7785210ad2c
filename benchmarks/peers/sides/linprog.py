"""scipy.optimize.linprog: the linear program of throughput."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.question import Answer, Data


def solve(given: Data) -> Answer:
    """max sum W s over pairs y >= 0, every capacity row 1."""
    from scipy.optimize import linprog

    if given.alpha != 0:
        raise ValueError("linear programs only")
    matrix = given.usage().multiply(given.unit[None, :]).tocsr()
    goal = given.weight[given.n] * given.score * given.unit
    found = linprog(-goal / goal.max(), A_ub=matrix, b_ub=np.ones(matrix.shape[0]))
    if found.x is None:
        return Answer(None, status=found.message)
    rows = np.abs(found.ineqlin.marginals).reshape(given.pool.shape)
    return Answer(found.x * given.unit, rows, status=found.message)
