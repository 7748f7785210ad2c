r"""The Newton step where limits count tasks and scores differ by server: jobs on kinds of machine.

A unit of share costs a user more of its limit where its score is low: 1 on its best server,
g_h = best / score >= 1 on pair h. The limit is then a second sum over the user's pairs, and it is
eliminated like the first. With H the heat of the share, G that of the limit (its price over its
room) and t the limit used, the pairs of `interior.schur` become

.. math::
   \Delta y_h = z_h - \theta_h (\Delta c_h + H \Delta x - a + g_h \Delta\omega), \qquad
   \Delta\omega = b + G \Delta t, \qquad \Delta x = \sum_h \Delta y_h, \quad
   \Delta t = \sum_h g_h \Delta y_h.

Sums are taken about the user's mean of g (by theta): with S = \sum \theta, the variance sum
V = \sum \theta (g - \bar g)^2, and X, T the sums of z - \theta \Delta c and of (g - \bar g) times
it,

.. math::
   det = (1 + H S)(1 + G V) + G \bar g^2 S, \qquad \Delta y_h = z_h - \theta_h \Delta c_h
       + \theta_h (A + B (g_h - \bar g)),

   A = \frac{(1 + G V)(a - H X) - \bar g\,(b + G (T + \bar g X))}{det}, \qquad
   B = -\Delta\omega = -\frac{(1 + H S)(b + G T) + G \bar g (X + S a)}{det}

in which nothing cancels however large H and G are. Two vectors a user, not one, are taken from the
matrix of the prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines import units
from fairopt.solving.engines.interior.layout import Layout
from fairopt.solving.engines.interior.marginal import FAR
from fairopt.solving.engines.interior.schur import SchurSystem, beside
from fairopt.solving.engines.interior.state import InteriorState
from fairopt.solving.engines.point import Question


@dataclass(frozen=True)
class TimedLimits:
    """Limits that count tasks, where a user's share per task differs by server.

    Parameters
    ----------
    more : over pairs, g - 1: what a unit of share costs of the limit, beyond 1 on the best server;
        0 without a limit.
    mixed : (N,) users for whom it is not 0 on every server.
    """

    layout: Layout
    more: Floats
    mixed: Bools

    @classmethod
    def of(cls, question: Question, layout: Layout, limited: Bools) -> TimedLimits | None:
        """None where no user has both a limit and scores that differ."""
        n, _ = question.pairs
        if not limited.any():
            return None
        more = np.where(limited[n], units.best(question)[n] / question.share_per_task - 1.0, 0.0)
        if not more.any():
            return None
        more = layout.from_pairs(more)
        return cls(layout, more, layout.of_user(more) > 0)

    def of_limits(self, omega: Floats) -> Floats:
        """Over pairs: what a unit of share costs for the limit, beyond its best server."""
        return self.layout.spread(omega) * self.more

    def used(self, y: Floats) -> Floats:
        """(N,) what shares y cost of the limits, beyond the shares themselves."""
        return self.layout.of_user(y * self.more)

    def price(self, now: InteriorState) -> Floats:
        """(N,) the price p of a unit of share: the cheapest, where p itself may be below 0."""
        cost = self.layout.cost(now.lam) + self.of_limits(now.omega)
        return np.where(self.mixed, self.layout.least(cost), now.p)

    def far(self, lam: Floats, price: Floats) -> Floats:
        """(N,) from how many times its price a user is linear (`marginal`).

        So much that the price of its limit outweighs whatever cheaper resources could save it on
        servers of lower scores: it is only on the best.
        """
        off = self.more > 0
        cost = self.layout.cost(lam)
        best = self.layout.spread(self.layout.least(np.where(off, np.inf, cost)))
        saved = np.where(off, (best - cost) / np.where(off, self.more, 1.0), 0.0)
        need = np.maximum(-self.layout.least(-saved), 0.0)
        return FAR * (1.0 + need / price)


class TimedStep(NamedTuple):
    """Changes: pairs y; shares x, limits used t, prices p and omega (N,); rows; all costs."""

    y: Floats
    x: Floats
    t: Floats
    p: Floats
    omega: Floats
    lam: Floats
    cost: Floats


class Timed(SchurSystem):
    """The factored matrix of a step with limits that count tasks.

    Parameters
    ----------
    theta, rho, live : as in `SchurSystem`. heat : (N,) H. held : (N,) G, 0 without a limit.
    limits : what a unit of share costs of the limit.

    Raises
    ------
    ArithmeticError : the matrix is not positive definite in floating point.
    """

    def __init__(
        self,
        layout: Layout,
        theta: Floats,
        heat: Floats,
        held: Floats,
        limits: TimedLimits,
        rho: Floats,
        live: Bools,
    ) -> None:
        sums = layout.of_user(theta)
        extra = limits.used(theta) / sums
        self.held, self.limits, self.mean = held, limits, 1.0 + extra
        self.apart = limits.more - layout.spread(extra)
        self.spread_sum = layout.of_user(theta * self.apart**2)
        self.stiff = 1.0 + heat * sums
        self.det = self.stiff * (1.0 + held * self.spread_sum) + held * self.mean**2 * sums
        super().__init__(layout, theta, heat, rho, live)

    def _coupled(self) -> Any:
        """Both vectors of each user, orthogonal in the inner product of its own conditions."""
        first = super()._coupled()
        root = np.sqrt(self.held * self.stiff / self.det)
        weight = self.apart + self.layout.spread(self.mean / self.stiff)
        return beside(first, self.layout.coupling(self.theta * weight, self.inverse, root))

    def limited(self, z: Floats, a: Floats, at: Floats, b: Floats) -> TimedStep:
        """The step, refined once on the equations before elimination.

        Parameters
        ----------
        z : over pairs. a : (N,) marginal value, at : (N,) price of the limit where y stays.
        b : (I, R) by how much the use of rows is to grow.
        """
        dy, _, _ = self._users(z, a, at)
        dlam = self._prices(np.where(self.live, self.layout.used(dy) - b, 0.0))
        dy, _, _ = self._users(z - self.theta * self.layout.cost(dlam), a, at)
        miss = self.layout.used(dy) - self.rho * dlam - b
        dlam = dlam + self._prices(np.where(self.live, miss, 0.0))
        dcost = self.layout.cost(dlam)
        dy, level, tilt = self._users(z - self.theta * dcost, a, at)
        dx = self.layout.of_user(dy)
        dt = self.mean * dx + self.layout.of_user(self.apart * dy)
        dcost = dcost - self.limits.of_limits(tilt)
        return TimedStep(dy, dx, dt, level + (1.0 - self.mean) * tilt, -tilt, dlam, dcost)

    def _users(self, z: Floats, a: Floats, at: Floats) -> tuple[Floats, Floats, Floats]:
        """dy, A and B at given prices."""
        held, mean, stiff, det = self.held, self.mean, self.stiff, self.det
        x, t = self.layout.of_user(z), self.layout.of_user(self.apart * z)
        level = (1 + held * self.spread_sum) * (a - self.heat * x)
        level = (level - mean * (at + held * (t + mean * x))) / det
        tilt = -(stiff * (at + held * t) + held * mean * (x + self.sums * a)) / det
        spread = self.layout.spread
        dy = z + self.theta * (spread(level) + spread(tilt) * self.apart)
        return dy, level, tilt
