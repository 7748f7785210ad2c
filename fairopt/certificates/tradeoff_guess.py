"""Guess prices for a trade-off answer that has none: any prices prove a bound."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.guess import guess_prices
from fairopt.certificates.tradeoff_sheet import Sheet
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats


def guessed(alloc: Allocation, terms: Terms) -> Allocation:
    """The answer with prices: those that explain its slopes best, else equal money per resource.

    Soft forms: a held pair should cost what the objective gains by it. Hard forms leave the pulls
    open, so prices are sought together with them (`_hard`).
    """
    inst = alloc.instance
    pool = inst.pool
    even = np.divide(1.0, pool, out=np.zeros_like(pool), where=pool > 0)
    first = alloc.with_(prices=even, limit_prices=None)
    sheet = Sheet(first, terms)
    value = _hard(sheet) if terms.equal_across or terms.equal_within else sheet.gradient()
    value = value * sheet.u
    top = float(value.max(initial=0.0))
    if not (np.isfinite(value).all() and top > 0):
        return first
    score = np.zeros(inst.shape[:2])
    # prices are not negative, even where the slope is
    score[sheet.n, sheet.i] = np.maximum(value / top, 1e-12)
    p, mu = guess_prices(first.with_(score=score), np.zeros(sheet.users))
    return alloc.with_(prices=p, limit_prices=mu) if p.any() or mu.any() else first


def _hard(sheet: Sheet) -> Floats:
    """(P,) price of one unit of share if only full rows and limits reached have prices.

    Only the sums of the pulls, over users (14) or on servers (15), are fixed. Prices and pulls are
    a least-squares fit of the slope of each pair by the prices of full rows and limits reached.
    """
    from scipy.optimize import nnls

    alloc, inst = sheet.alloc, sheet.alloc.instance
    n, i = sheet.n, sheet.i
    part = inst.pair_part / sheet.u[:, None]
    full = np.argwhere((alloc.utilisation > 1 - 1e-6) & (inst.pool > 0))
    capped = np.flatnonzero(alloc.totals >= inst.limit * (1 - 1e-6))
    size = len(full) + len(capped)
    if size == 0:
        return sheet.gradient()
    cost = np.zeros((len(n), size))
    for k, (server, resource) in enumerate(full):
        cost[i == server, k] = part[i == server, resource]
    for k, user in enumerate(capped):
        cost[n == user, len(full) + k] = 1.0 / (sheet.u * inst.limit[user])[n == user]
    value = (sheet.v - sheet.w_f * sheet.z)[n] / sheet.unit[n] - sheet.w * sheet.y
    if sheet.terms.equal_within:
        groups = np.zeros((sheet.servers, len(n)))
        groups[i, np.arange(len(n))] = 1.0
        held = np.bincount(i, sheet.a, sheet.servers) > 1e-9 * sheet.a.sum()
    else:
        groups, held = np.eye(len(n)), sheet.a > 1e-9 * (sheet.unit * sheet.held)[n]
    left, right = (groups @ cost)[held], (groups @ value)[held]
    if sheet.terms.equal_across:
        # m_n free with sum unit m = sum v: columns +-m_n, and one heavy row for the sum
        mine = np.zeros((len(n), sheet.users))
        mine[np.arange(len(n)), n] = 1.0
        mine = (groups @ mine)[held]
        left = np.hstack([left, -mine, mine])
        total = np.concatenate([np.zeros(size), sheet.unit, -sheet.unit])
        left = np.vstack([left, 100.0 * total])
        base = -sheet.w * sheet.y if not sheet.terms.equal_within else np.zeros(len(n))
        right = np.append((groups @ base)[held], 100.0 * float(sheet.v.sum()))
    solution, _ = nnls(left, right, maxiter=100 * left.shape[1])
    return np.asarray(cost @ solution[:size], dtype=np.float64)
