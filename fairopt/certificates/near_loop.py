"""The first step of a search from an answer as one loop to be compiled: `begun`, `missing`,
`solved` and `stepped` of few columns, which say what it computes.

Nothing that it finds is believed: the point is summed up and judged as any other, and where it
proves too little the search begins again, in NumPy. Answers beside rules that lend, floors and
limits that are bounds of a share are left to that.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from fairopt import fast
from fairopt.certificates.active import FAR, LITTLE, STAYS, ActivePlace
from fairopt.certificates.begun import values_of
from fairopt.certificates.by_entries import KEPT
from fairopt.certificates.by_rows import LOOSE
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place
from fairopt.certificates.question import Question
from fairopt.certificates.steps import FAINT, LEAST_PART, SPARE, TOGETHER
from fairopt.formulas.square_loop import factored, solved

MOST_UNKNOWNS = 220
"""unknowns of a step up to which the loop takes less than NumPy does"""
HALVES = 2.0**27 + 1
"""what splits a float in two halves, of which products are exact"""


def applies(question: Question, answer: Given) -> bool:
    """Whether the loop knows the question, and loops are compiled."""
    return (
        question.users <= MOST_UNKNOWNS
        and len(answer.held) + len(answer.y) <= KEPT
        and fast.often()
        and not question.bounded
        and question.paid is None
        and not question.lent.any()
    )


def near(question: Question, answer: Given, room: float) -> ActivePlace | None:
    """The point to which one step leads from an answer; None where it leads to none."""
    columns, pulls = question.columns, question.pulls
    factor, value, unit = values_of(question, answer)
    flows = len(answer.y)
    held = answer.held
    if flows:
        held = np.concatenate([held, columns.count + np.arange(flows)])
    row, each, entry = columns.entries(held)
    rows = len(question.rhs)
    give, kind, stays = np.zeros(rows), np.zeros(rows, np.int64), False
    pulling, times, flow, owner = NONE, NO_NUMBER, NONE, NONE
    if pulls is not None:
        pulling, times, flow, owner = pulls.rows, pulls.times, pulls.flow, pulls.owner
        give[pulling] = pulls.give(unit)
        kind[pulling] = np.where(pulls.void(unit), 2, 1)
        stays = bool((pulls.hard & ~pulls.across).any())
    spare = SPARE[2] * question.unit
    spare = spare if question.further is None else spare * question.further
    amount, price = np.zeros((2, len(held))), np.zeros((2, rows))
    amount[0, : len(answer.held)], amount[0, len(answer.held) :] = answer.x, answer.y
    price[0] = answer.price * factor
    values = np.zeros((2, question.users))
    values[0] = value
    full = np.zeros(rows, dtype=bool)
    try:
        kept = fast.loop(_near)(
            (
                row,
                np.ascontiguousarray(each),
                entry,
                columns.owner(answer.held),
                columns.worth(answer.held),
            ),
            (question.rhs, question.unit, spare, kind, give),
            (pulling, times, flow, owner),
            question.log_w - unit,
            question.alpha,
            room,
            stays,
            (FAR, LITTLE, STAYS, LEAST_PART, FAINT, TOGETHER, LOOSE, MOST_UNKNOWNS),
            amount,
            price,
            values,
            full,
        )
    except ZeroDivisionError:  # money beyond floating point
        return None
    if not len(kept):
        return None
    out = amount[0, len(answer.held) :]
    if flows and not ((out >= question.low) & (out <= question.high)).all():
        return None
    if len(kept) < len(held):
        held, amount = held[kept], amount[:, kept]
    moves = np.ones(len(held), dtype=bool)
    return ActivePlace(
        Place(held, amount, price, values, unit), moves, full, np.zeros(question.users, np.int64)
    )


NONE, NO_NUMBER = np.zeros(0, np.int64), np.zeros(0)


@fast.inner
def _plus(high, low, more) -> Any:  # type: ignore[no-untyped-def]
    """A sum of two floats and one more."""
    total = high + more
    back = total - high
    return total, low + ((high - (total - back)) + (more - back))


@fast.inner
def _less(high, low, a, b) -> Any:  # type: ignore[no-untyped-def]
    """Two floats less the product of two others, to the digits of two."""
    product = a * b
    upper, lower = a * HALVES, b * HALVES
    upper, lower = upper - (upper - a), lower - (lower - b)
    rest = a - upper, b - lower
    error = ((upper * lower - product) + upper * rest[1] + rest[0] * lower) + rest[0] * rest[1]
    high, low = _plus(high, low, -product)
    return high, low - error


def _near(  # type: ignore[no-untyped-def]
    entries, limits, pulls, log_w, alpha, room, all_stay, settings, amount, price, value, full
) -> Any:
    """Into amount (2, C), price (2, M) and value (2, N), which hold those of an answer: the point
    after a step; into full (M,) which rows are. Of the columns the positions kept; none where it
    leads nowhere."""
    row, each, entry, owner, worth = entries
    rhs, row_unit, spare, kind, give = limits
    pulling, times, flow, pulled = pulls
    far_part, little, stays_part, least_part, faint, together, loose, most = settings
    tasks, held, rows, users = len(owner), amount.shape[1], len(rhs), len(log_w)
    nowhere = np.empty(0, np.int64)
    # -- which columns and rows count (`begun`)
    share = np.zeros(users)
    for c in range(tasks):
        share[owner[c]] += worth[c] * amount[0, c]
    for n in range(users):
        if not (0.0 < share[n] < inf and value[0, n] < inf):
            return nowhere
    cost, dear = np.zeros(held), np.zeros(held)
    used, paid = np.zeros(rows), np.zeros(rows)
    for e in range(len(row)):
        part = entry[e] * price[0, row[e]]
        cost[each[e]] += part
        dear[each[e]] += abs(part)
        used[row[e]] += entry[e] * amount[0, each[e]]
    on, some = np.ones(held, np.bool_), np.zeros(users, np.int64)
    for c in range(tasks):
        n = owner[c]
        part = worth[c] * amount[0, c] / share[n]
        over = cost[c] - value[0, n] * worth[c]
        on[c] = all_stay or cost[c] == 0.0 or part * dear[c] > over
        some[n] += on[c]
        cost[c] = part / dear[c] if dear[c] > 0.0 else 0.0
    for e in range(len(row)):
        if each[e] < tasks:
            part = abs(entry[e] * price[0, row[e]]) * cost[each[e]]
            paid[row[e]] = max(paid[row[e]], part)
    for n in range(users):
        if not some[n]:
            return nowhere
    for r in range(rows):
        left = abs(rhs[r] - used[r]) / row_unit[r]
        full[r] = kind[r] == 1 or (
            kind[r] == 0 and price[0, r] > 0.0 and paid[r] > left and left <= room
        )
        if not full[r]:
            price[0, r] = 0.0
    # -- what is missing there (`missing`), sums to the digits of two floats
    for n in range(users):
        known = log_w[n] - alpha * log(share[n])
        if abs(known) < 700.0:
            value[0, n] = exp(known)
        share[n] = 0.0
    over, rest = rhs.copy(), np.zeros(rows)
    gain, more = np.zeros(held), np.zeros(held)
    for c in range(tasks):
        if on[c]:
            share[owner[c]] += worth[c] * amount[0, c]
            gain[c], more[c] = _less(0.0, 0.0, -worth[c], value[0, owner[c]])
    for e in range(len(row)):
        r, c = row[e], each[e]
        if on[c]:
            over[r], rest[r] = _less(over[r], rest[r], entry[e], amount[0, c])
            gain[c], more[c] = _less(gain[c], more[c], entry[e], price[0, r])
    for r in range(rows):
        if kind[r]:
            over[r], rest[r] = _less(over[r], rest[r], -give[r], price[0, r])
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
    if unknowns + users > most:
        return nowhere
    matrix = np.zeros((unknowns + users, unknowns + users))
    right, pull = np.zeros(unknowns + users), 0.0
    for r in range(rows):
        if place[r] >= 0:
            norm[r] = sqrt(norm[r] + give[r])
            k = place[r]
            right[k] = (over[r] + rest[r] - (0.0 if kind[r] else spare[r])) / norm[r]
            matrix[k, k] = -loose - give[r] / norm[r] ** 2
    for c in range(held):
        if on[c]:
            right[column[c]] = (gain[c] + more[c]) * unit[c]
            pull = max(pull, abs(right[column[c]]))
    pull = min(max(pull, faint), together)
    for c in range(held):
        if on[c]:
            k = column[c]
            if c < tasks:
                part = max(worth[c] * amount[0, c] / share[owner[c]], least_part)
                matrix[k, k] = pull / part
                matrix[k, unknowns + owner[c]] = matrix[unknowns + owner[c], k] = -1.0
            else:
                matrix[k, k] = pull
    for e in range(len(row)):
        r, c = row[e], each[e]
        if on[c] and full[r]:
            part = entry[e] * unit[c] / norm[r]
            matrix[column[c], place[r]] += part
            matrix[place[r], column[c]] += part
    for n in range(users):
        short = (log_w[n] - log(value[0, n])) / alpha - log(share[n])
        right[unknowns + n] = -short * sqrt(money[n])
        matrix[unknowns + n, unknowns + n] = -money[n] / (value[0, n] * share[n]) / alpha
    order = np.empty(len(right), np.int64)
    if not (factored(matrix, order) and solved(matrix, order, right)):
        return nowhere
    # -- as far as amounts stay above 0, and without those that do not (`stepped`)
    length = 1.0
    for c in range(tasks):
        if on[c] and amount[0, c] > 0.0:
            by = right[column[c]] * unit[c]
            if by < -far_part * share[owner[c]] / worth[c]:
                length = min(length, amount[0, c] / -by)
    last = 0
    some[:] = 0
    kept = np.empty(held, np.int64)
    for c in range(held):
        if not on[c]:
            continue
        by, here = right[column[c]] * unit[c], amount[0, c]
        if c < tasks:
            whole = share[owner[c]] / worth[c]
            leaves = length < 1.0 and here > 0.0 and by < -far_part * whole
            by = -2.0 * here if leaves and here < little * whole else by * length
        else:
            by *= length
        amount[0, c], amount[1, c] = _plus(here, 0.0, by)
        if c < tasks:
            if not amount[0, c] > -stays_part * abs(by):
                continue
            some[owner[c]] += 1
            if amount[0, c] <= 0.0:
                amount[0, c] = amount[1, c] = 0.0
        kept[last] = c
        last += 1
    for r in range(rows):
        if place[r] >= 0:
            by = right[place[r]] / norm[r] * length
            price[0, r], price[1, r] = _plus(price[0, r], 0.0, by)
            full[r] = kind[r] > 0 or price[0, r] >= -stays_part * abs(by)
            if kind[r] == 0 and price[0, r] <= 0.0:
                price[0, r] = price[1, r] = 0.0
    for n in range(users):
        by = right[unknowns + n] * sqrt(money[n]) / share[n] * length
        value[0, n], value[1, n] = _plus(value[0, n], 0.0, by)
        if not (some[n] and 0.0 < value[0, n] < inf):
            return nowhere
    return kept[:last]
