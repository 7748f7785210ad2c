r"""Alpha-fair rates of all classes over many states at once, for at most two resources.

A transaction of class k has the rate (a_k1 v_1 + a_k2 v_2)^(-1/alpha) at prices v. Only the ratio
of the prices has to be found, their size makes the fuller resource full: with v = (w, 1 - w) the
use of the first resource falls with w against that of the second. Bisection on w; where one
resource is fuller even at its dearest, it alone has a price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.dynamics.judging import overrun
from fairopt.instance import Floats

STEPS = 80
"""halvings of the ratio of the prices, in its logarithm at first: the last ones change no digit"""


@dataclass(frozen=True)
class Alpha:
    """The rates for one alpha > 0; called as the batches of `rates`."""

    alpha: float

    def __call__(self, part: Floats, number: Floats) -> tuple[Floats, Floats]:
        """Rates (S, K) and the prices (S, R) that prove them."""
        if part.shape[1] == 1:
            rates, prices = self(np.hstack([part, np.zeros_like(part)]), number)
            return rates, prices[:, :1]
        low, high = np.zeros(len(number)), np.ones(len(number))
        ahead_low, ahead_high = self._ahead(part, number, low), self._ahead(part, number, high)
        for _ in range(STEPS):
            middle = (low + high) / 2
            more = self._ahead(part, number, middle) > 0
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        w = np.where(ahead_low <= 0, 0.0, np.where(ahead_high >= 0, 1.0, (low + high) / 2))
        one = self._one(part, w)
        rates = np.where(number > 0, number * np.where(np.isfinite(one), one, 0.0), 0.0)
        used = (rates @ part).max(axis=1)
        size = np.where(used > 0, used, 1.0)
        return rates / size[:, None], np.column_stack([w, 1 - w]) * (size**self.alpha)[:, None]

    def _one(self, part: Floats, w: Floats) -> Floats:
        """(S, K) rates of one transaction at the prices (w, 1 - w)."""
        cost = w[:, None] * part[:, 0] + (1 - w)[:, None] * part[:, 1]
        with np.errstate(divide="ignore"):
            found: Floats = cost ** (-1 / self.alpha)
        return found

    def _ahead(self, part: Floats, number: Floats, w: Floats) -> Floats:
        """(S,) use of the first resource less that of the second; infinite where a class is free.

        A class that costs nothing uses what it does need without bound.
        """
        one = self._one(part, w)
        apart = part[:, 0] - part[:, 1]
        with np.errstate(invalid="ignore"):
            each = np.where((number > 0) & (apart != 0), number * one * apart, 0.0)
            found: Floats = each.sum(axis=1)
        return found


def off(part: Floats, number: Floats, rates: Floats, price: Floats, alpha: float) -> Floats:
    """(S,) how far a state is from alpha-fairness at these prices (S, R), any at all.

    Everybody's rate is cost^(-1/alpha), and what is not full costs nothing.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    cost = price @ part.T
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(there, cost ** (-1 / alpha), 1.0)
        apart = np.where(there, np.abs(one / wanted - 1.0), 0.0).max(axis=1)
    money = price.sum(axis=1)
    unfilled = (price * np.abs(1.0 - rates @ part)).sum(axis=1) / np.where(money > 0, money, 1.0)
    wrong: Floats = np.maximum(apart, unfilled)
    return np.where(there.any(axis=1), np.maximum(wrong, overrun(part, rates)), 0.0)
