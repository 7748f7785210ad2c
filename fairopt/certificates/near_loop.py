"""The first steps of a search from an answer as one loop to be compiled: `begun`, `missing`,
`solved` and `stepped` of few columns, which say what it computes.

Nothing that it finds is believed: the point is summed up and judged as any other, and where it
proves too little the search begins again, in NumPy. Answers beside rules that lend, floors and
limits that are bounds of a share are left to that.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from fairopt import fast
from fairopt.certificates.active import ActivePlace
from fairopt.certificates.begun_loop import entries_of, valued
from fairopt.certificates.by_entries import KEPT
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place
from fairopt.certificates.pulls import FORCE
from fairopt.certificates.question import Question
from fairopt.certificates.steps import SPARE
from fairopt.certificates.steps_loop import stepped

MOST_UNKNOWNS = 220
"""unknowns of a step up to which the loop takes less than NumPy does"""
ALMOST, HOPELESS = 1e-14, 1e-9
"""part of a share that a step leaves for the next, after which no other is made; from which
conditions contradict each other, and the text is asked"""
SETTINGS = MOST_UNKNOWNS, FORCE, ALMOST, HOPELESS


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
    """The point to which a step or two lead from an answer; None where they lead to none."""
    columns, pulls, flows = question.columns, question.pulls, len(answer.y)
    held, amount = answer.held, np.zeros((2, len(answer.held) + flows))
    amount[0, : len(held)], amount[0, len(held) :] = answer.x, answer.y
    if flows:
        held = np.concatenate([held, columns.count + np.arange(flows)])
    pulled, stays = NO_PULLS, False
    if pulls is not None:
        own = pulls.rows, pulls.times, pulls.flow, pulls.owner
        pulled = *own, pulls.log_give, answer.log_money
        stays = bool((pulls.hard & ~pulls.across).any())
    spare = SPARE[2] * question.unit
    spare = spare if question.further is None else spare * question.further
    price, values = np.zeros((2, len(spare))), np.zeros((2, question.users))
    price[0] = answer.price
    full = np.zeros(len(spare), dtype=bool)
    try:
        kept, unit = fast.loop(_near)(
            tuple(columns.table),
            held,
            (question.rhs, question.unit, spare),
            pulled,
            question.log_w,
            question.alpha,
            room,
            stays,
            SETTINGS,
            answer.share,
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


NO_NUMBER, NONE = np.zeros(0), np.zeros(0, np.int64)
NO_PULLS = NONE, NO_NUMBER, NONE, NONE, NO_NUMBER, 0.0


def _near(  # type: ignore[no-untyped-def]
    table, columns, limits, pulls, log_weight, alpha, room, all_stay, settings, given,
    amount, price, value, full,
) -> Any:  # fmt: skip
    """Into amount (2, C), price (2, M) and value (2, N), of which the first two hold those of an
    answer, given (N,) its shares: the point after a step; into full (M,) which rows are. Of the
    columns the positions kept, none where it leads nowhere; and log of the unit of money."""
    rhs, row_unit, spare = limits
    pulling, times, flow, pulled, log_give, log_money = pulls
    most, force, almost, hopeless = settings
    held, rows, users = len(columns), len(rhs), len(log_weight)
    nowhere = np.empty(0, np.int64)
    unit_of = valued(table, log_weight, alpha, given, log_money, len(pulling) > 0, price, value)
    if not -inf < unit_of < inf:
        return nowhere, 0.0
    log_w = log_weight - unit_of
    tasks = 0
    for c in columns:
        tasks += c < len(table[3])
    owner, worth = table[3][columns[:tasks]], table[4][columns[:tasks]]
    row, each, entry = entries_of(table, columns)
    give, kind = np.zeros(rows), np.zeros(rows, np.int64)
    for k in range(len(pulling)):
        void = log_give[k] + unit_of > force
        kind[pulling[k]] = 2 if void else 1
        give[pulling[k]] = 0.0 if void else exp(log_give[k] + unit_of)
    # -- which columns and rows count (`begun`)
    share = np.zeros(users)
    for c in range(tasks):
        share[owner[c]] += worth[c] * amount[0, c]
    for n in range(users):
        if not (0.0 < share[n] < inf and value[0, n] < inf):
            return nowhere, 0.0
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
            return nowhere, 0.0
    for r in range(rows):
        left = abs(rhs[r] - used[r]) / row_unit[r]
        full[r] = kind[r] == 1 or (
            kind[r] == 0 and price[0, r] > 0.0 and paid[r] > left and left <= room
        )
        if not full[r]:
            price[0, r] = 0.0
    for n in range(users):
        known = log_w[n] - alpha * log(share[n])
        if abs(known) < 700.0:
            value[0, n] = exp(known)
    for _ in range(2):
        left = stepped(
            (row, each, entry, owner, worth), (rhs, spare, give, kind), pulls[:4],
            log_w, alpha, most, on, some, amount, price, value, full,
        )  # fmt: skip
        if not left < inf:
            return nowhere, 0.0
        if not almost < left < hopeless:
            break
    return np.flatnonzero(on), unit_of
