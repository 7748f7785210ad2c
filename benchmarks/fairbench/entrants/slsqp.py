"""SciPy's SLSQP, a solver of general nonlinear programs, from equal parts. Small problems only."""

import numpy as np
from scipy.optimize import minimize

from benchmarks.fairbench.levels import scaled
from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if np.isinf(problem.alpha):
        raise Cannot("one smooth objective only")
    rows, share, unit = scaled(problem)
    a, s, alpha = rows.toarray(), share.toarray(), problem.alpha
    start = np.full(len(unit), 1.0)
    start /= max(1.0, (a @ start).max())
    scale = s @ start
    weight = problem.weight * scale ** (1 - alpha)
    weight /= weight.sum()

    def loss(y):
        t = np.maximum(s @ y / scale, 1e-12)
        return -weight @ (np.log(t) if alpha == 1 else t ** (1 - alpha) / (1 - alpha))

    def slope(y):
        return -(weight * np.maximum(s @ y / scale, 1e-12) ** -alpha / scale) @ s

    fits = {"type": "ineq", "fun": lambda y: 1 - a @ y, "jac": lambda _: -a}
    options = {"maxiter": 1000, "ftol": 1e-15}
    bounds = [(0, None)] * len(unit)
    found = minimize(loss, start, jac=slope, bounds=bounds, constraints=fits, options=options)
    return found.x * unit
