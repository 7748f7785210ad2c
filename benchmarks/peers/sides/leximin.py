"""cvxpy_leximin: the objective `Leximin` with its method `saturation`, over eligible pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.question import Answer, Data


def solve(given: Data) -> Answer:
    """Leximin of s_n / W_n over pairs y >= 0, every capacity row 1; no duals."""
    import cvxpy as cp
    import cvxpy_leximin

    unit = given.unit
    y = cp.Variable(len(given.n), nonneg=True)
    # one factor for all, so that levels stay comparable and are near 1
    level = np.bincount(given.n, given.score * unit, given.shape[0]) / given.weight
    per_pair = given.score * unit / given.weight[given.n] / np.median(level)
    share = given.of_user().multiply(per_pair[None, :]).tocsr() @ y
    capacity = given.usage().multiply(unit[None, :]).tocsr() @ y <= 1
    objective = cvxpy_leximin.Leximin([share[k] for k in range(given.shape[0])])
    problem = cvxpy_leximin.Problem(objective, constraints=[capacity])
    problem.solve(method="saturation", solver="HIGHS", threads=1)
    if y.value is None:
        return Answer(None, status=str(problem.status))
    return Answer(y.value * unit, status=str(problem.status))
