r"""How far every optimum can be from an answer, proved by weak duality from any prices at all.

For tasks x that fit, prices p >= 0 of the rows, and q_n = min over the columns k of n of
(p . use_k)/share_k, every s' that fits has sum q_n s'_n <= p . capacity. Welfare less bill is
highest at t_n = (W_n/q_n)^(1/alpha); with D_n(s) >= 0 what is lost at s instead,

    sum D_n(s*_n) <= eps = p.(capacity - use x) + sum_k x_k (p.use_k - q share_k) + sum D_n(s_n)

at every optimum s*, so each user's s* lies where its own D_n is at most eps. Every term is computed
as it stands, without differences of large sums, in extended precision.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from benchmarks.fairbench.problem import Floats, Problem

STEPS = 80
"""halvings of an interval"""


def alpha_bound(problem: Problem, tasks: Floats, prices: Floats) -> float:
    """The worst user's proved |log(share / share at any optimum)|; inf where nothing is proved.

    tasks : (K,) that fit. prices : (M,) >= 0 in any unit.
    """
    use, have = problem.rows
    p = np.maximum(np.nan_to_num(np.asarray(prices, np.longdouble)), 0)
    x = np.asarray(tasks, np.longdouble)
    share = np.zeros(problem.users, np.longdouble)
    np.add.at(share, problem.user, problem.share * x)
    bill = _product(use.T.tocsr(), p)
    q = np.full(problem.users, np.inf, np.longdouble)
    np.minimum.at(q, problem.user, bill / problem.share)
    if not ((q > 0).all() and (share > 0).all()):
        return float("inf")
    alpha, weight = problem.alpha, np.asarray(problem.weight, np.longdouble)
    # the best common unit of the prices
    spent = (p * have).sum()
    log_a = np.log(weight) / alpha + (1 - 1 / alpha) * np.log(q)
    top = log_a.max()
    unit = np.exp(alpha * (top + np.log(np.exp(log_a - top).sum()) - np.log(spent)))
    p, q, bill = p * unit, q * unit, bill * unit
    best = (weight / q) ** (1 / np.longdouble(alpha))
    money = q * best
    away = np.log(share / best)
    idle = np.maximum(have - _product(use, x), 0) * p
    dear = x * np.maximum(bill - q[problem.user] * problem.share, 0)
    eps = idle.sum() + dear.sum() + (money * _loss(away, alpha)).sum()
    low, high = _within(eps / money, alpha)
    return float(np.maximum(away - low, high - away).max())


def _loss(z: Floats, alpha: float) -> Floats:
    """What e^z times the best amount loses, in units of its money: about alpha z^2/2."""
    lost = z if alpha == 1 else np.expm1((1 - alpha) * z) / (1 - alpha)
    exact = np.expm1(z) - lost
    series = alpha * z**2 / 2 + (1 - (1 - alpha) ** 2) * z**3 / 6
    return np.maximum(np.where(np.abs(z) * max(1.0, alpha) < 1e-5, series, exact), 0)


def _within(most: Floats, alpha: float) -> tuple[Floats, Floats]:
    """(N,) the lowest and highest z of which the loss is at most `most`, rounded outwards."""
    found = []
    for sign in (-1.0, 1.0):
        inside, outside = np.zeros_like(most), np.full_like(most, sign * 50)
        for _ in range(STEPS):
            z = (inside + outside) / 2
            fits = _loss(z, alpha) <= most
            inside, outside = np.where(fits, z, inside), np.where(fits, outside, z)
        found.append(outside)
    return found[0], found[1]


def _product(matrix: csr_array, x: Floats) -> Floats:
    entries = matrix.tocoo()
    found = np.zeros(matrix.shape[0], np.longdouble)
    np.add.at(found, entries.row, entries.data * x[entries.col])
    return found


def levels_bound(problem: Problem, shares: Floats) -> float:
    """The largest relative rise of a user's share that takes nothing from users no higher.

    One linear program a user, and of its answer only the multipliers: any multipliers prove a
    bound. 0 is the definition of max-min fairness.
    """
    use, have = problem.rows
    level = shares / problem.weight
    # a unit of each row and column of about 1
    unit = np.minimum(problem.alone, shares[problem.user] / problem.share)
    rows = csr_array(use.multiply(unit[None, :]).multiply(1 / have[:, None]))
    of_user = csr_array(problem.of_user.multiply(unit[None, :]).multiply(1 / shares[:, None]))
    worst = 0.0
    for n in range(problem.users):
        others = np.flatnonzero(level <= level[n] * (1 + 1e-12))
        others = others[others != n]
        worst = max(worst, _room(rows, of_user, n, others))
    return worst


def _room(rows: csr_array, of_user: csr_array, n: int, others: Floats) -> float:
    goal = -of_user[[n]].toarray().ravel()
    matrix = vstack([rows, -of_user[others]]) if len(others) else rows
    right = np.concatenate([np.ones(rows.shape[0]), -np.ones(len(others))])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(goal, A_ub=matrix, b_ub=right, method="highs", options=options)
    if found.status != 0:
        # what is kept just does not fit by its last digit
        right[rows.shape[0] :] *= 1 - 1e-9
        found = linprog(goal, A_ub=matrix, b_ub=right, method="highs", options=options)
    if found.status != 0:
        return float("inf")
    dual = np.maximum(-found.ineqlin.marginals, 0.0)
    p, y = dual[: rows.shape[0]], dual[rows.shape[0] :]
    # made feasible: nobody's share is valued above its cheapest column
    entries = of_user.tocoo()
    cheapest = np.full(of_user.shape[0], np.inf)
    np.minimum.at(cheapest, entries.row, (rows.T @ p)[entries.col] / entries.data)
    if cheapest[n] <= 0:
        return float("inf")
    p, cheapest = p / cheapest[n], cheapest / cheapest[n]
    y = np.minimum(y, cheapest[others])
    return float(max(p.sum() - y.sum() - 1.0, 0.0))
