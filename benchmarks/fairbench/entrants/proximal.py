"""Proximal message passing (ADMM in consensus form): rows project, users take a proximal step."""

import numpy as np

from benchmarks.fairbench.levels import scaled
from benchmarks.fairbench.problem import Cannot

ROUNDS, RHO = 3000, 1.0


def solve(problem):
    if np.isinf(problem.alpha):
        raise Cannot("has no proximal step for lexicographic max-min")
    rows, share, unit = scaled(problem)
    equal = np.asarray(share.sum(axis=1)).ravel()
    of_user, weight = share.multiply(1 / equal[:, None]).tocsr(), problem.weight
    force = weight * equal ** (1 - problem.alpha)
    force /= np.median(force)
    matrix = np.vstack([rows.toarray(), of_user.toarray()])
    inverse = np.linalg.inv(matrix.T @ matrix + np.eye(len(unit)))
    many = rows.shape[0]
    y, z = np.ones(len(unit)), np.concatenate([np.ones(many), np.ones(problem.users)])
    u, v, w = np.zeros(len(unit)), np.zeros(len(z)), np.ones(len(unit))
    for _ in range(ROUNDS):
        y = inverse @ (matrix.T @ (z - v) + w - u)
        made = matrix @ y + v
        z[:many] = np.minimum(made[:many], 1.0)
        z[many:] = prox(made[many:], force / RHO, problem.alpha)
        w = np.maximum(y + u, 0.0)
        u, v = u + y - w, made - z
    return problem.fitted(w * unit)


def prox(at, force, alpha):
    """argmin (s - at)^2/2 - force g(s), by Newton's method in log s."""
    s = np.maximum(at, 1e-3)
    for _ in range(30):
        wrong, slope = s - at - force * s**-alpha, 1 + alpha * force * s ** (-alpha - 1)
        s = s * np.exp(np.clip(-wrong / (slope * s), -1, 1))
    return s
