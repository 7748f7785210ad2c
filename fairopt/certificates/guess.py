"""Prices for an answer that came without: any prices prove a bound, so a guess is enough."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Floats

LARGEST = 20_000_000
"""entries of the matrix (pairs x prices) above which nothing is guessed"""


def guess_prices(alloc: Allocation, log_worth: Floats) -> tuple[Floats, Floats]:
    """Prices (I, R) and limit prices (N,) that make held pairs cost their worth, or nearly.

    Non-negative least squares of three wishes, each in money of the user: a held pair costs what
    a unit of share is worth to its user (log_worth, (N,), up to a common constant), a pair not
    held costs no less (violated ones are added, some rounds), and resources with room cost nothing.
    """
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
    # a resource at most half full, or a limit far away, can carry no price worth guessing
    priced = np.argwhere(rows_used & (slack < 0.5))
    limited = np.flatnonzero(room < 0.5)
    column = np.full((servers, resources), -1)
    column[tuple(priced.T)] = np.arange(len(priced))
    size = len(priced) + len(limited)
    if size == 0 or size * len(n) > LARGEST:
        return np.zeros((servers, resources)), np.zeros(users)
    # unit of a price: money of the whole row; of a user: its worth per share
    # a user with nothing, whose worth is infinite, counts like the dearest of the others
    known = np.isfinite(log_worth)
    log_money = log_worth - np.max(log_worth[known], initial=-np.inf) if known.any() else log_worth
    worth = np.exp(np.clip(log_money, -575.0, 0.0))
    matrix = np.zeros((len(n), size))
    for k, (server, resource) in enumerate(priced):
        on = i == server
        matrix[on, k] = inst.pair_demand[on, resource] / (u[on] * worth[n[on]])
    for k, user in enumerate(limited):
        on = n == user
        matrix[on, len(priced) + k] = 1.0 / (u[on] * worth[user])
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
        except RuntimeError:  # no end in sight: the prices so far will do
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
