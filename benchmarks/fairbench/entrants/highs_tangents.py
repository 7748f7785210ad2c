"""HiGHS with the welfare cut into straight pieces: 200 tangents a user, as linear models do."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array

from benchmarks.fairbench.entrants import highs_levels
from benchmarks.fairbench.levels import scaled

PIECES = 200


def solve(problem):
    if np.isinf(problem.alpha):
        return highs_levels.solve(problem)
    rows, share, unit = scaled(problem)
    users, alpha = problem.users, problem.alpha
    equal = np.asarray(share.sum(axis=1)).ravel()
    t = np.geomspace(1e-2, users, PIECES)  # in equal parts
    g = np.log(t) if alpha == 1 else t ** (1 - alpha) / (1 - alpha)
    slope = t**-alpha
    # z_n <= g(t) + g'(t) (s_n/equal_n - t) for every t
    owner = np.repeat(np.arange(users), PIECES)
    many = np.tile(slope, users) / equal[owner]
    cut = csr_array(-share[owner].multiply(many[:, None]))
    pick = csr_array((np.ones(len(owner)), (np.arange(len(owner)), owner)))
    matrix = block_array([[rows, None], [cut, pick]], format="csr")
    right = np.concatenate([np.ones(rows.shape[0]), np.tile(g - slope * t, users)])
    weight = problem.weight * equal ** (1 - alpha)
    goal = np.concatenate([np.zeros(len(unit)), -weight / weight.max()])
    bounds = [(0, None)] * len(unit) + [(None, None)] * users
    found = linprog(goal, A_ub=matrix, b_ub=right, bounds=bounds, method="highs")
    return None if found.x is None else found.x[: len(unit)] * unit
