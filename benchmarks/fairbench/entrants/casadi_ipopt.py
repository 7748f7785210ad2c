"""IPOPT by way of CasADi: an interior method of general nonlinear programs; levels one by one."""

import casadi as ca
import numpy as np

from benchmarks.fairbench.levels import lexicographic, scaled

QUIET = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-10}


def solve(problem):
    if np.isinf(problem.alpha):
        return lexicographic(problem, maximise)
    rows, share, unit = scaled(problem)
    alpha, equal = problem.alpha, np.asarray(share.sum(axis=1)).ravel()
    weight = problem.weight * equal ** (1 - alpha)
    y = ca.MX.sym("y", len(unit))
    s = matrix(share.multiply(1 / equal[:, None])) @ y
    gain = ca.log(s) if alpha == 1 else s ** (1 - alpha) / (1 - alpha)
    loss = -ca.dot(ca.DM(weight / weight.sum()), gain)
    part = 1 / np.asarray(rows.sum(axis=1)).max()
    tasks, prices = ipopt(y, loss, matrix(rows) @ y, np.ones(rows.shape[0]), part)
    return tasks * unit, prices / problem.rows[1]


def maximise(goal, left, right):
    x = ca.MX.sym("x", len(goal))
    return ipopt(x, -ca.dot(ca.DM(goal), x), matrix(left) @ x, right, 0.0)


def ipopt(x, loss, left, right, start):
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": loss, "g": left}, QUIET)
    found = solver(x0=start, lbx=0, ubx=np.inf, lbg=-np.inf, ubg=right)
    return (np.ravel(found[key]) for key in ("x", "lam_g"))


def matrix(given):
    return ca.DM(given.tocsc())
