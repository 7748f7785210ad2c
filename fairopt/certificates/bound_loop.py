"""What a point of few columns proves, as one loop to be compiled: `sums`, `search._within` and
`bound`, which say what it computes, for points that prove all that is wanted.

Believed is, of this file, all. Sums are added up to the digits of three floats (`added`), of which
the lower two are as large as the roundings of the first, and rounded to one float in the end: so
they are wrong by LAST of the sizes of their terms for each of them, which the bound counts in, and
by a last rounding, which cannot change a sign. Where anything is not as it is in nearly every
answer (a row overrun by more than a trifle, a share far from what is best, a hard form, a number
beyond floating point) nothing is said, and the text is asked.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from fairopt import fast
from fairopt.certificates.active import CHEAPER
from fairopt.certificates.bound import TINY, Proved
from fairopt.certificates.losses import FLAT
from fairopt.certificates.places import NEAR_WORTH, ROUND, Place
from fairopt.certificates.pulled import ROUND as PULL_ROUND
from fairopt.certificates.pulls import FORCE
from fairopt.certificates.question import Question
from fairopt.formulas.doubles_loop import added, plus

LAST = 2.0**-106
"""what rounding a sum's lower floats changes, for each term, as a part of the sizes of all"""
MORE = 8.0
"""terms by which a sum counts as longer, for all that is smaller still"""
CANCELLED = 2.0**-40
"""part of what a task costs and is paid together by which a price near its worth may be wrong"""
NO_NUMBER, NONE = np.zeros(0), np.zeros(0, np.int64)
NO_PULLS = NONE, NO_NUMBER, NONE, NONE, NO_NUMBER, NO_NUMBER


def proved(question: Question, place: Place) -> tuple[Proved, Place, float] | None:
    """What a place of two floats proves of an unbounded question, the place itself, scaled down by
    a trifle where a row was overrun, and eps; None where that is left to the text."""
    pulls, pulled = question.pulls, NO_PULLS
    if pulls is not None:
        if pulls.hard.any():
            return None
        across = np.flatnonzero(pulls.across)
        scale = question.share_unit[pulls.owner] / pulls.unit / pulls.times
        pulled = pulls.rows, pulls.log_give, across, pulls.owner, pulls.times, scale
    amount, ends = place.amount.copy(), np.empty((3, question.users))
    eps = fast.loop(_bounded)(
        tuple(question.columns.table),
        place.columns,
        (question.rhs, question.unit, question.rules),
        (question.low, question.high),
        pulled,
        (question.log_w, question.log_size),
        question.alpha,
        place.log_unit,
        (CHEAPER, NEAR_WORTH, CANCELLED, ROUND, PULL_ROUND, FLAT, FORCE, TINY),
        amount,
        place.price,
        place.value,
        ends,
    )
    if not eps < inf:
        return None
    scaled = Place(place.columns, amount, place.price, place.value, place.log_unit)
    return Proved(*ends), scaled, eps


@fast.inner
def _left(entries, held, rhs, amount, price, give, left, wrong) -> Any:  # type: ignore[no-untyped-def]
    """Into left (M,) what amounts (2, C) leave of rows, and into wrong its error; give (M,) of a
    row's price is more of it."""
    start, row, entry = entries
    rows = len(rhs)
    sums, size, terms = np.zeros((3, rows)), np.empty(rows), np.full(rows, MORE)
    for r in range(rows):
        sums[0, r], size[r] = rhs[r], abs(rhs[r])
        for k in range(2):
            if give[r] * price[k, r] != 0.0:
                sums[0, r], sums[1, r], sums[2, r] = added(
                    sums[0, r], sums[1, r], sums[2, r], give[r], price[k, r]
                )
                size[r] += abs(give[r] * price[k, r])
                terms[r] += 1.0
    for c in range(len(held)):
        for e in range(start[held[c]], start[held[c] + 1]):
            r = row[e]
            for k in range(2):
                if amount[k, c] != 0.0:
                    sums[0, r], sums[1, r], sums[2, r] = added(
                        sums[0, r], sums[1, r], sums[2, r], -entry[e], amount[k, c]
                    )
                    size[r] += abs(entry[e] * amount[k, c])
                    terms[r] += 1.0
    for r in range(rows):
        left[r] = sums[0, r] + (sums[1, r] + sums[2, r])
        wrong[r] = LAST * terms[r] * size[r]


