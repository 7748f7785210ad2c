"""cvxpy as one would first write it: a dense variable, zero constraints, no scaling, defaults."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.question import Answer, Data


def solve(given: Data) -> Answer:
    """max sum_n W_n g(sum_i u x), demand' x <= capacity, x = 0 where not eligible."""
    import cvxpy as cp

    users, servers, _ = given.shape
    eligible, score = np.zeros((users, servers)), np.zeros((users, servers))
    eligible[given.n, given.i] = 1.0
    score[given.n, given.i] = given.score
    x = cp.Variable((users, servers), nonneg=True)
    share = cp.sum(cp.multiply(score, x), axis=1)
    if given.alpha == 0:
        gain = share
    elif given.alpha == 1:
        gain = cp.log(share)
    else:
        gain = cp.power(share, 1 - given.alpha) / (1 - given.alpha)
    capacity = given.demand.T @ x <= given.pool.T
    constraints = [capacity]
    if not eligible.all():
        constraints.append(cp.multiply(1 - eligible, x) == 0)
    problem = cp.Problem(cp.Maximize(given.weight @ gain), constraints)
    problem.solve(solver=cp.CLARABEL)
    if x.value is None:
        return Answer(None, status=str(problem.status))
    return Answer(
        x.value[given.n, given.i],
        np.asarray(capacity.dual_value).T * given.pool,
        status=str(problem.status),
        inner=problem.solver_stats.solve_time,
    )
