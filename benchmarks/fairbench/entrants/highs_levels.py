"""HiGHS, as SciPy ships it: max-min by a linear program a level. No other notion."""

import numpy as np
from scipy.optimize import linprog

from benchmarks.fairbench.levels import lexicographic
from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if not np.isinf(problem.alpha):
        raise Cannot("linear programs state max-min only")
    return lexicographic(problem, maximise)


def maximise(goal, matrix, right):
    found = linprog(-goal, A_ub=matrix, b_ub=right, method="highs")
    if found.status != 0:
        raise RuntimeError(found.message)
    return found.x, found.ineqlin.marginals
