"""cvxpy_leximin: its objective Leximin with the method "saturation". No other notion."""

import cvxpy as cp
import cvxpy_leximin
import numpy as np

from benchmarks.fairbench.levels import scaled
from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if not np.isinf(problem.alpha):
        raise Cannot("states max-min only")
    rows, share, unit = scaled(problem)
    y = cp.Variable(len(unit), nonneg=True)
    level = np.asarray(share.sum(axis=1)).ravel() / problem.weight
    per_user = (1 / problem.weight / np.median(level))[:, None]
    s = share.multiply(per_user).tocsr() @ y
    goal = cvxpy_leximin.Leximin([s[n] for n in range(problem.users)])
    whole = cvxpy_leximin.Problem(goal, constraints=[rows @ y <= 1])
    whole.solve(method="saturation", solver="HIGHS")
    return None if y.value is None else y.value * unit
