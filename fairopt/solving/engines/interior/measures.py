"""How far a point of the interior method is from its conditions, and what its prices prove."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines import units
from fairopt.solving.engines.interior.layout import layout_of
from fairopt.solving.engines.interior.marginal import FAR, MarginalValue
from fairopt.solving.engines.interior.state import InteriorState, Residual, log_sum, replace
from fairopt.solving.engines.interior.timed import TimedLimits
from fairopt.solving.engines.point import Question


class Measures:
    """One problem in the units of the method, and the functions of a state in it.

    `marginal` is the relation of marginal values and shares at the present exponent.
    """

    marginal: MarginalValue

    def __init__(self, question: Question) -> None:
        self.question, self.target = question, question.alpha
        self.unit = units.alone(question)
        self.layout = layout = layout_of(question, self.unit)
        limit = question.instance.limit * units.best(question) / self.unit
        self.limited = np.isfinite(limit)
        self.limit = np.where(self.limited, limit, 1.0)
        self.timed = TimedLimits.of(question, layout, self.limited)
        self.far: Floats | float = FAR
        self.live = layout.rows
        self.degree = layout.of_user(np.ones(layout.shape) * layout.mask)
        due = question.log_w / self.target if self.target > 0 else np.zeros_like(self.unit)
        # shares below this count as zero, as in the certificate
        self.floor = 1e-10 * np.exp(due - log_sum(due))

    def _row_money(self, now: InteriorState, money: Floats) -> Floats:
        """(I, R) M, the harmonic mean by use of the money of those who use the row."""
        over = self.layout.used(now.y / self.layout.spread(money))
        use = self.layout.used(now.y)
        return np.where(self.live, use / np.where(over > 0, over, 1.0), 0.0)

    def _complementarity(self, now: InteriorState, money: Floats, rows: Floats) -> Floats:
        """Complementary products, each relative to the money of its user or row."""
        live = self.live
        parts = [self.layout.of_user(now.y * now.nu) / money, (now.s * now.lam)[live] / rows[live]]
        if self.limited.any():
            parts.append((now.omega * now.l / money)[self.limited])
        return np.concatenate(parts)

    def _cost(self, lam: Floats, omega: Floats) -> Floats:
        """Over pairs: a unit of share, beyond what it costs of the limit on the best server."""
        cost = self.layout.cost(lam)
        return cost if self.timed is None else cost + self.timed.of_limits(omega)

    def _room(self, y: Floats, x: Floats) -> Floats:
        """(N,) what is left of the limits."""
        return self.limit - (x if self.timed is None else x + self.timed.used(y))

    def _price(self, now: InteriorState) -> Floats:
        return now.p if self.timed is None else self.timed.price(now)

    def _of_limit(self, now: InteriorState) -> Floats | float:
        """(N,) the part of marginal values that limits explain, where prices do not."""
        return 0.0 if self.timed is None else np.where(self.timed.mixed, now.omega, 0.0)

    def _classified(self, now: InteriorState) -> tuple[InteriorState, Floats]:
        """The state with p raised for users no longer linear, and the price (N,) of a share."""
        price = self._price(now)
        if self.timed is not None:
            self.far = self.marginal.far = self.timed.far(now.lam, price)
        raised = self.marginal.classify(price)
        return replace(now, p=np.where(raised == price, now.p, raised)), raised

    def _residual(self, now: InteriorState) -> Residual:
        layout, live = self.layout, self.live
        cost, p = self._cost(now.lam, now.omega), layout.spread(now.p)
        dual = (cost - p - now.nu) * layout.mask
        primal = np.where(live, 1 - layout.used(now.y) - now.s, 0.0)
        limit = np.where(self.limited, self._room(now.y, now.x) - now.l, 0.0)
        v = now.v
        miss, slope, curve = self.marginal.relation(v, now.x, now.e)
        size = np.where(self.marginal.linear, v, now.x if self.marginal.steep else v)
        largest = (
            float(np.max(np.abs(dual) / (np.abs(p) + cost + 1e-300))),
            float(np.max(np.abs(miss) / size)),
            float(np.abs(primal).max()),
        )
        return Residual(dual, primal, limit, miss, slope, curve, cost, largest)

    def _proof(self, now: InteriorState, residual: Residual) -> float:
        """The largest error of a user at these prices, as in the certificate.

        For alpha = 0 the gap: by how much the price of all resources exceeds the objective.
        """
        layout, marginal, x = self.layout, self.marginal, now.x
        off = max(residual.largest[2], float(np.max(np.abs(residual.limit) / self.limit)))
        if marginal.alpha == 0:
            total = float(marginal.ceiling @ x)
            cost = float(now.lam.sum() + now.omega @ self.limit)
            return abs(cost - total) / total + off
        q = layout.least(residual.cost)
        above = layout.of_user(now.y * (residual.cost - layout.spread(q)) * layout.mask)
        idle = layout.of_user(now.y * layout.cost(now.lam * now.s))
        held = np.maximum(x, self.floor)
        lost = (above + idle + now.omega * now.l) / (marginal.base(q) * held)
        log_due = (marginal.log_w - np.log(np.maximum(q + now.omega, 1e-300))) / marginal.alpha
        due = np.where(marginal.linear, self.limit, np.exp(log_due))
        return float((np.abs(held / np.maximum(due, self.floor) - 1) + lost).max()) + off
