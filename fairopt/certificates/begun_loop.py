"""Where a search begins, in loops to be compiled: `begun.values_of` and the entries of columns."""

from __future__ import annotations

from math import exp, inf, log, nan
from typing import Any

import numpy as np

from fairopt.fast import inner


@inner
def valued(table, log_w, alpha, share, log_money, pulled, price, value) -> Any:  # type: ignore[no-untyped-def]
    """Into value the least that a unit of share costs, prices and it in the unit in which the money
    of all is 1; log of that unit (`values_of`), no number where there is none."""
    start, row, entry, owner, worth = table
    users = len(log_w)
    value[0] = inf
    for c in range(len(worth)):
        if worth[c] > 0.0:
            cost = 0.0
            for e in range(start[c], start[c + 1]):
                cost += entry[e] * price[0, row[e]]
            value[0, owner[c]] = min(value[0, owner[c]], cost / worth[c])
    terms, due, spent = np.empty(users), np.full(users, -inf), np.full(users, -inf)
    for n in range(users):
        if not 0.0 < share[n] < inf:
            return nan
        terms[n] = log_w[n] + (1.0 - alpha) * log(share[n])
        if 0.0 < value[0, n] < inf:
            dear = log(value[0, n])
            due[n] = log_w[n] / alpha + (1.0 - 1.0 / alpha) * dear
            spent[n] = dear + log(share[n])
    unit = _log_sum(terms)
    scale = log_money if pulled else alpha * (_log_sum(due) - _log_sum(spent))
    if not -inf < scale < inf:
        return nan
    price[0] *= exp(scale - unit)
    value[0] *= exp(scale - unit)
    return unit


@inner
def _log_sum(terms) -> Any:  # type: ignore[no-untyped-def]
    """log of the sum of what terms are logarithms of."""
    top, total = -inf, 0.0
    for term in terms:
        top = max(top, term)
    for term in terms:
        total += exp(term - top)
    return top + log(total)


@inner
def entries_of(table, held) -> Any:  # type: ignore[no-untyped-def]
    """Row, position among the columns held, and value of each of their entries."""
    start, many = table[0], 0
    for c in held:
        many += start[c + 1] - start[c]
    row, each, entry = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many)
    last = 0
    for k in range(len(held)):
        for e in range(start[held[k]], start[held[k] + 1]):
            if table[2][e] != 0.0:
                row[last], each[last], entry[last] = table[1][e], k, table[2][e]
                last += 1
    return row[:last], each[:last], entry[:last]
