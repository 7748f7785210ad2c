"""Where a search begins: an answer as a place, and which of its columns, rows and bounds count.

Nothing of it is believed; a search corrects it, and its points are judged by `bound`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.active import ActivePlace
from fairopt.certificates.bound import Proved, bound
from fairopt.certificates.by_entries import pieces
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place, sums
from fairopt.certificates.question import Question
from fairopt.formulas import welfare
from fairopt.instance import Bools, Floats, Ints

SAME_PRICE = 0.5
"""part of a price that another one is at least, to be the same but for rounding"""


def place_of(question: Question, answer: Given, parts: int = 2) -> Place:
    """The answer as it is, its prices in the unit in which the money of free users is 1."""
    factor, q, unit = values_of(question, answer)
    held, amount = answer.held, answer.x
    if len(answer.y):
        held = np.concatenate([held, question.columns.count + np.arange(len(answer.y))])
        amount = np.concatenate([amount, answer.y])
    return Place(
        held,
        digits.of(amount, parts),
        digits.of(answer.price * factor, parts),
        digits.of(q, parts),
        unit,
    )


def values_of(question: Question, answer: Given) -> tuple[float, Floats, float]:
    """What prices are multiplied by so that the money of free users is 1, (N,) the least that a
    unit of share costs then, and log of that money."""
    q = question.columns.least(answer.price)
    t = np.maximum(answer.share - question.base, 0.0)
    free = (t > 0) & (answer.share < question.most * (1 - 1e-9))
    free = free if free.any() else t > 0
    unit = 0.0
    if free.any():
        unit = welfare.log_sum_exp((question.log_w + (1 - question.alpha) * np.log(t))[free])
    if question.pulls is None:
        factor = float(np.exp(scale(question, answer, np.log(q)) - unit))
    else:  # pulls have a unit of money, and prices have been brought to it
        factor = float(np.exp(answer.log_money - unit))
    return factor, q * factor, unit


def scale(question: Question, answer: Given, log_q: Floats) -> float:
    """log of the scale of prices at which users between their bounds spend what they do; log_q (N,)
    of the cheapest price of a unit of share."""
    share = answer.share
    t = np.maximum(share - question.base, 0.0)
    free = (t > 0) & (share < question.most * (1 - 1e-9)) & (share > question.least * (1 + 1e-9))
    free &= np.isfinite(log_q)
    alpha = question.alpha
    if not free.any():  # everybody is at a bound: prices from which nobody wants more than least
        held = (t > 0) & (share < question.most * (1 - 1e-9)) & np.isfinite(log_q)
        apart = (question.log_w - alpha * np.log(np.where(held, t, 1.0)) - log_q)[held]
        return float(apart.max()) + 1.0 if held.any() else -np.inf
    log_q = log_q[free]
    log_due = question.log_w[free] / alpha + (1 - 1 / alpha) * log_q
    return alpha * (welfare.log_sum_exp(log_due) - welfare.log_sum_exp(log_q + np.log(t[free])))


def as_it_is(question: Question, answer: Given) -> Proved:
    """What the answer proves at its own prices, scaled down to fit: little, but of any answer."""
    place = place_of(question, answer)
    seen = sums(question, place)
    over = float(-(seen.rest.left / question.unit)[question.rules].min(initial=0.0))
    if over > 0:
        factor = (1 - 1e-14) / (1 + 2 * over)
        y = answer.y if question.pulls is None else answer.y * factor
        scaled = replace(answer, x=answer.x * factor, y=y)
        place = place_of(question, scaled)
        seen = sums(question, place)
    return bound(question, place, seen)[0]


def begun(question: Question, place: Place, room: float) -> ActivePlace | None:
    """Which columns, rows and bounds count: where the part held (of money, of the row) is larger
    than the part by which the price is above the cheapest (by which the row is not full, and that
    at most `room`)."""
    columns, tasks = question.columns, question.columns.count
    p, q, users = place.price[0], place.value[0], question.users
    own = place.columns < tasks
    held, x = place.columns[own], place.amount[0][own]
    n, worth = columns.owner(held), columns.worth(held)
    share = np.asarray(np.bincount(n, worth * x, users), dtype=np.float64)
    if not ((share > 0).all() and np.isfinite(p).all() and np.isfinite(q).all()):
        return None
    y = place.amount[0][~own]
    part = worth * x / share[n]
    # a task is worth what it costs, or more where a limit stops its user
    log_own = question.log_w - place.log_unit - question.alpha * np.log(share - question.base)
    own_value = np.zeros(len(n))
    if question.bounded:
        own_value = np.where(np.isfinite(question.most), np.exp(log_own), 0.0)[n] * worth
    cost, dear, used, paid = _paid(question, p, held, x, part, own_value)
    pulls = question.pulls
    stays = (part > (cost - q[n] * worth) / dear) | (cost == 0)
    if pulls is not None and (pulls.hard & ~pulls.across).any():
        stays[:] = True  # who is on a server of equal shares stays as long as anybody does
    if not np.bincount(n[stays], minlength=users).all():
        return None
    moves = np.zeros(0, dtype=bool)
    if len(y):
        y, moves, more, paid = _flowing(question, p, y, paid)
        used = used + more
    left = np.abs(question.rhs - used) / question.unit
    full = (p > 0) & (paid > left) & (left <= room)
    if pulls is not None:
        full[pulls.rows] = ~pulls.void(place.log_unit)
    status = _bounds(question, place, share)
    parts = len(place.price)
    value_of = np.where((status == 0) & np.isfinite(log_own), np.exp(log_own), q)
    keep = np.concatenate([stays, np.ones(len(y), bool)])
    at = Place(
        np.concatenate([held, tasks + np.arange(len(y))])[keep],
        digits.of(np.concatenate([x, y])[keep], parts),
        digits.of(np.where(full, p, 0.0), parts),
        digits.of(value_of, parts),
        place.log_unit,
    )
    return ActivePlace(at, np.concatenate([np.ones(int(stays.sum()), bool), moves]), full, status)


def _flowing(
    question: Question, p: Floats, y: Floats, paid: Floats
) -> tuple[Floats, Bools, Floats, Floats]:
    """Of flows (F,): where they begin, which of them move, (M,) what they use of rows, and what is
    paid at rows, those that lend included."""
    columns = question.columns
    row, flow, entry = columns.entries(columns.count + np.arange(len(y)))
    drift = -np.bincount(flow, entry * p[row], len(y)) / max(float(p.max(initial=0.0)), 1e-300)
    near = np.where(drift > 0, question.high - y, y - question.low)
    inside = (y > question.low) & (y < question.high)
    moves = np.where(drift == 0, inside, near > np.abs(drift)) | ~question.lent
    end = np.where(drift > 0, question.high, question.low)
    y = np.where(moves | (drift == 0) | ~np.isfinite(end), y, end)
    used = np.bincount(row, entry * y[flow], len(p)).astype(np.float64)
    lends = np.bincount(row, minlength=len(p)) > 0
    money = p * question.unit
    paid = np.where(lends, np.maximum(paid, money / max(float(money.sum()), 1e-300)), paid)
    return y, moves, used, _along_flows(paid, row, flow, np.abs(entry) * p[row])


def _paid(
    question: Question, p: Floats, held: Ints, x: Floats, part: Floats, own_value: Floats
) -> tuple[Floats, ...]:
    """Of tasks held: (C,) what each costs, (C,) what it costs or is paid for, (M,) what they use of
    rows, and (M,) the largest part of a user's money that each row takes."""
    cost = np.empty(len(held))
    dear = cost if question.pulls is None else np.empty(len(held))
    used, paid = np.zeros(len(p)), np.zeros(len(p))
    for a, b, (row, each, entry) in pieces(question.columns, held):
        price = entry * p[row]
        cost[a:b] = np.bincount(each, price, b - a)
        price = np.abs(price)
        if question.pulls is not None:  # of either sign what they cancel to is no measure
            dear[a:b] = np.bincount(each, price, b - a)
        used += np.bincount(row, entry * x[a:b][each], len(p))
        value = np.maximum(dear[a:b], own_value[a:b])
        rate = np.divide(part[a:b], value, out=np.zeros(b - a), where=value > 0)
        np.maximum.at(paid, row, price * rate[each])
    return cost, dear, used, paid


