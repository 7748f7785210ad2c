"""Passes over users as loops to be compiled: what NumPy texts in this folder define.

`told` and `sways` are `kinds.told` and `sway.swaying`; `summed` is what `spread.summed` comes to. A
loop visits a user once, and leaves it at the first sight of one server in reach; sums of a piece of
users are added to the whole, so that rounding does not grow with their number. Only users without
limits are passed over like this. NumPy's exponentials work on eight numbers at once, but on those
of servers out of reach as well: where two or three servers are near, a loop takes half the time.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import Any

import numpy as np

from fairopt.fast import loop
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.smooth import Sums
from fairopt.solving.engines.smoothed.users import UsersRead

PIECE = 4096
"""users whose sums are added up first"""


def summed(users: UsersRead, prices: ServerPrices, tau: float, reach: float, skip: Ints) -> Sums:
    """The sums of users but those to skip, each with its servers within `reach` windows."""
    servers, resources = prices.off.shape
    upper = np.triu_indices(resources)
    total = Sums.zero(servers, resources)
    diagonal = np.zeros((servers, len(upper[0])))
    half = np.zeros((servers * servers, len(upper[0])))
    left_out = np.zeros(len(users), bool)
    left_out[skip] = True
    loop(_summed)(
        np.ascontiguousarray(prices.heads),
        prices.label,
        np.ascontiguousarray(prices.off),
        np.ascontiguousarray(users.demand),
        users.level,
        np.ascontiguousarray(users.eligible),
        left_out,
        users.alpha,
        tau,
        np.exp(reach * tau),
        total.use,
        total.drift,
        total.spent,
        diagonal,
        half,
    )
    half = half.reshape(servers, servers, -1)  # of two servers in order
    pairs = half + half.transpose(1, 0, 2)
    i = np.arange(servers)
    pairs[i, i] = half[i, i]
    blocks = total.curvature.reshape(servers, resources, servers, resources)
    for at, (r, t) in enumerate(zip(*upper, strict=True)):
        blocks[:, r, :, t] = blocks[:, t, :, r] = -(1 + 1 / tau - 1 / users.alpha) * pairs[:, :, at]
    for at, (r, t) in enumerate(zip(*upper, strict=True)):
        blocks[i, r, i, t] += diagonal[:, at]
        if r != t:
            blocks[i, t, i, r] += diagonal[:, at]
    return total


def told(users: UsersRead, lam: Floats, windows: tuple[float, ...], tau: float) -> tuple[Any, ...]:
    """near (N, I), the first of them (N,), how many (N,), log_least (N,), money (I, I) and its
    squares of `kinds.told`.

    windows : within which servers of a user are near, and shared.
    """
    size, servers = users.eligible.shape
    near, (first, in_reach) = np.zeros((size, servers), bool), np.zeros((2, size), np.int16)
    money, squares = np.zeros((servers, servers)), np.zeros((servers, servers))
    found = near, first, in_reach, np.zeros(size), money, squares
    score = np.zeros((0, 0)) if users.log_score is None else np.exp(-users.log_score)
    reach = np.exp(np.array(windows) * tau)
    lam = np.ascontiguousarray(lam)
    power = 1 / users.alpha
    loop(_told)(lam, users.demand, users.log_w, users.eligible, score, power, reach, *found)
    return found


def _summed(  # type: ignore[no-untyped-def]
    heads,
    label,
    off,
    demand,
    level,
    eligible,
    left_out,
    alpha,
    tau,
    reach,
    use,
    drift,
    spent,
    diagonal,
    outer,
):
    """Into use, drift, spent, diagonal (with its factor) and outer (without)."""
    servers, resources = off.shape
    sigma, power = 1 + 1 / tau, 1 / alpha
    head, server = np.empty(len(heads)), np.empty(servers + 1, np.int64)
    cost, depth, part = np.empty(servers), np.empty(servers), np.empty(servers)
    tasks, both = np.empty(servers), np.empty(diagonal.shape[1])
    my_use, my_drift, my_spent = np.zeros(use.shape), np.zeros(drift.shape), np.zeros(servers)
    my_diagonal, my_outer = np.zeros(diagonal.shape), np.zeros(outer.shape)
    for start in range(0, len(demand), PIECE):
        for n in range(start, min(len(demand), start + PIECE)):
            if left_out[n]:
                continue
            for g in range(len(heads)):
                total = 0.0
                for r in range(resources):
                    total += heads[g, r] * demand[n, r]
                head[g] = total
            able, least = 0, np.inf
            for i in range(servers):  # without branches, which nobody could foresee
                server[able] = i
                able += eligible[n, i]
            for k in range(able):
                i = server[k]
                total = 0.0
                for r in range(resources):
                    total += off[i, r] * demand[n, r]
                depth[k] = total
                total += head[label[i]]
                cost[k] = total
                least = min(least, total)
            count = 0
            for k in range(able):
                server[count], depth[count] = server[k], depth[k]
                count += cost[k] <= least * reach
            at = 0
            for r in range(resources):
                for t in range(r, resources):
                    both[at] = demand[n, r] * demand[n, t]
                    at += 1
            if count == 1:
                i = server[0]
                held = level[n]
                if alpha != 1:
                    held *= exp((1 - power) * log(least))
                x = held / least
                my_spent[i] += held
                for r in range(resources):
                    my_use[i, r] += x * demand[n, r]
                for at in range(len(both)):
                    my_diagonal[i, at] += power * x / least * both[at]
                continue
            first = head[label[server[0]]]
            nearest = np.inf
            for k in range(count):
                i = server[k]
                base = head[label[i]]
                kappa = 0.0 if base == first else log(base / first)
                shift = depth[k] / base
                if -1e-5 < shift < 1e-5:
                    kappa += shift * (1 - shift * (0.5 - shift * (1 / 3)))
                else:
                    kappa += log1p(shift)
                cost[k] = base * (1 + shift)
                depth[k] = kappa
                nearest = min(nearest, kappa)
            total = 0.0
            for k in range(count):
                depth[k] = (nearest - depth[k]) / tau
                part[k] = exp(depth[k])
                total += part[k]
            log_sum = log(total)
            money = level[n]
            if alpha != 1:
                money *= exp((1 - power) * (log(first) + nearest - tau * log_sum))
            slope = -log_sum
            for k in range(count):
                part[k] /= total
                slope += part[k] * depth[k]
            slope *= sigma - power
            root = 1 / sqrt(money)
            for k in range(count):
                i = server[k]
                held = part[k] * money
                x = held / cost[k]
                my_spent[i] += held
                moved = x * ((log_sum - depth[k]) / tau + slope)
                each = sigma * x / cost[k]
                tasks[k] = x * root
                for r in range(resources):
                    my_use[i, r] += x * demand[n, r]
                    my_drift[i, r] += moved * demand[n, r]
                for at in range(len(both)):
                    my_diagonal[i, at] += each * both[at]
                for m in range(k + 1):
                    product = tasks[k] * tasks[m]
                    pair = i * servers + server[m]
                    for at in range(len(both)):
                        my_outer[pair, at] += product * both[at]
        use += my_use
        drift += my_drift
        spent += my_spent
        diagonal += my_diagonal
        outer += my_outer
        my_use[:] = 0.0
        my_drift[:] = 0.0
        my_spent[:] = 0.0
        my_diagonal[:] = 0.0
        my_outer[:] = 0.0


def _told(  # type: ignore[no-untyped-def]
    lam,
    demand,
    log_w,
    eligible,
    score,
    power,
    reach,
    near,
    first,
    in_reach,
    log_least,
    money,
    squares,
):
    """Into near (all false before), first, in_reach, log_least, money and squares."""
    servers, resources = lam.shape
    scored = score.size > 0
    cost, tied, able = np.empty(servers), np.empty(servers, np.int64), np.empty(servers, np.int64)
    my_money, my_squares = np.zeros(money.shape), np.zeros(money.shape)
    for start in range(0, len(demand), PIECE):
        for n in range(start, min(len(demand), start + PIECE)):
            most, least = 0, np.inf
            for i in range(servers):
                if eligible[n, i]:
                    total = 0.0
                    for r in range(resources):
                        total += lam[i, r] * demand[n, r]
                    if scored:
                        total *= score[n, i]
                    if total < least:
                        least, first[n] = total, i
                    able[most], cost[most] = i, total
                    most += 1
            count, nearer = 0, 0
            for k in range(most):
                if cost[k] <= least * reach[0]:
                    near[n, able[k]] = True
                    nearer += 1
                    tied[count] = able[k]
                    count += cost[k] <= least * reach[1]
            in_reach[n] = nearer
            # with one server in reach there is no tie: the logarithm and the sums are spared
            if nearer < 2:
                continue
            log_least[n] = log(least)
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
    users: UsersRead,
    near: Bools,
    log_least: Floats,
    ties: Bools,
    prices: Floats,
    answer: Floats,
    least: float,
) -> Bools:
    """(N,) who moves the prices of a tie of near servers by more than `least` (see `sway`).

    answer : (K, I, I) A for the K products of resources r <= t.
    """
    found = np.zeros(len(users), bool)
    power = 1 / users.alpha
    apart = np.ascontiguousarray(answer.transpose(1, 2, 0))
    loop(_sways)(
        users.demand, users.log_w, power, near, log_least, ties, prices, apart, least, found
    )
    return found


def _sways(  # type: ignore[no-untyped-def]
    demand, log_w, power, near, log_least, ties, prices, apart, least, found
):
    """Into found (N,)."""
    servers, resources = prices.shape
    server, cost = np.empty(servers + 1, np.int64), np.empty(servers)
    both = np.empty(apart.shape[2])
    for n in range(len(demand)):
        count = 0
        for i in range(servers):
            server[count] = i
            count += near[n, i]
        # who has one near server moves no tie, and pays for no products below
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
