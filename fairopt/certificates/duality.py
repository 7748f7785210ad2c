r"""How much every share could rise at once, at most: weak duality at an answer's own prices.

For any prices p >= 0 of rows, with q_n the cheapest price of a unit of share and B the value of all
that is priced, every feasible answer has sum q_n s_n <= B. The best shares within this and the
bounds of shares alone are worth at least as much as any feasible ones:

.. math:: s^0_n = \operatorname{clip}\big( (W_n / \lambda q_n)^{1/\alpha}, \sigma_n, S_n \big),
          \quad \sum_n q_n s^0_n = B .
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.formulas import welfare
from fairopt.instance import Floats

HALVINGS = 200


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


def bill(question: Question, price: Floats) -> tuple[Floats, float]:
    """(N,) the cheapest price of a unit of share, and the value of all that is priced."""
    columns = question.columns
    q = columns.cheapest(columns.cost(price))
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


__all__ = ["bill", "gap"]
