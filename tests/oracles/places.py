"""The sum of losses of a place of the judge, with all digits and by nothing but its formula.

The question's own numbers are taken as they are (`oracles.rows` reads those a second time); all
that is done with them is done again, plainly, in decimals: what rows leave, what columns cost,
what flows could still bring, what users lose at the prices.
"""

from __future__ import annotations

from decimal import Decimal as D
from decimal import localcontext

import numpy as np

from fairopt.certificates.places import Place
from fairopt.certificates.question import Question

from .optimum import loss
from .rows import exact

DIGITS = 200
ZERO = D(0)


def number(parts: np.ndarray) -> np.ndarray:
    """(n,) the numbers (k, n) of k floats."""
    found = np.full(parts.shape[1], ZERO, dtype=object)
    for part in parts:
        found = found + exact(part)
    return found


def eps_of(question: Question, place: Place) -> D | None:
    """eps at the cheapest prices of a share, in exp(log_unit); None where nothing is proved."""
    with localcontext() as context:
        context.prec = DIGITS
        return _eps(question, place)


def _eps(question: Question, place: Place) -> D | None:
    columns, alpha = question.columns, D(question.alpha)
    flows = len(question.low)
    size = columns.count + flows
    row, each, entry = columns.entries(np.arange(size))
    amount = np.full(size, ZERO, dtype=object)
    amount[place.columns] = number(place.amount)
    price, left, cost = number(place.price), exact(question.rhs), np.full(size, ZERO, dtype=object)
    for r, c, a in zip(row.tolist(), each.tolist(), exact(entry).tolist(), strict=True):
        left[r] -= a * amount[c]
        cost[c] += a * price[r]
    tasks = np.arange(columns.count)
    owner, worth = columns.owner(tasks), exact(columns.worth(tasks))
    open_ = columns.open(tasks)
    y, low, high = amount[columns.count :], exact(question.low), exact(question.high)
    base, least, most = exact(question.base), exact(question.least), exact(question.most)
    if min(left) < 0 or min(amount[tasks], default=ZERO) < 0 or min(price) < 0:
        return None
    if any(not low[f] <= y[f] <= high[f] for f in range(flows)):
        return None
    found = sum(price * left, ZERO)
    for f in range(flows):
        drift = -cost[columns.count + f]
        if drift:
            found += abs(drift) * abs((high[f] if drift > 0 else low[f]) - y[f])
    value, log_w = number(place.value), exact(question.log_w)
    for n in range(question.users):
        mine = [c for c in tasks.tolist() if owner[c] == n and open_[c]]
        v = min([value[n], *(cost[c] / worth[c] for c in mine)])
        share = sum((worth[c] * amount[c] for c in mine), ZERO)
        if v <= 0 or share < least[n]:
            return None
        found += sum((amount[c] * (cost[c] - v * worth[c]) for c in mine), ZERO)
        money = log_w[n] - D(place.log_unit)
        t0 = ((money - v.ln()) / alpha).exp()
        t0 = min(max(t0, least[n] - base[n]), most[n] - base[n])
        m = (money + (1 - alpha) * t0.ln()).exp()
        over = max(share - most[n], ZERO)  # cut off: what its tasks cost is lost
        t = share - over - base[n]
        if t <= 0:
            return None
        found += v * over + m * loss((t / t0).ln(), alpha) + abs(m / t0 - v) * abs(t0 - t)
    return found


__all__ = ["eps_of", "number"]