def _along_flows(paid: Floats, row: Ints, flow: Ints, dear: Floats) -> Floats:
    """(M,) what users pay at rows (M,), and so at rows that hold no tasks, but lend to them at the
    same price: the dear (E,) entries of each flow."""
    if not len(row):
        return paid
    top = np.zeros(int(flow.max()) + 1)
    np.maximum.at(top, flow, dear)
    same = (dear > 0) & (dear >= SAME_PRICE * top[flow])
    row, flow = row[same], flow[same]
    while True:
        most = np.zeros(len(top))
        np.maximum.at(most, flow, paid[row])
        more = paid.copy()
        np.maximum.at(more, row, most[flow])
        if np.array_equal(more, paid):
            return paid
        paid = more


def _bounds(question: Question, place: Place, share: Floats) -> Ints:
    """(N,) 1 at `most`, -1 at `least`, 0 between: where the part of its marginal value that is not
    its price is larger than the part of the share that is missing."""
    status = np.zeros(question.users, dtype=np.int64)
    if question.bounded:
        _, apart = question.log_best(np.log(place.value[0]), place.log_unit)
        status[(apart > 0) & (apart > 1 - share / question.most)] = 1
        status[(apart < 0) & (-apart > share / question.least - 1)] = -1
        status[question.least >= question.most] = -1
    return status


__all__ = ["as_it_is", "begun", "place_of", "scale", "values_of"]
