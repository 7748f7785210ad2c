r"""The price mu of a user's limit on tasks, at given prices of resources: one equation a user.

Without a price the user would run X(0) tasks; if that is more than its limit L, mu > 0 solves
X(mu) = L with

.. math:: X = m\, E, \quad E = \sum_i w_i / a_i, \qquad
          X' = -m \left( (1 + 1/\tau)\, Var_w(1/a) + E^2/\alpha \right) < 0,

in the notation of `smooth`. X falls steeply where two servers tie, so Newton on log X is kept
between bounds. mu is found as a sum: the value before, and a small change that is not rounded to
the digits of mu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints

MOST_ROUNDS = 80
"""rounds of Newton or bisection"""
CLOSE = 1e-14
"""relative miss of the limit"""


class LimitedUsers(NamedTuple):
    """Users with limits: base (n, I) and shift (n, I) add up to the costs of a task."""

    alpha: float
    log_w: Floats
    limit: Floats
    base: Floats
    shift: Floats
    score: Floats | None
    far: Bools

    def least_cost(self) -> Floats:
        """(n,) the least that a task costs."""
        cost = np.where(self.far, np.inf, self.base + self.shift)
        return rows.least(cost)

    def of(self, pick: Ints | Bools) -> LimitedUsers:
        """The users picked."""
        return LimitedUsers(
            self.alpha,
            self.log_w[pick],
            self.limit[pick],
            self.base[pick],
            self.shift[pick],
            None if self.score is None else self.score[pick],
            self.far[pick],
        )


def solve(case: LimitedUsers, mu: Floats, tau: float) -> tuple[Floats, Floats]:
    """(n,) and (n,): two numbers a user that add up to its mu; both 0 where the limit is slack."""
    before, more = np.where(np.isfinite(case.limit), mu, 0.0), np.zeros(len(mu))
    free = np.log(case.limit)
    with np.errstate(all="ignore"):
        excess, _ = _log_excess(case, np.zeros(len(mu)), more, tau)
        bound = np.isfinite(free) & (excess > 0)
        before[~bound] = 0.0
        on = np.flatnonzero(bound)
        case = case.of(on)
        low, high = -before[on], np.full(len(on), np.inf)
        where = np.zeros(len(on))
        for _ in range(MOST_ROUNDS):
            if not len(on):
                break
            excess, slope = _log_excess(case, before[on], where, tau)
            np.copyto(low, where, where=excess > 0)
            np.copyto(high, where, where=excess <= 0)
            more[on] = where
            # Newton on log X, between the bounds
            then = where - excess / slope
            wild = ~((then > low) & (then < high))
            if wild.any():
                there = case.least_cost() + before[on] + where
                beyond = where + np.maximum(3 * (before[on] + where) + 1e-300, there)
                middle = np.where(np.isfinite(high), 0.5 * (low + high), beyond)
                then = np.where(wild, middle, then)
            left = (np.abs(excess) > CLOSE) & (then != where)
            on, low, high, where = on[left], low[left], high[left], then[left]
            case = case.of(left)
    return before, more


def _log_excess(
    case: LimitedUsers, before: Floats, more: Floats, tau: float
) -> tuple[Floats, Floats]:
    """(n,) log X - log L at mu = before + more, and its derivative."""
    base = case.base + before[:, None]
    log_base = np.log(base)
    if case.score is not None:
        log_base -= case.score
    log_base[case.far] = np.inf
    first = rows.least(log_base)
    t = (case.shift + more[:, None]) / base
    kappa = log_base - first[:, None] + np.log1p(t)
    least = rows.least(kappa)
    part = np.exp((least[:, None] - kappa) / tau)
    total = rows.total(part)
    part /= total[:, None]
    log_q = first + least - tau * np.log(total)
    inverse = 1 / (base * (1 + t))
    mean = rows.total(part * inverse)
    spread = rows.total(part * (inverse - mean[:, None]) ** 2)
    log_money = case.log_w / case.alpha + (1 - 1 / case.alpha) * log_q
    excess = log_money + np.log(mean) - np.log(case.limit)
    return excess, -((1 + 1 / tau) * spread / mean + mean / case.alpha)
