"""Guess prices for an answer that has none: any prices prove a bound, so a good guess is enough."""

from __future__ import annotations

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.instance import Floats

MOST_ENTRIES = 20_000_000
"""no prices are guessed if the matrix (pairs x prices) has more entries than this"""


def guess_prices(alloc: Allocation, log_slope: Floats) -> tuple[Floats, Floats]:
    """Prices (I, R) and limit prices (N,) that nearly satisfy the optimality conditions.

    Non-negative least squares, in units of each user's money: a unit of share costs the user's
    marginal value on every pair with tasks, no less than that on the other pairs (those violated
    are added in a few rounds), and resources that are not full cost nothing.

    Parameters
    ----------
    log_slope : (N,) log of the marginal value of share of each user, up to a common constant.
    """
    if clock.over():
        return roughly(alloc, log_slope), np.zeros(len(log_slope))
    from scipy.optimize import nnls

    inst = alloc.instance
    n, i = inst.pairs
    u, x = alloc.score[n, i], np.maximum(alloc.tasks[n, i], 0.0)
    users, servers, resources = inst.shape
    share = np.where(alloc.shares > 0, alloc.shares, 1.0)
    weight = u * x / share[n]
    slack = np.clip(1.0 - alloc.utilisation, 0.0, 1.0)
    room = np.clip(1.0 - alloc.totals / inst.limit, 0.0, 1.0)
    rows_used = np.zeros((servers, resources), bool)
    np.logical_or.at(rows_used, i, inst.pair_demand > 0)
    # a resource at most half full, or a limit far away, gets no price
    priced = np.argwhere(rows_used & (slack < 0.5))
    limited = np.flatnonzero(room < 0.5)
    column = np.full((servers, resources), -1)
    column[tuple(priced.T)] = np.arange(len(priced))
    size = len(priced) + len(limited)
    if size == 0 or size * len(n) > MOST_ENTRIES:
        return np.zeros((servers, resources)), np.zeros(users)
    # prices are in units of the money of the whole row, users in units of their marginal value; a
    # user with nothing, whose marginal value is infinite, has the largest of the others'
    known = np.isfinite(log_slope)
    log_money = log_slope - np.max(log_slope[known], initial=-np.inf) if known.any() else log_slope
    slope = np.exp(np.clip(log_money, -575.0, 0.0))
    matrix = np.zeros((len(n), size))
    for k, (server, resource) in enumerate(priced):
        on = i == server
        matrix[on, k] = inst.pair_demand[on, resource] / (u[on] * slope[n[on]])
    for k, user in enumerate(limited):
        on = n == user
        matrix[on, len(priced) + k] = 1.0 / (u[on] * slope[user])
    held = weight > 1e-7
    scale = np.abs(matrix[held]).max(axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    matrix = matrix / scale
    idle = np.diag(np.concatenate([slack[tuple(priced.T)], room[limited]]))
    chosen = held.copy()
    solution = np.zeros(size)
    for _ in range(8):
        left = np.vstack([matrix[chosen], 10.0 * idle])
        right = np.concatenate([np.ones(int(chosen.sum())), np.zeros(size)])
        try:
            solution, _ = nnls(left, right, maxiter=50 * size)
        except RuntimeError:  # nnls does not converge: keep the prices so far
            break
        short = ~chosen & (matrix @ solution < 1 - 1e-9)
        if not short.any():
            break
        chosen |= short
    p = np.zeros((servers, resources))
    p[tuple(priced.T)] = (solution / scale)[: len(priced)]
    mu = np.zeros(users)
    mu[limited] = (solution / scale)[len(priced) :]
    return p, mu


def roughly(alloc: Allocation, log_slope: Floats) -> Floats:
    """Prices (I, R) at once: every user spends the worth of its share where it has its tasks, on
    what these use there, in the proportions in which they use it."""
    inst, (n, i) = alloc.instance, alloc.instance.pairs
    log_money = log_slope + np.log(np.where(alloc.shares > 0, alloc.shares, 1.0))
    known = np.isfinite(log_money)
    top = float(log_money[known].max(initial=0.0)) if known.any() else 0.0
    money = np.where(known, np.exp(np.clip(log_money - top, -575.0, 0.0)), 0.0)
    share = np.where(alloc.shares > 0, alloc.shares, 1.0)
    held = money[n] * alloc.score[n, i] * np.maximum(alloc.tasks[n, i], 0.0) / share[n]
    part = inst.pair_part / inst.pair_part.sum(axis=1, keepdims=True)
    paid = np.zeros(inst.pool.shape)
    np.add.at(paid, i, held[:, None] * part)
    return np.divide(paid, inst.pool, out=np.zeros_like(paid), where=inst.pool > 0)
