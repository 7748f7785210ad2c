"""cvxpy as one would first write it: units of the problem; of max-min the lowest level alone."""

import cvxpy as cp
import numpy as np


def solve(problem):
    use, have = problem.rows
    x = cp.Variable(len(problem.user), nonneg=True)
    fits = use @ x <= have
    s, alpha = problem.of_user @ x, problem.alpha
    if np.isinf(alpha):
        cp.Problem(cp.Maximize(cp.min(s / problem.weight)), [fits]).solve()
        return x.value
    gain = cp.log(s) if alpha == 1 else cp.power(s, 1 - alpha) / (1 - alpha)
    cp.Problem(cp.Maximize(problem.weight @ gain), [fits]).solve()
    return None if x.value is None else (x.value, fits.dual_value)
