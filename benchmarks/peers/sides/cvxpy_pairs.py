"""cvxpy over eligible pairs alone, natural units, each solver with the settings found best."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.question import Answer, Data, Floats

SETTINGS: dict[str, dict[str, Any]] = {
    # qdldl was two to three times faster than the default choice, and more accurate
    "Clarabel": {
        "solver": "CLARABEL",
        "direct_solve_method": "qdldl",
        "max_iter": 400,
        "max_threads": 1,
    },
    # where those stop short: more regularisation, undone by refinement
    "Clarabel, regularised": {
        "solver": "CLARABEL",
        "direct_solve_method": "qdldl",
        "max_iter": 400,
        "max_threads": 1,
        "static_regularization_constant": 1e-7,
        "iterative_refinement_max_iter": 50,
        "equilibrate_max_scaling": 1e8,
    },
    "ECOS": {"solver": "ECOS", "max_iters": 400},
    "SCS": {"solver": "SCS", "max_iters": 100_000},
    "HiGHS": {"solver": "HIGHS", "threads": 1},
}
TOLERANCES = {
    "Clarabel": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "Clarabel, regularised": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "ECOS": ("abstol", "reltol", "feastol"),
    "SCS": ("eps_abs", "eps_rel"),
    "HiGHS": (),
}


def solve(given: Data, solver: str, tolerance: float) -> Answer:
    """max sum_n W_n g(s_n) over pairs y >= 0, every capacity row 1, shares counted near 1."""
    import cvxpy as cp

    size = _size(given)
    unit = size[given.n] / given.score
    y = cp.Variable(len(given.n), nonneg=True)
    share = given.of_user() @ y
    worth = given.weight * np.exp((1 - given.alpha) * np.log(size / size.max()))
    capacity = given.usage().multiply(unit[None, :]).tocsr() @ y <= 1
    objective = cp.Maximize((worth / worth.max()) @ _gain(share, given.alpha))
    problem = cp.Problem(objective, [capacity])
    asked = SETTINGS[solver] | dict.fromkeys(TOLERANCES[solver], tolerance)
    problem.solve(warm_start=False, **asked)
    if y.value is None:
        return Answer(None, status=str(problem.status))
    return Answer(
        y.value * unit,
        np.asarray(capacity.dual_value).reshape(given.pool.shape),
        status=str(problem.status),
        inner=problem.solver_stats.solve_time,
    )


def _gain(share: Any, alpha: float) -> Any:
    import cvxpy as cp

    if alpha == 0:
        return share
    if alpha == 1:
        return cp.log(share)
    # in exponential cones, which all of these solvers have
    return cp.exp((1 - alpha) * cp.log(share)) / (1 - alpha)


def _size(given: Data) -> Floats:
    """(N,) what shares are counted in: equal parts; for alpha > 1 the max-min level.

    Without it no general solver gets past alpha = 5; the linear program is part of the time.
    """
    users, per_pair = given.shape[0], given.score * given.unit
    equal = np.bincount(given.n, per_pair, users)
    if given.alpha <= 1:
        return equal
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    weight = given.weight ** (1 / given.alpha)
    part = (weight / equal).max()
    share = given.of_user().multiply((per_pair / equal[given.n])[None, :])
    level = csr_array((weight / equal / part)[:, None])
    usage = given.usage().multiply(given.unit[None, :])
    rows = vstack([hstack([usage, csr_array((usage.shape[0], 1))]), hstack([-share, level])])
    right = np.concatenate([np.ones(usage.shape[0]), np.zeros(users)])
    goal = np.zeros(len(given.n) + 1)
    goal[-1] = -1.0
    found = linprog(goal, A_ub=rows.tocsr(), b_ub=right, method="highs-ds")
    return weight * found.x[-1] / part
