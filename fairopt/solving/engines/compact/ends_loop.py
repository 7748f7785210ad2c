"""Where the path of `small` begins and what its end says, as loops to be compiled (`path_loop`)."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np


def begun(  # type: ignore[no-untyped-def]
    whole, factor, n, server, row, use, size, limits, weight, alpha, filled, dearer
) -> Any:
    """Into whole (2 P + 2 m + N,) the first state (`_begin`, `_start`), into factor (N,) the share
    that makes a level."""
    pairs, width = row.shape
    users, many = len(weight), pairs + size
    top, used, cut = np.zeros(server.max() + 1), np.zeros(size), np.ones(users)
    a, price, v = whole[:pairs], whole[pairs:many], whole[many : many + users]
    nu, s = whole[many + users : many + users + pairs], whole[many + users + pairs :]
    for h in range(pairs):
        for k in range(width):
            used[row[h, k]] += use[h, k]
    for h in range(pairs):
        for k in range(width):
            if row[h, k] < size - limits and use[h, k] > 0.0:
                top[server[h]] = max(top[server[h]], used[row[h, k]])
    used[:] = 0.0
    for h in range(pairs):
        a[h] = filled / (top[server[h]] if top[server[h]] > 0.0 else 1.0)
        for k in range(width):
            used[row[h, k]] += use[h, k] * a[h]
    share = np.zeros(users)
    for h in range(pairs):
        for k in range(width):
            if row[h, k] >= size - limits and use[h, k] > 0.0:
                cut[n[h]] = min(1.0, filled / used[row[h, k]])
    for h in range(pairs):
        a[h] *= cut[n[h]]
        share[n[h]] += a[h]
    unit = 0.0
    for u in range(users):
        unit += log(share[u] / weight[u]) / users
    for u in range(users):
        factor[u] = 1.0 / (weight[u] * exp(unit))
        v[u] = weight[u] * (share[u] * factor[u]) ** -min(alpha, 2.0)
    used[:] = 0.0
    price[:] = 0.0
    for h in range(pairs):
        some = 0
        for k in range(width):
            some += use[h, k] > 0.0
        for k in range(width):
            used[row[h, k]] += use[h, k] * a[h]
            if use[h, k] > 0.0:
                price[row[h, k]] += a[h] * factor[n[h]] * v[n[h]] / some
    for h in range(pairs):
        value, cost = factor[n[h]] * v[n[h]], 0.0
        for k in range(width):
            cost += use[h, k] * price[row[h, k]]
        nu[h] = max(cost - value, dearer * value)
    for r in range(size):
        s[r] = max(1.0 - used[r], 0.1)


def ended(whole, factor, n, row, use, size, clear) -> Any:  # type: ignore[no-untyped-def]
    """Shares (P,) and prices (m,) of a state, 0 of what is far smaller than its partner (`_point`);
    None where there is something that is no number."""
    pairs, width = row.shape
    users, many = len(factor), len(n) + size
    a, price, v = whole[:pairs].copy(), whole[pairs:many].copy(), whole[many : many + users]
    nu, s = whole[many + users : many + users + pairs], whole[many + users + pairs :]
    level, paid = np.zeros(users), np.zeros(size)
    for number in whole:
        if not abs(number) < inf:
            return None
    for h in range(pairs):
        level[n[h]] += a[h]
    for h in range(pairs):
        value, part = factor[n[h]] * v[n[h]], a[h] / level[n[h]]
        for k in range(width):
            paid[row[h, k]] = max(paid[row[h, k]], part / value * use[h, k])
        if part < clear * nu[h] / value:
            a[h] = 0.0
    for r in range(size):
        if price[r] * paid[r] < clear * s[r]:
            price[r] = 0.0
    return a, price


__all__ = ["begun", "ended"]