@fast.inner
def _profit(entries, c, worth, n, price, value) -> Any:  # type: ignore[no-untyped-def]
    """What a column is worth less its cost, and the error of that; a flow is worth nothing."""
    start, row, entry = entries
    high, middle, low, size, terms = 0.0, 0.0, 0.0, 0.0, MORE
    for k in range(2):
        if worth > 0.0:
            high, middle, low = added(high, middle, low, worth, value[k, n])
            size += abs(worth * value[k, n])
            terms += 1.0
        for e in range(start[c], start[c + 1]):
            if price[k, row[e]] != 0.0:
                high, middle, low = added(high, middle, low, -entry[e], price[k, row[e]])
                size += abs(entry[e] * price[k, row[e]])
                terms += 1.0
    return high + (middle + low), LAST * terms * size


@fast.inner
def _inside(low, high, first, second) -> Any:  # type: ignore[no-untyped-def]
    """Whether a flow of two floats is between its bounds: the sign of each sum is exact."""
    above = plus(low, 0.0, -first)
    above = plus(above[0], above[1], -second)
    below = plus(high, 0.0, -first)
    below = plus(below[0], below[1], -second)
    return above[0] + above[1] <= 0.0 <= below[0] + below[1]


def _bounded(  # type: ignore[no-untyped-def]
    table, held, limits, flows, pulls, users_of, alpha, unit, settings, amount, price, value, ends
) -> Any:  # fmt: skip
    """Into ends (3, N) log of the share that is best, and how far below and above it every optimum
    is; into amount (2, C) what was scaled. Eps, or inf where nothing is said."""
    entries, owner, worth = table[:3], table[3], table[4]
    rhs, row_unit, rules = limits
    lowest, highest = flows
    pulling, log_give, across, puller, times, scale = pulls
    log_w, log_size = users_of
    trifle, near_worth, cancelled, roundoff, pull_roundoff, flat, force, tiny = settings
    rows, users, columns = len(rhs), len(log_w), len(worth)
    tasks = 0
    for c in held:
        tasks += c < columns
    give, money = np.zeros(rows), False
    for k in range(len(pulling)):
        if log_give[k] + unit <= force:
            give[pulling[k]] = exp(log_give[k] + unit)
    for r in range(rows):
        money = money or price[0, r] != 0.0
        if not (abs(price[0, r]) < inf and (price[0, r] >= 0.0 or not rules[r])):
            return inf
    # -- what is left, no row overrun (`_within`)
    left, wrong = np.empty(rows), np.empty(rows)
    for again in range(2):
        over = 0.0
        _left(entries, held, rhs, amount, price, give, left, wrong)
        for r in range(rows):
            if rules[r]:
                if not left[r] >= wrong[r] and again:
                    return inf
                over = max(over, (wrong[r] - left[r]) / row_unit[r])
        if over == 0.0:
            break
        if not over < trifle:
            return inf
        for c in range(len(held)):
            high, low = plus(amount[0, c], amount[1, c], -4.0 * over * amount[0, c])
            amount[0, c], amount[1, c] = plus(high, 0.0, low)
    share = np.zeros(users)
    for c in range(tasks):
        if not amount[0, c] >= 0.0:
            return inf
        share[owner[held[c]]] += worth[held[c]] * amount[0, c]
    for f in range(tasks, len(held)):
        k = held[f] - columns
        if not _inside(lowest[k], highest[k], amount[0, f], amount[1, f]):
            return inf
    # -- a value that no column exceeds (`lessened`)
    profit, error, less = np.empty(len(held)), np.empty(len(held)), np.zeros(users)
    mine = np.zeros(columns, np.bool_)
    for c in range(len(held)):
        if c < tasks:
            n, own = owner[held[c]], worth[held[c]]
            mine[held[c]] = True
            profit[c], error[c] = _profit(entries, held[c], own, n, price, value)
            less[n] = max(less[n], (profit[c] + error[c]) / own * (1.0 + roundoff))
        else:
            profit[c], error[c] = _profit(entries, held[c], 0.0, 0, price, value)
    for c in range(columns):
        if mine[c] or not worth[c] > 0.0:
            continue
        cost, dear, n = 0.0, 0.0, owner[c]
        for e in range(entries[0][c], entries[0][c + 1]):
            part = entries[2][e] * price[0, entries[1][e]]
            cost += part
            dear += abs(part)
        if not cost - cancelled * dear > value[0, n] * (1.0 + near_worth) * worth[c]:
            more, wide = _profit(entries, c, worth[c], n, price, value)
            less[n] = max(less[n], (more + wide) / worth[c] * (1.0 + roundoff))
    # -- eps (`bound`)
    eps, log_t, m = 0.0, np.empty(users), np.empty(users)
    for n in range(users):
        own = value[0, n] - less[n]
        if not (0.0 < own < inf and 0.0 < share[n] < inf):
            return inf
        log_t[n] = (log_w[n] - unit - log(own)) / alpha
        m[n] = exp(log_w[n] - unit + (1.0 - alpha) * log_t[n])
        size = log_size[n] + abs(unit) + abs(log(own)) + 1.0
        z = abs(log(share[n]) - log_t[n])
        z += roundoff * (size / alpha + abs(log_t[n]) + 1.0)
        if not (z * (1.0 + alpha) <= flat and 0.0 < m[n] < inf):
            return inf
        eps += m[n] * 0.51 * alpha * z * z
    for c in range(tasks):
        lost = less[owner[held[c]]] * worth[held[c]]
        eps += amount[0, c] * (max(lost - profit[c], 0.0) + error[c] + roundoff * lost)
    for r in range(rows):
        if rules[r] and price[0, r] > 0.0:
            eps += price[0, r] * (left[r] + wrong[r])
    for k in range(len(pulling)):  # `pulled.terms`
        r, void = pulling[k], log_give[k] + unit > force
        if void and price[0, r] != 0.0:
            return inf
        away = abs(left[r]) + wrong[r]
        away += pull_roundoff * (1.0 + abs(unit)) * give[r] * abs(price[0, r])
        eps += away * away / 2.0 / (exp(force) if void else give[r])
    for f in range(tasks, len(held)):
        k, drift = held[f] - columns, abs(profit[f]) + error[f]
        room = highest[k] - amount[0, f] if profit[f] > 0.0 else amount[0, f] - lowest[k]
        if profit[f] != 0.0:
            eps += drift * max(room, 0.0) * (1.0 + roundoff)
    eps += tiny if money else 0.0
    wide = eps * (1.0 + 1e-9)
    for n in range(users):
        far = sqrt(2.05 * (wide / m[n]) / alpha)
        if not (far * (1.0 + alpha) <= flat and exp(log_t[n]) > 0.0):
            return inf
        ends[0, n], ends[1, n], ends[2, n] = log(exp(log_t[n])), far, far
    if len(across):
        _tied(pulls, give, price[0], wide, unit, force, pull_roundoff, log_t, ends)
    known = eps
    for n in range(users):
        known += ends[0, n] + ends[1, n] + ends[2, n]
    return eps if abs(known) < inf else inf


