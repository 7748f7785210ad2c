r"""What every user takes at given prices if it may not go far from what it had.

With y the shares it had, pair by pair, user n takes, for the price p that makes both sums equal,

.. math:: z_h = \max(0, y_h + e_h (p_n - c_h)), \qquad
          \sum_h z_h = \min((W_n / p_n)^{1/\alpha}, L_n), \qquad
          e_h = \max(y_h, \eta X_n) / (\delta p_n^0)

(c the cost of a unit of share, e fixed). This is the answer of the user to max W g(s) - c z less
sum (z_h - y_h)^2 / (2 e_h): its demand at the prices, made a function by the last term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.interior.layout import Layout

CLOSE = 1e-8
"""relative step of a price after which one linear correction leaves only rounding"""
PASSES = 60


@dataclass(frozen=True)
class Taken:
    """What users take at prices of rows.

    Parameters
    ----------
    z : shares over pairs. held : z > 0. cost : over pairs. p : (N,). x : (N,) sum of z.
    slope : (N,) -dx/dp of the right-hand sum, 0 at the limit. mass : (N,) sum of e over held pairs.
    """

    z: Floats
    held: Bools
    cost: Floats
    p: Floats
    x: Floats
    slope: Floats
    mass: Floats


@dataclass(frozen=True)
class UsersAgain:
    """The users' side of one proximal problem; W (N,), y and e over pairs, limit (N,) in shares."""

    layout: Layout
    alpha: float
    w: Floats
    limit: Floats
    y: Floats
    e: Floats

    def take(self, money: Floats, guess: Floats) -> Taken:
        """What users take at the money of rows (I, R), from a guess of their prices p (N,).

        Newton on each user's one equation, between bounds, since both sides are monotone in p.
        """
        layout = self.layout
        cost = layout.cost(money)
        base = self.y - self.e * cost
        p = guess
        low, high = np.zeros_like(p), np.full_like(p, np.inf)
        for _ in range(PASSES):
            z = self.e * layout.spread(p)
            z += base
            held = z > 0
            np.maximum(z, 0.0, out=z)
            mass = layout.of_user(self.e * held)
            free = (self.w / p) ** (1 / self.alpha)
            at = free > self.limit
            slope = np.where(at, 0.0, free / (self.alpha * p))
            over = layout.of_user(z) - np.where(at, self.limit, free)
            step = over / (mass + slope)
            settled = np.abs(step / p) < CLOSE
            if settled.all():
                break
            low, high = np.where(over < 0, p, low), np.where(over > 0, p, high)
            next_p = p - step
            # a user whose price is found stays, also where its last step is lost in rounding
            outside = ~((next_p > low) & (next_p < high) | settled)
            middle = np.where(np.isfinite(high), 0.5 * (low + high), 2.0 * p)
            p = np.where(outside, middle, next_p)
        p = p - step
        z -= self.e * layout.spread(step) * held
        np.maximum(z, 0.0, out=z)
        return Taken(z, held, cost, p, layout.of_user(z), slope, mass)
