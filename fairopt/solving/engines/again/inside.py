r"""Prices and shares after a change by an interior path that begins near the last ones.

Where a change makes many users come to servers or leave them, Newton's method on the dual of a
proximal problem (`proximal`) has to pass as many corners. A path inside of what is allowed does
not see them: with d = c - p what a pair costs above its user's price, and s the room of rows,

.. math:: B z + s = 1, \quad \sum_{h \in n} z_h = (W_n / p_n)^{1/\alpha}, \quad d = B'\lambda - p,
          \quad z d = \mu, \quad s \lambda = \mu,

mu falling to 0 by Mehrotra's steps. The system of a step is that of `curvature`, with z / d in the
place of e. It is for few pairs: those of servers of the same price taken as one (`same_prices`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt import clock
from fairopt.instance import Floats
from fairopt.solving.engines.again.curvature import Curvature
from fairopt.solving.engines.again.users import Taken
from fairopt.solving.engines.interior.layout import Layout

FIRST = 1e-3
"""part of a share, a row and a price that everything has at least to begin with"""
CLOSE, NEARLY = 1e-8, 1e-5
"""what is left at the end, relative to shares, rows, prices and all money; the same where no step
leads nearer"""
STEPS, STALLS = 40, 3
"""most steps, and of those that lead no nearer where it is near"""
SQUARES = 10.0
"""a step makes up for products of the last one up to so many times the mean"""
NEAREST = 1e-4
"""part of the way to the border that a step leaves at least"""


@dataclass(frozen=True)
class InsidePoint:
    """A point: z and dear over pairs, room and money of rows (I, R), p (N,); or a step from one."""

    z: Floats
    dear: Floats
    room: Floats
    money: Floats
    p: Floats

    def moved(self, step: InsidePoint, mine: float, paid: float) -> InsidePoint:
        """After a step of these lengths of shares and room, and of prices."""
        return InsidePoint(
            self.z + mine * step.z,
            self.dear + paid * step.dear,
            self.room + mine * step.room,
            self.money + paid * step.money,
            self.p + paid * step.p,
        )

    def lengths(self, step: InsidePoint) -> tuple[float, float]:
        """How far shares and room, and prices, may go before one is 0, at most 1."""
        mine = max(float((-step.z / self.z).max()), float((-step.room / self.room).max()), 1.0)
        paid = max(
            float((-step.dear / self.dear).max()),
            float((-step.money / self.money).max()),
            float((-step.p / self.p).max()),
            1.0,
        )
        return 1.0 / mine, 1.0 / paid


class Inside:
    """The path.

    Parameters
    ----------
    w : (N,) W in the units of the layout. z, money : where it begins.
    """

    def __init__(self, layout: Layout, alpha: float, w: Floats, z: Floats, money: Floats) -> None:
        self.layout, self.alpha, self.w, self.live = layout, alpha, w, layout.rows
        self.curvature = Curvature(layout)
        z = np.maximum(z, FIRST * layout.spread(layout.of_user(z)))
        least = FIRST * float(money.sum()) / max(int(self.live.sum()), 1)
        money = np.where(self.live, np.maximum(money, least), 1.0)
        cost = layout.cost(np.where(self.live, money, 0.0))
        p = layout.least(cost)
        dear = np.maximum(cost - layout.spread(p), 10 * FIRST * layout.spread(p))
        room = np.where(self.live, np.maximum(1.0 - layout.used(z), FIRST), 1.0)
        self.point = InsidePoint(z, dear, room, money, p)
        self.count = z.size + int(self.live.sum())
        self.steps = 0

    def end(self) -> tuple[Floats, Floats] | None:
        """Shares over pairs and money of rows at the end of the path; None if it is not reached."""
        best, least, stalls = self.point, np.inf, 0
        for _ in clock.steps(STEPS):
            now = self.point
            x = (self.w / now.p) ** (1 / self.alpha)
            left = self._missing(now, x)
            paid = float((now.z * now.dear).sum()) + float((now.room * now.money)[self.live].sum())
            off = max(
                paid / float((now.p * x).sum()),
                float(np.abs(left.room).max()),
                float(np.abs(left.p / x).max()),
                float(np.abs(left.dear / self.layout.spread(now.p)).max()),
            )
            stalls = 0 if off < least or least > NEARLY else stalls + 1
            if off < least:
                best, least = now, off
            if (
                stalls > STALLS
                or off <= CLOSE
                or not self._stepped(x, left, off, paid / self.count)
            ):
                break
            self.steps += 1
        return self._cleared(best) if least <= NEARLY else None

    def _cleared(self, now: InsidePoint) -> tuple[Floats, Floats]:
        """Shares and money without what is smaller, as a part of its like, than what vanishes with
        it."""
        share = self.layout.spread(self.layout.of_user(now.z))
        z = np.where(now.z / share > now.dear / self.layout.spread(now.p), now.z, 0.0)
        mean = float(now.money[self.live].sum()) / int(self.live.sum())
        return z, np.where(self.live & (now.money > now.room * mean), now.money, 0.0)

    def _missing(self, now: InsidePoint, x: Floats) -> InsidePoint:
        """What rows, users and prices of pairs miss."""
        layout, none = self.layout, np.zeros(0)
        cost = layout.cost(np.where(self.live, now.money, 0.0))
        rows = np.where(self.live, 1.0 - layout.used(now.z) - now.room, 0.0)
        dear = cost - layout.spread(now.p) - now.dear
        return InsidePoint(none, dear, rows, none, x - layout.of_user(now.z))

    def _stepped(self, x: Floats, left: InsidePoint, off: float, mean: float) -> bool:
        """Make a step, first as if all products were to vanish at once; whether it could be."""
        now, live = self.point, self.live
        theta, slope = now.z / now.dear, x / (self.alpha * now.p)
        mass = self.layout.of_user(theta)
        every = np.ones(theta.shape, dtype=bool)
        taken = Taken(now.z, every, now.dear, now.p, x, slope, mass)
        if not self.curvature.update(taken, theta, now.room / now.money):
            return False

        def direction(pairs: Floats, rows: Floats) -> InsidePoint:
            """The step by which products of pairs and rows change by this."""
            more = pairs / now.dear - theta * left.dear
            first = (left.p - self.layout.of_user(more)) / (mass + slope)
            wanted = self.layout.used(more + theta * self.layout.spread(first)) - left.room
            money = self.curvature.solve(wanted + rows / now.money)
            cost = self.layout.cost(money)
            p = first + self.layout.of_user(theta * cost) / (mass + slope)
            z = more - theta * (cost - self.layout.spread(p))
            room = np.where(live, (rows - now.room * money) / now.money, 0.0)
            return InsidePoint(z, (pairs - now.dear * z) / now.z, room, money, p)

        pairs, rows = now.z * now.dear, now.room * now.money
        aim = direction(-pairs, -rows)
        there = now.moved(aim, *now.lengths(aim))
        rest = float((there.z * there.dear).sum()) + float((there.room * there.money)[live].sum())
        centre = mean * min(max(rest / self.count / mean, 0.0) ** 3, 1.0)
        most = SQUARES * mean
        step = direction(
            centre - pairs - np.clip(aim.z * aim.dear, -most, most),
            centre - rows - np.clip(aim.room * aim.money, -most, most),
        )
        short = 1.0 - min(0.1, max(off, NEAREST))
        mine, paid = (min(1.0, short * each) for each in now.lengths(step))
        self.point = now.moved(step, mine, paid)
        return True
