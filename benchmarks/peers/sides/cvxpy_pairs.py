"""cvxpy over eligible pairs alone, natural units, each solver with the settings found best."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.question import Answer, Data, Floats

_TIGHT = 1e-11
"""asked of the solvers that can; they stop earlier where they cannot"""
SETTINGS: dict[str, dict[str, Any]] = {
    # qdldl was two to three times faster than the default choice, and more accurate
    "Clarabel": {"solver": "CLARABEL", "direct_solve_method": "qdldl", "max_iter": 400,
                 "max_threads": 1, "tol_gap_abs": _TIGHT, "tol_gap_rel": _TIGHT,
                 "tol_feas": _TIGHT},
    "ECOS": {"solver": "ECOS", "abstol": _TIGHT, "reltol": _TIGHT, "feastol": _TIGHT,
             "max_iters": 400},
    "SCS": {"solver": "SCS", "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000},
    "HiGHS": {"solver": "HIGHS", "threads": 1},
}  # fmt: skip


def solve(given: Data, solver: str) -> Answer:
    """max sum_n W_n g(s_n) over pairs y >= 0, every capacity row 1."""
    import cvxpy as cp

    unit = given.unit
    per_pair = given.score * unit
    size = _size(given, per_pair)
    y = cp.Variable(len(given.n), nonneg=True)
    share = given.of_user().multiply((per_pair / size[given.n])[None, :]).tocsr() @ y
    worth = given.weight * np.exp((1 - given.alpha) * np.log(size / size.max()))
    capacity = given.usage().multiply(unit[None, :]).tocsr() @ y <= 1
    objective = cp.Maximize((worth / worth.max()) @ _gain(share, given.alpha))
    problem = cp.Problem(objective, [capacity])
    problem.solve(warm_start=False, **SETTINGS[solver])
    if y.value is None:
        return Answer(None, status=str(problem.status))
    return Answer(
        y.value * unit, np.asarray(capacity.dual_value).reshape(given.pool.shape),
        status=str(problem.status), inner=problem.solver_stats.solve_time,
    )  # fmt: skip


def _gain(share: Any, alpha: float) -> Any:
    import cvxpy as cp

    if alpha == 0:
        return share
    if alpha == 1:
        return cp.log(share)
    # in exponential cones, which all of these solvers have
    return cp.exp((1 - alpha) * cp.log(share)) / (1 - alpha)


def _size(given: Data, per_pair: Floats) -> Floats:
    """(N,) what shares are counted in: equal parts; for alpha > 1 the max-min level.

    Without it no general solver gets past alpha = 5; the linear program is part of the time.
    """
    users = given.shape[0]
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
