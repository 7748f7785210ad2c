r"""How much every share could rise at once, at most: weak duality at an answer's own prices.

For any prices p >= 0 of rows, with q_n the cheapest price of a unit of share and B the value of all
that is priced, every feasible answer has sum q_n s_n <= B. The best shares within this and the
bounds of shares alone are worth at least as much as any feasible ones:

.. math:: s^0_n = \operatorname{clip}\big( (W_n / \lambda q_n)^{1/\alpha}, \sigma_n, S_n \big),
          \quad \sum_n q_n s^0_n = B .
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.given import LEAST_SHARE, Given
from fairopt.certificates.losses import loss
from fairopt.certificates.places import Place
from fairopt.certificates.question import Question
from fairopt.formulas import welfare
from fairopt.instance import Floats

HALVINGS = 200
TINY = 1e-300
"""a price of a share that is not above 0"""


def gap(question: Question, answer: Given) -> float:
    """A bound on E* / E - 1; inf where the prices prove nothing."""
    q, budget = bill(question, answer.price)
    budget -= float(q @ question.base) if question.base.any() else 0.0
    if not (budget > 0 and np.isfinite(budget) and (q > 0).all() and np.isfinite(q).all()):
        return np.inf
    best = _shares(question, np.log(q), budget)
    own = np.maximum(answer.share - question.base, 0.0)
    rise = welfare.log_equivalent(question.log_w, best, question.alpha)
    rise -= welfare.log_equivalent(question.log_w, own, question.alpha)
    found = float(np.expm1(rise))
    return np.inf if np.isnan(found) else max(found, 0.0)


def pulled_gap(question: Question, answer: Given) -> float:
    r"""The same beside pulls: no feasible objective is larger than the answer's by more than

    .. math:: p\,\mathrm{left} + \sum_c x_c (cost_c - v u_c) + \sum_k (e_k q_k - z_k)^2 / 2 e_k
       + \sum_n \sup_t \big( W_n g(t) - v_n t \big) - \big( W_n g(s_n) - v_n s_n \big)
       + \sum_f |drift_f| |bound_f - y_f|,

    f what is lent, and t at most what the user could have alone; z and q of hard forms bring q z.
    """
    columns, pulls, alpha = question.columns, question.pulls, question.alpha
    assert pulls is not None
    price, unit = answer.price, answer.log_money
    cost = columns.cost(price)
    value = columns.cheapest(cost)
    row, each, entry = columns.entries(answer.held)
    left = question.rhs - np.bincount(row, entry * answer.x[each], len(question.rhs))
    row, each, entry = columns.entries(columns.count + np.arange(len(question.low)))
    left = left - np.bincount(row, entry * answer.y[each], len(left))
    drift = np.where(question.lent, -np.bincount(each, entry * price[row], len(answer.y)), 0.0)
    room = np.where(drift > 0, question.high - answer.y, answer.y - question.low)
    z, give, pull = -left[pulls.rows], pulls.give(unit), price[pulls.rows]
    soft = give > 0
    away = (give * pull - z)[soft]
    rise = float((away**2 / give[soft]).sum()) / 2 + float((pull * z)[pulls.hard].sum())
    rise += float((price * left)[question.rules].sum())
    rise += float((np.abs(drift) * np.maximum(room, 0.0))[drift != 0].sum())
    share = answer.share
    rise += float(answer.x @ cost[answer.held] - value @ share)
    log_w = question.log_w - unit
    if alpha:
        log_v = np.log(np.maximum(value, TINY))
        log_best = np.minimum((log_w - log_v) / alpha, np.log(question.within))
        best = np.exp(log_best)
        log_r = np.log(np.maximum(share, question.within * LEAST_SHARE)) - log_best
        slope = np.exp(log_w - alpha * log_best)
        lost = slope * best * loss(log_r, alpha) + (slope - value) * (best - share)
    else:
        worth = np.exp(log_w)
        lost = np.maximum(worth - value, 0.0) * question.within + (value - worth) * share
    rise = max(rise + float(lost.sum()), 0.0)
    return equal_rise(question, share, rise, unit)


def rise_to(question: Question, answer: Given, place: Place) -> float:
    """How much larger the penalised objective is at a place than at an answer."""
    pulls, unit = question.pulls, place.log_unit
    assert pulls is not None
    columns, alpha = question.columns, question.alpha
    mine = place.columns < columns.count
    held, amount = place.columns[mine], place.amount[0]
    share = np.bincount(columns.owner(held), columns.worth(held) * amount[mine], question.users)
    flows = columns.count + np.arange(len(question.low))
    theirs = np.concatenate([answer.held, flows]), np.concatenate([answer.x, answer.y])
    here, there = (
        np.bincount(row, entry * x[each], len(question.rhs))[pulls.rows]
        for x, (row, each, entry) in (
            (amount, columns.entries(place.columns)),
            (theirs[1], columns.entries(theirs[0])),
        )
    )
    own = np.maximum(answer.share, question.within * LEAST_SHARE)
    log_r, power = np.log(share / own), 1 - alpha
    money = np.exp(question.log_w - unit + power * np.log(own))
    gained = log_r if alpha == 1 else np.expm1(power * log_r) / power
    give = pulls.give(unit)
    bent = np.divide((there - here) * (there + here), give, out=np.zeros_like(give), where=give > 0)
    return float((money * gained).sum() + bent.sum() / 2)


def equal_rise(question: Question, share: Floats, rise: float, unit: float) -> float:
    """By how much all shares have to rise for welfare to rise so much, in money of exp(unit)."""
    held = np.maximum(share, question.within * LEAST_SHARE)
    money = np.exp(question.log_w - unit + (1 - question.alpha) * np.log(held)).sum()
    if question.alpha == 1:
        found = np.expm1(rise / money)
        return np.inf if np.isnan(found) else float(found)
    power = 1 - question.alpha
    found = np.expm1(np.log1p(power * rise / money) / power)
    return np.inf if np.isnan(found) else float(found)


def bill(question: Question, price: Floats) -> tuple[Floats, float]:
    """(N,) the cheapest price of a unit of share, and the value of all that is priced."""
    columns = question.columns
    q = columns.least(price)
    budget = float(price @ question.rhs)
    if len(question.low):
        flows = columns.count + np.arange(len(question.low))
        row, each, entry = columns.entries(flows)
        drift = -np.bincount(each, entry * price[row], len(flows))
        brought = np.where(drift > 0, drift * question.high, drift * question.low)
        budget += float(np.where(drift == 0, 0.0, brought).sum())
    return q, budget


def _shares(question: Question, log_q: Floats, budget: float) -> Floats:
    """(N,) the best shares above b that cost at most the budget, by bisection of log lambda."""
    alpha, q = question.alpha, np.exp(log_q)
    log_t = (question.log_w - log_q) / alpha
    low, high = question.least - question.base, question.most - question.base

    def at(shift: float) -> Floats:
        return np.clip(np.exp(log_t - shift), low, high)

    # without bounds in closed form, which is where the search begins
    shift = welfare.log_sum_exp(log_q + log_t) - float(np.log(budget))
    found = at(shift)
    if not question.bounded or (found == np.exp(log_t - shift)).all():
        return found
    less, more = shift, shift
    for step in 2.0 ** np.arange(-3, 14):
        if q @ at(less) < budget:
            less -= step
        if q @ at(more) > budget:
            more += step
    for _ in range(HALVINGS):
        middle = 0.5 * (less + more)
        if middle in (less, more):
            break
        less, more = (middle, more) if q @ at(middle) > budget else (less, middle)
    return at(less)


__all__ = ["bill", "equal_rise", "gap", "pulled_gap", "rise_to"]
