r"""What every user takes at given prices if it may not go far from what it had.

With y the shares it had, pair by pair, user n takes, for the price p that makes both sums equal,

.. math:: z_h = \max(0, y_h + e_h (p_n - c_h)), \qquad
          \sum_h z_h = \min((W_n / p_n)^{1/\alpha}, L_n), \qquad
          e_h = \max(y_h, \eta X_n) / (\delta p_n^0)

(c the cost of a unit of share, e fixed). This is the answer of the user to max W g(s) - c z less
sum (z_h - y_h)^2 / (2 e_h): its demand at the prices, made a function by the last term. Since e is
large, p - c is carried along as what it was and what it changes by, so that it is known to its own
digits and not to those of prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.interior.layout import Layout

CLOSE = 1e-8
"""relative step of a price after which one linear correction leaves only rounding"""
CROSSED = 1e-13
"""share on pairs that a correction brings to an end, or into use, that is rounding"""
PASSES = 60


@dataclass(frozen=True)
class Taken:
    """What users take at prices of rows.

    Parameters
    ----------
    z : shares over pairs. held : z > 0. gain : p - c over pairs. p : (N,). x : (N,) sum of z.
    slope : (N,) -dx/dp of the right-hand sum, 0 at the limit. mass : (N,) sum of e over held pairs.
    """

    z: Floats
    held: Bools
    gain: Floats
    p: Floats
    x: Floats
    slope: Floats
    mass: Floats


@dataclass(frozen=True)
class UsersAgain:
    """The users' side of one proximal problem; W (N,), y and e over pairs, limit (N,) in shares;
    gain over pairs and p (N,) are those at which the problem begins."""

    layout: Layout
    alpha: float
    w: Floats
    limit: Floats
    y: Floats
    e: Floats
    gain: Floats
    p: Floats

    def take(self, dearer: Floats, guess: Floats) -> Taken:
        """What users take where rows (I, R) cost so much more, from a guess of the rise of p (N,).

        Newton on each user's one equation, between bounds, since both sides are monotone in p.
        """
        layout = self.layout
        gain = self.gain - layout.cost(dearer)
        base = self.y + self.e * gain
        rise = guess
        low, high = -self.p, np.full_like(rise, np.inf)
        for _ in range(PASSES):
            z = self.e * layout.spread(rise)
            z += base
            held = z > 0
            np.maximum(z, 0.0, out=z)
            mass = layout.of_user(self.e * held)
            p = self.p + rise
            free = (self.w / p) ** (1 / self.alpha)
            at = free > self.limit
            slope = np.where(at, 0.0, free / (self.alpha * p))
            over = layout.of_user(z) - np.where(at, self.limit, free)
            step = over / (mass + slope)
            settled = np.abs(step / p) < CLOSE
            if settled.all():
                rise = rise - step
                z = self.e * layout.spread(rise)
                z += base
                crossed = np.where((z > 0) == held, 0.0, z)
                if float(np.abs(crossed).max()) <= CROSSED:
                    break
                continue
            low, high = np.where(over < 0, rise, low), np.where(over > 0, rise, high)
            further = rise - step
            # a user whose price is found stays, also where its last step is lost in rounding
            outside = ~((further > low) & (further < high) | settled)
            middle = np.where(np.isfinite(high), 0.5 * (low + high), rise + p)
            rise = np.where(outside, middle, further)
        np.maximum(z, 0.0, out=z)
        x = layout.of_user(z)
        return Taken(z, held, gain + layout.spread(rise), self.p + rise, x, slope, mass)
