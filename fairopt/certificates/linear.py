r"""What prices prove of a throughput (alpha = 0), beside any linear rules: a linear program.

With prices p >= 0 in the unit of the objective, c_n the cheapest price of a unit of user n's share,
M_n the most that it can have alone and B the value of all that is priced, every feasible answer has

.. math:: \sum_n W_n s_n \le B + \sum_n (W_n - c_n)^+ M_n - \sum_n (c_n - W_n)^+ \sigma_n .

The scale of the prices is the one with the least bound. That bounds the objective, which a user of
little weight hardly moves. So the judge asks of each user as well, relative to what its share is
worth: whether it could be given more on some server where nothing is full for it, what its tasks
cost above their worth, and what it pays for rows that are not full.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.certificates.duality import bill, pulled_gap
from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.instance import Floats

AT = 1e-9
"""a user that has all but this part of what it can have is at its limit"""


class Linear(NamedTuple):
    """A bound on the relative rise of the objective, and each user's distance (N,)."""

    gap: float
    off: Floats


def linear(question: Question, answer: Given) -> Linear:
    """What the answer's own prices prove."""
    nothing = Linear(np.inf, np.full(question.users, np.inf))
    with np.errstate(all="ignore"):
        if question.pulls is not None:  # prices are in the unit of the objective
            worth = np.exp(question.log_w - answer.log_money)
            cheapest, _ = bill(question, answer.price)
            gap = pulled_gap(question, answer)
            return Linear(gap, _off(question, answer, worth, 1.0, cheapest))
        worth = np.exp(question.log_w - question.log_w.max())
        cheapest, budget = bill(question, answer.price)
        own = answer.share - question.base
        total = float(worth @ np.maximum(own, 0.0))
        if not (np.isfinite(budget) and total > 0):
            return nothing
        # without prices everybody may have all that it could have alone
        scale = _scale(question, worth, cheapest, budget) if budget > 0 else 0.0
        short = np.maximum(worth - scale * cheapest, 0.0)
        dear = np.maximum(scale * cheapest - worth, 0.0)
        most = scale * budget + float(short @ question.within - dear @ question.least)
        gap = (most - float(worth @ question.base)) / total - 1.0
        gap = 0.0 if gap <= ROUNDING * question.users else gap
        if np.isnan(gap):
            return nothing
        return Linear(gap, _off(question, answer, worth, scale, cheapest))


def _scale(question: Question, worth: Floats, cheapest: Floats, budget: float) -> float:
    """The scale of prices with the least bound, which is convex and piecewise linear in it."""
    # whom a rule pays is never dearer than it is worth
    at = np.where(cheapest > 0, worth / cheapest, np.inf)
    order = np.argsort(at, kind="stable")
    money, floors = cheapest * question.within, cheapest * question.least
    # the slope of the bound between two scales: who is dearer than its worth holds its floor
    above = np.append(np.cumsum(money[order][::-1])[::-1][1:], 0.0)
    slope = budget - above - np.cumsum(floors[order])
    first = int(np.argmax(slope >= -ROUNDING * budget))
    found = float(at[order[first]])
    return found if np.isfinite(found) else 0.0


def _off(
    question: Question, answer: Given, worth: Floats, scale: float, cheapest: Floats
) -> Floats:
    """(N,) each user's distance; see the module."""
    columns, users = question.columns, question.users
    held = answer.held
    row, each, entry = columns.entries(held)
    x, owner = answer.x, columns.owner(held)
    used = np.bincount(row, entry * x[each], len(question.rhs))
    left = question.rhs - used
    if len(question.low):
        at, flow, value = columns.entries(columns.count + np.arange(len(question.low)))
        left = left - np.bincount(at, value * answer.y[flow], len(left))
    left = np.where((left <= ROUNDING * question.unit) | ~question.rules, 0.0, left)
    idle = answer.price * np.minimum(left / question.unit, 1.0)
    price = np.bincount(each, entry * answer.price[row], len(held))
    above = np.maximum(price - cheapest[owner] * columns.worth(held), 0.0)
    above = np.where(above <= ROUNDING * price, 0.0, above)
    vain = np.bincount(owner, x * (above + np.bincount(each, entry * idle[row], len(held))), users)
    dear = np.maximum(scale * cheapest - worth, 0.0)
    over = dear * np.maximum(answer.share - question.least, 0.0)
    lost = (over + scale * vain) / (worth * np.maximum(answer.share, question.nothing))
    could = 1.0 - scale * _backed(question, answer, left) / worth
    full = answer.share >= np.minimum(question.most, question.within) * (1 - AT)
    return np.maximum(np.where(full, 0.0, np.maximum(could, 0.0)), np.where(lost > 0, lost, 0.0))


def _backed(question: Question, answer: Given, left: Floats) -> Floats:
    """(N,) the cheapest price of a unit of share, counting only rows that are full for the user:
    of which what is left would run at most a millionth of what it could run there alone."""
    columns, users = question.columns, question.users
    found = np.full(users, np.inf)
    step = max(1, BLOCK // max(1, len(question.rhs) // max(1, columns.count) + 8))
    for start in range(0, columns.count, step):
        some = np.arange(start, min(start + step, columns.count))
        some = some[columns.open(some)]
        row, each, entry = columns.entries(some)
        alone = np.full(len(some), np.inf)
        takes = entry > 0
        np.minimum.at(alone, each[takes], (question.unit[row] / entry)[takes])
        # a row that a task makes room in brings what its price says, however full it is
        full = (left[row] <= TOLERANCE * entry * alone[each]) | ~takes
        cost = np.bincount(each, np.where(full, entry * answer.price[row], 0.0), len(some))
        np.minimum.at(found, columns.owner(some), cost / columns.worth(some))
    return found


BLOCK = 2**20
"""columns that are looked at together"""

__all__ = ["Linear", "linear"]
