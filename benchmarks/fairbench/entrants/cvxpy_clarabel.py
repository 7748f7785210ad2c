"""cvxpy with Clarabel, scaled to units of one; max-min by a program a level."""

import cvxpy as cp
import numpy as np

from benchmarks.fairbench.levels import lexicographic, scaled


def solve(problem, solver="CLARABEL"):
    if np.isinf(problem.alpha):
        return lexicographic(problem, lambda *program: linear(solver, *program))
    rows, share, unit = scaled(problem)
    y = cp.Variable(len(unit), nonneg=True)
    fits = rows @ y <= 1
    s, alpha = share @ y, problem.alpha
    gain = cp.log(s) if alpha == 1 else cp.power(s, 1 - alpha) / (1 - alpha)
    cp.Problem(cp.Maximize(problem.weight @ gain), [fits]).solve(solver=solver)
    if y.value is None:
        return None
    return y.value * unit, fits.dual_value / problem.rows[1]


def linear(solver, goal, matrix, right):
    x = cp.Variable(len(goal), nonneg=True)
    fits = matrix @ x <= right
    cp.Problem(cp.Maximize(goal @ x), [fits]).solve(solver=solver)
    return x.value, fits.dual_value