@fast.inner
def _tied(pulls, give, price, eps, unit, force, roundoff, log_t, ends) -> Any:  # type: ignore[no-untyped-def]
    """Ends nearer where the variance of levels ties them together (`pulled.levels`)."""
    pulling, log_give, across, puller, times, scale = pulls
    least, most = -inf, inf
    z, width = np.zeros(len(pulling)), np.zeros(len(pulling))
    low, high = np.exp(log_t - ends[1]), np.exp(log_t + ends[2])
    for k in across:
        if log_give[k] + unit > force:
            continue
        r, n = pulling[k], puller[k]
        z[k] = give[r] * price[r] / times[k]
        width[k] = sqrt(2.05 * give[r] * eps) / times[k]
        width[k] += 2.0 * roundoff * (1.0 + abs(unit)) * abs(z[k])
        least = max(least, low[n] * scale[k] - z[k] - width[k])
        most = min(most, high[n] * scale[k] - z[k] + width[k])
    for k in across:
        if log_give[k] + unit > force:
            continue
        n, size = puller[k], roundoff * (max(abs(least), abs(most)) + abs(z[k]))
        low[n] = max(low[n], (least + z[k] - width[k] - size) / scale[k])
        high[n] = min(high[n], (most + z[k] + width[k] + size) / scale[k])
    for n in range(len(log_t)):
        share = exp(log_t[n])
        ends[1, n], ends[2, n] = -log(low[n] / share), log(high[n] / share)


__all__ = ["proved"]
