"""One Newton step of few columns, in a loop to be compiled (`steps`, `active`); not believed."""

from __future__ import annotations

from math import inf, log, nan, sqrt
from typing import Any

import numpy as np

from fairopt.certificates.active import FAR, LITTLE, STAYS
from fairopt.certificates.by_rows import LOOSE
from fairopt.certificates.steps import FAINT, LEAST_PART, TOGETHER
from fairopt.fast import inner
from fairopt.formulas.doubles_loop import less, plus
from fairopt.formulas.square_loop import factored, solved

ROUNDED = 0.1
"""of how far columns and prices move, in units of their own, what counts as left of a share: the
conditions are right to some digits of that"""


@inner
def stepped(  # type: ignore[no-untyped-def]
    entries, limits, pulls, log_w, alpha, most, on, some, amount, price, value, full
) -> Any:
    """Newton's step of a place of two floats (`missing`, `solved` and `stepped`). What it leaves of
    a share for the next, about: the square of what values change by, what was cut off below 0, and
    what rounding leaves of conditions; no number where it leads nowhere, or there are more than
    `most` unknowns.

    on (C,), some (N,), full (M,): which columns count, how many of each user, and which rows,
    before and after.
    """
    row, each, entry, owner, worth = entries
    rhs, spare, give, kind = limits
    pulling, times, flow, pulled = pulls
    tasks, held, rows, users = len(owner), len(on), len(rhs), len(log_w)
    # -- what is missing there, sums to the digits of two floats
    share, over, rest = np.zeros(users), rhs.copy(), np.zeros(rows)
    gain, more = np.zeros(held), np.zeros(held)
    for c in range(tasks):
        if on[c]:
            share[owner[c]] += worth[c] * amount[0, c]
            for k in range(2):
                gain[c], more[c] = less(gain[c], more[c], -worth[c], value[k, owner[c]])
    for e in range(len(row)):
        r, c = row[e], each[e]
        if on[c]:
            for k in range(2):
                over[r], rest[r] = less(over[r], rest[r], entry[e], amount[k, c])
                gain[c], more[c] = less(gain[c], more[c], entry[e], price[k, r])
    for r in range(rows):
        if kind[r]:
            for k in range(2):
                over[r], rest[r] = less(over[r], rest[r], -give[r], price[k, r])
    money = np.empty(users)
    for n in range(users):
        money[n] = value[0, n] * share[n]
    for k in range(len(pulling)):
        if give[pulling[k]] > 0.0:
            use = give[pulling[k]] * price[0, pulling[k]] + times[k] * amount[0, tasks + flow[k]]
            money[pulled[k]] = max(money[pulled[k]], use * use / give[pulling[k]])
    unit, size = np.ones(held), np.zeros(rows)
    for c in range(tasks):
        unit[c] = share[owner[c]] / worth[c] / sqrt(money[owner[c]])
    if held > tasks:
        for e in range(len(row)):
            if on[each[e]] and each[e] < tasks:
                size[row[e]] += (entry[e] * unit[each[e]]) ** 2
        unit[tasks:] = 0.0
        for e in range(len(row)):
            if each[e] >= tasks:
                whole = size[row[e]] + give[row[e]]
                unit[each[e]] += entry[e] ** 2 / (whole if whole > 0.0 else 1.0)
        for c in range(tasks, held):
            unit[c] = 1.0 / sqrt(unit[c]) if unit[c] > 0.0 else 1.0
    norm, place, column = np.zeros(rows), np.full(rows, -1), np.full(held, -1)
    unknowns = 0
    for c in range(held):
        if on[c]:
            column[c] = unknowns
            unknowns += 1
    for e in range(len(row)):
        r = row[e]
        if on[each[e]] and full[r]:
            if place[r] < 0:
                place[r] = unknowns
                unknowns += 1
            norm[r] += (entry[e] * unit[each[e]]) ** 2
    # the value of a user of one column is eliminated; of more it keeps their weak pull apart
    own, rise = np.full(users, -1), np.empty(users)
    for n in range(users):
        if some[n] > 1:
            own[n] = unknowns
            unknowns += 1
    if unknowns > most:
        return nan
    matrix = np.zeros((unknowns, unknowns))
    right, pull = np.zeros(unknowns), 0.0
    for r in range(rows):
        if place[r] >= 0:
            norm[r] = sqrt(norm[r] + give[r])
            k = place[r]
            right[k] = (over[r] + rest[r] - (0.0 if kind[r] else spare[r])) / norm[r]
            matrix[k, k] = -LOOSE - give[r] / norm[r] ** 2
    for c in range(held):
        if on[c]:
            right[column[c]] = (gain[c] + more[c]) * unit[c]
            pull = max(pull, abs(right[column[c]]))
    pull = min(max(pull, FAINT), TOGETHER)
    for c in range(held):
        if on[c]:
            k = column[c]
            if c < tasks:
                part = max(worth[c] * amount[0, c] / share[owner[c]], LEAST_PART)
                matrix[k, k] = pull / part
            else:
                matrix[k, k] = pull
    for e in range(len(row)):
        r, c = row[e], each[e]
        if on[c] and full[r]:
            part = entry[e] * unit[c] / norm[r]
            matrix[column[c], place[r]] += part
            matrix[place[r], column[c]] += part
    bend = np.empty(users)
    for n in range(users):
        bend[n] = money[n] / (value[0, n] * share[n]) / alpha
        rise[n] = ((log_w[n] - log(value[0, n])) / alpha - log(share[n])) * sqrt(money[n])
        if own[n] >= 0:
            right[own[n]] = -rise[n]
            matrix[own[n], own[n]] = -bend[n]
    for c in range(tasks):
        if on[c]:
            n, k = owner[c], column[c]
            if own[n] >= 0:
                matrix[k, own[n]] = matrix[own[n], k] = -1.0
            else:
                right[k] += rise[n] / bend[n]
                matrix[k, k] += 1.0 / bend[n]
    order = np.empty(len(right), np.int64)
    if not (factored(matrix, order) and solved(matrix, order, right)):
        return nan
    # -- as far as amounts stay above 0, and without those that do not
    length, open_ = 1.0, 0.0
    for part in right:
        open_ = max(open_, ROUNDED * abs(part))
    for c in range(tasks):
        if on[c] and amount[0, c] > 0.0:
            by = right[column[c]] * unit[c]
            if by < -FAR * share[owner[c]] / worth[c]:
                length = min(length, amount[0, c] / -by)
    some[:] = 0
    for c in range(held):
        if not on[c]:
            continue
        by, here = right[column[c]] * unit[c], amount[0, c]
        if c < tasks:
            whole = share[owner[c]] / worth[c]
            leaves = length < 1.0 and here > 0.0 and by < -FAR * whole
            by = -2.0 * here if leaves and here < LITTLE * whole else by * length
        else:
            by *= length
        amount[0, c], amount[1, c] = _moved(here, amount[1, c], by)
        if c < tasks:
            on[c] = amount[0, c] > -STAYS * abs(by)
            some[owner[c]] += on[c]
            if amount[0, c] <= 0.0:
                open_ = max(open_, -amount[0, c] / whole)
                amount[0, c] = amount[1, c] = 0.0
    for r in range(rows):
        if place[r] >= 0:
            by = right[place[r]] / norm[r] * length
            price[0, r], price[1, r] = _moved(price[0, r], price[1, r], by)
            full[r] = kind[r] > 0 or price[0, r] >= -STAYS * abs(by)
            if kind[r] == 0 and price[0, r] <= 0.0:
                open_ = max(open_, -price[0, r] * norm[r])
                price[0, r] = price[1, r] = 0.0
    for c in range(tasks):
        if on[c]:
            rise[owner[c]] -= right[column[c]]
    for n in range(users):
        by = right[own[n]] if own[n] >= 0 else rise[n] / bend[n]
        by *= sqrt(money[n]) / share[n] * length
        open_ = max(open_, (by / value[0, n]) ** 2)
        value[0, n], value[1, n] = _moved(value[0, n], value[1, n], by)
        if not (some[n] and 0.0 < value[0, n] < inf):
            return nan
    return open_


@inner
def _moved(high, low, by) -> Any:  # type: ignore[no-untyped-def]
    """Two floats and one more, the second within half a digit of the first."""
    high, low = plus(high, low, by)
    return plus(high, 0.0, low)


__all__ = ["stepped"]
