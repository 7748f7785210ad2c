"""Passes over users as loops to be compiled: what `kinds.told` and `sway.swaying` define in NumPy.

A loop visits a user once, and leaves it at the first sight of one server in reach; sums of a piece
of users are added to the whole, so that rounding does not grow with their number. Only users
without limits are passed over like this. Sums of use and curvature are no such loops: NumPy's
exponentials and matrix products work on eight numbers at once, and a loop was no faster (measured).
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from fairopt.fast import loop
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.smoothed.users import Users

PIECE = 4096
"""users whose sums are added up first"""


def told(users: Users, lam: Floats, windows: tuple[float, ...], tau: float) -> tuple[Any, ...]:
    """near (N, I), close (N, I), log_least (N,), money (I, I) and its squares of `kinds.told`.

    windows : within which servers of a user are near, close and shared.
    """
    size, servers = users.eligible.shape
    near, close = np.zeros((size, servers), bool), np.zeros((size, servers), bool)
    found = near, close, np.empty(size), np.zeros((servers, servers)), np.zeros((servers, servers))
    score = np.zeros((0, 0)) if users.log_score is None else np.exp(-users.log_score)
    reach = np.exp(np.array(windows) * tau)
    lam = np.ascontiguousarray(lam)
    power = 1 / users.alpha
    loop(_told)(lam, users.demand, users.log_w, users.eligible, score, power, reach, *found)
    return found


def _told(  # type: ignore[no-untyped-def]
    lam, demand, log_w, eligible, score, power, reach, near, close, log_least, money, squares
):
    """Into near, close, log_least, money and squares."""
    servers, resources = lam.shape
    scored = score.size > 0
    cost, tied = np.empty(servers), np.empty(servers + 1, np.int64)
    my_money, my_squares = np.zeros(money.shape), np.zeros(money.shape)
    for start in range(0, len(demand), PIECE):
        for n in range(start, min(len(demand), start + PIECE)):
            least = np.inf
            for i in range(servers):
                total = 0.0
                for r in range(resources):
                    total += lam[i, r] * demand[n, r]
                if scored:
                    total *= score[n, i]
                cost[i] = total if eligible[n, i] else np.inf
                least = min(least, cost[i])
            log_least[n] = log(least)
            count = 0
            for i in range(servers):
                near[n, i] = cost[i] <= least * reach[0]
                close[n, i] = cost[i] <= least * reach[1]
                tied[count] = i
                count += cost[i] <= least * reach[2]
            paid = exp(log_w[n] * power + (1 - power) * log_least[n])
            for k in range(count):
                for m in range(count):
                    my_money[tied[k], tied[m]] += paid
                    my_squares[tied[k], tied[m]] += paid * paid
        money += my_money
        squares += my_squares
        my_money[:] = 0.0
        my_squares[:] = 0.0


def sways(
    users: Users,
    close: Bools,
    log_least: Floats,
    ties: Bools,
    prices: Floats,
    answer: Floats,
    least: float,
) -> Bools:
    """(N,) who moves the prices of a tie of close servers by more than `least` (see `sway`).

    answer : (K, I, I) A for the K products of resources r <= t.
    """
    found = np.zeros(len(users), bool)
    power = 1 / users.alpha
    apart = np.ascontiguousarray(answer.transpose(1, 2, 0))
    loop(_sways)(
        users.demand, users.log_w, power, close, log_least, ties, prices, apart, least, found
    )
    return found


def _sways(  # type: ignore[no-untyped-def]
    demand, log_w, power, close, log_least, ties, prices, apart, least, found
):
    """Into found (N,)."""
    servers, resources = prices.shape
    server, cost = np.empty(servers + 1, np.int64), np.empty(servers)
    both = np.empty(apart.shape[2])
    for n in range(len(demand)):
        count = 0
        for i in range(servers):
            server[count] = i
            count += close[n, i]
        if count < 2:
            continue
        money = exp(log_w[n] * power + (1 - power) * log_least[n])
        at = 0
        for r in range(resources):
            for t in range(r, resources):
                both[at] = demand[n, r] * demand[n, t]
                at += 1
        for k in range(count):
            total = 0.0
            for r in range(resources):
                total += prices[server[k], r] * demand[n, r]
            cost[k] = total
        for k in range(count):
            i = server[k]
            for m in range(k):
                j = server[m]
                if not ties[i, j]:
                    continue
                own, other, across = 0.0, 0.0, 0.0
                for at in range(len(both)):
                    own += both[at] * apart[i, i, at]
                    other += both[at] * apart[j, j, at]
                    across += both[at] * apart[i, j, at]
                moved = own / cost[k] ** 2 + other / cost[m] ** 2 - 2 * across / (cost[k] * cost[m])
                if moved * money > least:
                    found[n] = True
