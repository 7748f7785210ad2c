r"""The marginal value of share, v = W X^(-alpha), as a relation that Newton's method can use.

v is a variable of its own for every user. It is tied to the share X by a relation with a slack
e >= 0 that goes to 0, in the less curved of two forms:

.. math:: \text{gentle } (\alpha < 2.5): \quad v - W X^{-\alpha} = e, \qquad
          \text{steep}: \quad X - (W / v)^{1/\alpha} = e.

A user whose marginal value at its limit is far above any price that it pays is *linear*: its v is a
constant, and its limit stops it. For alpha = 0 all users are linear. W is kept in logarithms; a
common factor of all W is free.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats

STEEP = 2.5
FAR = 30.0
"""a user is linear if its marginal value at its limit is more than this many times its price"""


class MarginalValue:
    """The relation of v and X for all users at one exponent.

    Parameters
    ----------
    alpha : exponent now. log_w : (N,) log W for shares in each user's own unit.
    limit : (N,) most share, 1 where there is none; limited : (N,) bool.
    far : (N,) from how many times its price a user is linear.
    """

    def __init__(
        self, alpha: float, log_w: Floats, limit: Floats, limited: Bools, far: Floats | float = FAR
    ) -> None:
        self.alpha, self.log_w, self.far = alpha, log_w, far
        self.limit, self.limited = limit, limited
        self.steep = alpha >= STEEP
        self.linear = np.full(len(log_w), alpha == 0)
        self.ceiling = np.exp(np.minimum(log_w, 690)) if alpha == 0 else np.ones(len(log_w))

    def base(self, p: Floats) -> Floats:
        """(N,) price for a user's money: its own, or part of the constant v if it is linear."""
        if self.alpha == 0:
            return self.ceiling
        return np.where(self.linear, np.maximum(p, self.ceiling / self.far), p)

    def money(self, p: Floats, x: Floats, of_limit: Floats | float = 0.0) -> Floats:
        """(N,) what each user pays, at least a tenth of v X while its price is still too low.

        For alpha = 0 its share counts as at least a part of what it could have alone.
        """
        if self.alpha == 0:
            return self.ceiling * np.maximum(x, 1e-3)
        base = self.base(p)
        if not self.steep:
            curve = np.exp(np.minimum(self.log_w - self.alpha * np.log(x), 690))
            base = np.where(self.linear, base, np.maximum(base, 0.1 * (curve - of_limit)))
        return np.maximum(base * np.maximum(x, 1e-300), 1e-280)

    def classify(self, p: Floats) -> Floats:
        """Decide again which users are linear; returns p, raised for those no longer linear."""
        if self.alpha == 0:
            return p
        top = self.log_w - self.alpha * np.log(self.limit)
        far = self.limited & (top > np.log(self.base(p)) + np.log(self.far))
        left = self.linear & ~far
        p = np.where(left, np.maximum(p, 0.1 * self.ceiling / self.far), p)
        keep = far & self.linear & (self.ceiling > 3 * p)
        self.ceiling = np.where(keep, self.ceiling, self.far * p)
        self.linear = far
        return p

    def level(self, v: Floats, x: Floats, money: Floats) -> None:
        """Set the common factor of W so that the users' errors, weighted by money, cancel."""
        money = np.where(self.linear, 0.0, money)
        if self.alpha == 0 or not money.any():
            return
        off = np.log(np.where(self.linear, 1.0, v)) + self.alpha * np.log(x) - self.log_w
        shift = float(money @ off / money.sum())
        if abs(shift) > 1e-3:
            self.log_w = self.log_w + shift

    def relation(self, v: Floats, x: Floats, e: Floats) -> tuple[Floats, Floats, Floats]:
        """(miss, slope, curve): dv = intercept(miss, ..) - slope dx; curve is W X^-a or (W/v)^1/a.

        `miss` is the error of the relation, in units of v (gentle, linear) or of x (steep).
        """
        if self.alpha == 0:
            zero = np.zeros_like(v)
            return self.ceiling - v, zero, zero
        if self.steep:
            log_curve = (self.log_w - np.log(np.maximum(v, 1e-300))) / self.alpha
            curve = np.exp(np.minimum(log_curve, 690))
            miss, slope = curve + e - x, v / (curve / self.alpha + e)
        else:
            curve = np.exp(np.minimum(self.log_w - self.alpha * np.log(x), 690))
            miss, slope = curve + e - v, (e + self.alpha * curve) / x
        miss = np.where(self.linear, self.ceiling - v, miss)
        return miss, np.where(self.linear, 0.0, slope), curve

    def partner(self, v: Floats, x: Floats) -> Floats:
        """(N,) the variable whose product with e is to vanish."""
        return v if self.steep else x

    def intercept(
        self, miss: Floats, slope: Floats, target: Floats, partner: Floats, bend: Floats | float
    ) -> Floats:
        """(N,) dv at dx = 0, when e times its partner changes by `target` and the curve bends."""
        moved = miss + target / partner + bend
        if self.steep:
            moved = moved * slope
        return np.where(self.linear, miss, moved)

    def slack(self, e: Floats, target: Floats, partner: Floats, dx: Floats, dv: Floats) -> Floats:
        """(N,) de that goes with dx and dv."""
        found = (target - e * (dv if self.steep else dx)) / partner
        return np.where(self.linear, 0.0, found)

    def bend(self, curve: Floats, v: Floats, x: Floats, dv: Floats, dx: Floats) -> Floats | float:
        """(N,) how far the curve is above its tangent at the predicted change, at most half of it.

        It is taken where the curve itself has that change; at the point predicted by the tangent it
        would be too large.
        """
        if self.alpha == 0:
            return 0.0
        power, change = (1 / self.alpha, dv / v) if self.steep else (self.alpha, dx / x)
        flat = np.clip(1 - power * change, 0.2, 5.0)
        c = np.clip(np.expm1(-np.log(flat) / power), -0.9, 10.0)
        above = curve * (np.expm1(-power * np.log1p(c)) + power * c)
        return np.where(self.linear, 0.0, np.minimum(above, 0.5 * curve))
