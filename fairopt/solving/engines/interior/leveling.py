r"""One max-min level by an interior method: the largest t that all users can have at once.

In units of what each user could have alone, with w_n the weight in these units,

.. math:: \max t, \quad X_n = \sum_h y_h \ge w_n t, \quad B y + s = 1, \quad X_n + l_n = L_n

It is the method of `interior.method`, but the marginal value v is tied to the level instead of the
share: v_n (X_n - w_n t) = 0 with sum w_n v_n = 1, which adds one column to the same system. The
multipliers are strictly complementary. So they show ALL users that this level stops, and all rows
that stop them: v_n w_n > (X_n - w_n t) / (w_n t) and lambda_f > s_f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt import clock
from fairopt.instance import Bools, Floats
from fairopt.solving.engines import units
from fairopt.solving.engines.interior.layout import layout_of
from fairopt.solving.engines.interior.schur import SchurSystem
from fairopt.solving.engines.point import Question

MOST = 100
CLOSE = 1e-12
"""gap, relative to t, at which it stops"""
ROUGH = 1e-8
"""a level with at most this gap is kept if rounding ended the method: it shows what stops users"""
UNSETTLED = 1e-4
"""largest infeasibility of such a level; tasks and prices are corrected afterwards"""
STALLED = 12
"""iterations in which the gap did not halve that end the method"""
SETTLE = 2
"""iterations spent on filling rows exactly, once prices are right"""
PRICED = 1e-8
"""part of all money above which a row stops somebody"""
SURE = 1e-3
"""a condition is decided if multiplier and slack differ by at least this factor"""


_Step = tuple[Floats, ...]
"""a step of y, nu, s, lam, t, d, l, omega, v; or residuals, or products, in the order used"""


@dataclass(frozen=True)
class Level:
    """A level: its value t, tasks x (P,), money of rows (I, R) and which of them stop somebody.

    `stopped` (N,) : whether a user cannot rise; `blocked` : by full rows alone. `clear` : whether
    every multiplier clearly differs from its slack. `limits` : (N,) money of limits. Rows that stop
    no user may have a price within rounding.
    """

    t: float
    x: Floats
    rows: Floats
    full: Bools
    limits: Floats
    stopped: Bools
    blocked: Bools
    clear: bool


def highest_level(
    question: Question, x: Floats | None = None, kept: Floats | None = None
) -> Level | None:
    """The level of all users of a question, whose log_w is the logarithm of their weights.

    x : (P,), tasks to begin at; all their users can still rise. Users with a share `kept` (N,)
    above 0 have at least that and rise no more. None if the method did not converge.
    """
    with np.errstate(all="ignore"):
        return _Leveling(question, x, kept).run()


class _Leveling:
    def __init__(self, question: Question, x: Floats | None, kept: Floats | None) -> None:
        self.question = question
        inst = question.instance
        self.unit = units.alone(question)
        self.layout = layout = layout_of(question, self.unit)
        self.live = layout.rows
        limit = inst.limit * units.best(question) / self.unit
        self.base = np.zeros(len(limit)) if kept is None else kept / self.unit
        self.capped = self.base > 0
        self.limited = np.isfinite(limit)
        self.limit = np.where(self.limited, limit, 1.0)
        log_w = question.log_w - np.log(self.unit)
        w = np.exp(log_w - log_w[~self.capped].max())
        self.w = w = np.where(self.capped, 0.0, w)
        n, i = question.pairs
        self.scale = question.score[n, i] / self.unit[n]
        begin = self._shared(np.where(self.capped, self.base, w)) if x is None else x * self.scale
        self.y = layout.from_pairs(np.maximum(begin, 0.0))
        self._begin()

    def _shared(self, w: Floats) -> Floats:
        """Every server divided by what weights would use of it, half full."""
        n, i = self.question.pairs
        inst = self.question.instance
        whole = inst.alone[n, i] * self.scale
        part = w[n] / np.bincount(i, w[n] / whole, inst.shape[1])[i]
        y = 0.5 * part
        total = np.bincount(n, y, len(w))
        return y * np.where(self.limited, np.minimum(1.0, 0.5 * self.limit / total), 1.0)[n]

    def _begin(self) -> None:
        layout, live, w = self.layout, self.live, self.w
        x = layout.of_user(self.y)
        # move to the interior: no variable at its bound
        least = 1e-3 * layout.spread(x / layout.of_user(np.ones(layout.shape) * layout.mask))
        self.y = np.maximum(self.y, least) * layout.mask
        use = layout.used(self.y)
        self.y *= min(1.0, 0.9 / float(use.max()))
        x = layout.of_user(self.y)
        self.x = x
        self.s = np.where(live, 1.0 - layout.used(self.y), 1.0)
        self.t = 0.5 * float((x[~self.capped] / w[~self.capped]).min())
        self.d = np.maximum(x - w * self.t - self.base, 0.1 * self.base)
        self.l = np.where(self.limited, np.maximum(self.limit - x, 0.1 * self.limit), 1.0)
        users = len(w)
        # every user pays the same, divided among rows by use
        self.v = 1.0 / (users * np.where(self.capped, self.base, w))
        self.omega = np.where(self.limited, 0.1 * self.v, 0.0)
        per_unit = layout.cost(np.where(live, 1.0, 0.0))
        paid = self.y * layout.spread(self.v) / np.where(per_unit > 0, per_unit, 1.0)
        lam = layout.used(paid)
        self.lam = np.where(live, np.maximum(lam, 1e-3 * float(lam.max())), 0.0)
        price = layout.spread(self.v - self.omega)
        cost = layout.cost(self.lam)
        nu = np.maximum(cost - price, 0.3 * np.maximum(np.abs(price), cost))
        self.nu = np.where(layout.mask > 0, nu, 1.0)

    def run(self) -> Level | None:
        layout, w, live, lim = self.layout, self.w, self.live, self.limited
        pairs = int(np.sum(layout.mask > 0)) if isinstance(layout.mask, np.ndarray) else self.y.size
        size = pairs + int(live.sum()) + len(w) + int(lim.sum())
        done, settled, least, stalled = False, 0, np.inf, 0
        for _ in clock.steps(MOST):
            cost = layout.cost(self.lam)
            p = self.v - self.omega
            dual = (cost - layout.spread(p) - self.nu) * layout.mask
            primal = np.where(live, 1.0 - layout.used(self.y) - self.s, 0.0)
            at_limit = np.where(lim, self.limit - self.x - self.l, 0.0)
            over = self.x - w * self.t - self.base - self.d
            short = 1.0 - float(w @ self.v)
            mu = self._products()
            # relative to an equal part of all money, since prices that no user pays may go to 0
            priced = float(np.max(np.abs(dual) * layout.spread(self.x))) * len(w) / self.t
            filled = max(float(np.abs(primal).max()), float(np.max(np.abs(over) / self.x)))
            priced = max(priced, abs(short))
            # further iterations fill rows more exactly, until rounding dominates
            settled += mu <= 10 * CLOSE * self.t and priced <= 1e-9
            # the gap is compared with that of the last halving, not with the smallest since
            stalled += 1
            if mu < 0.5 * least:
                least, stalled = mu, 0
            exact = mu <= CLOSE * self.t and filled <= 1e-12
            if settled and (exact or (settled >= SETTLE and filled <= 1e-8)):
                done = True
                break
            residual = (dual, primal, at_limit, over, np.asarray(short))
            if stalled > STALLED or not self._iterate(residual, mu, size, priced, filled):
                done = mu <= ROUGH * self.t and max(filled, priced) <= UNSETTLED
                break
        return self._level() if done else None

    def _products(self) -> float:
        """All complementary products together: the gap once everything is feasible."""
        return float(
            (self.y * self.nu * self.layout.mask).sum()
            + (self.s * self.lam)[self.live].sum()
            + self.v @ self.d
            + (self.omega * self.l)[self.limited].sum()
        )

    def _iterate(self, residual: _Step, mu: float, size: int, priced: float, filled: float) -> bool:
        live = self.live
        lam = np.where(live, self.lam, 1.0)
        held = np.where(self.limited, self.omega / self.l, 0.0)
        slope = self.v / self.d
        try:
            system = SchurSystem(self.layout, self.y / self.nu, slope + held, self.s / lam, live)
        except ArithmeticError:
            return False
        none = np.zeros_like(self.s)
        column = system.step(np.zeros_like(self.y), -held * self.w, none, self.w)
        products = (self.y * self.nu, self.s * self.lam, self.omega * self.l, self.v * self.d)
        first = self._direction(system, column, residual, tuple(-q for q in products))
        primal, dual = self._lengths(first)
        after = self._after(first, primal, dual)
        sigma = min(1.0, max(after / mu, 0.0) ** 3)
        if max(priced, filled) > mu / self.t:
            sigma = max(sigma, 0.05)
        if mu < 1e-5 * self.t and filled > max(1e-9, mu / self.t):
            sigma = 1.0  # tasks carry rounding errors: centre before the next decrease
        aim = max(sigma * mu, 0.1 * CLOSE * self.t) / size
        dy, dnu, ds, dlam, _, dd, dl, domega, dv = first
        second = (dy * dnu, ds * dlam, dl * domega, dv * dd)
        to = tuple(aim - s - q for s, q in zip(second, products, strict=True))
        to = (to[0] * self.layout.mask, *to[1:])
        step = self._direction(system, column, residual, to)
        primal, dual = self._lengths(step)
        most = max(0.9, 1 - 10 * mu / self.t) if mu > 1e-3 * self.t else 0.995
        primal, dual = min(1.0, most * primal), min(1.0, most * dual)
        if not max(primal, dual) > 1e-6:
            return False
        dy, dnu, ds, dlam, dt, dd, dl, domega, dv = step
        self.y = self.y + primal * dy
        self.x = self.layout.of_user(self.y)
        self.s, self.l, self.d = self.s + primal * ds, self.l + primal * dl, self.d + primal * dd
        self.t += primal * float(dt)
        self.nu, self.lam = self.nu + dual * dnu, self.lam + dual * dlam
        self.omega, self.v = self.omega + dual * domega, self.v + dual * dv
        return True

    def _direction(self, system: SchurSystem, column: _Step, residual: _Step, to: _Step) -> _Step:
        """The Newton step; the change of t, through its own column, restores sum w v = 1."""
        dual, primal, at_limit, over, short = residual
        to_y, to_s, to_l, to_v = to
        live, w = self.live, self.w
        lam = np.where(live, self.lam, 1.0)
        slope = self.v / self.d
        own = (to_v - self.v * over) / self.d
        held = np.where(self.limited, (to_l - self.omega * at_limit) / self.l, 0.0)
        z = to_y / self.nu - system.theta * dual
        b = np.where(live, primal - to_s / lam, 0.0)
        dy, rise, dlam, dcost = system.step(z, own - held, b)
        cy, crise, clam, ccost = column
        # the rise of shares above the level is a variable, not a small difference of large numbers
        dt = (w @ (own - slope * rise) - short) / (w @ (slope * crise))
        dy, rise = dy + dt * cy, rise + dt * crise
        dlam, dcost = dlam + dt * clam, dcost + dt * ccost
        dx = w * dt + rise
        dd = rise + over
        dv = (to_v - self.v * dd) / self.d
        dl = np.where(self.limited, at_limit - dx, 0.0)
        domega = np.where(self.limited, (to_l - self.omega * dl) / self.l, 0.0)
        dnu = (dual + dcost - self.layout.spread(dv - domega)) * self.layout.mask
        ds = np.where(live, (to_s - self.s * dlam) / lam, 0.0)
        return dy, dnu, ds, dlam, np.asarray(dt), dd, dl, domega, dv

    def _lengths(self, step: _Step) -> tuple[float, float]:
        dy, dnu, ds, dlam, dt, dd, dl, domega, dv = step
        primal = min(
            longest(self.y, dy),
            longest(self.s, ds),
            longest(self.d, dd),
            longest(self.l, dl),
            longest(np.asarray(self.t), dt),
        )
        dual = min(
            longest(self.nu, dnu),
            longest(self.lam, dlam),
            longest(self.v, dv),
            longest(self.omega, domega),
        )
        return primal, dual

    def _after(self, step: _Step, primal: float, dual: float) -> float:
        dy, dnu, ds, dlam, _, dd, dl, domega, dv = step
        return float(
            ((self.y + primal * dy) * (self.nu + dual * dnu) * self.layout.mask).sum()
            + ((self.s + primal * ds) * (self.lam + dual * dlam))[self.live].sum()
            + (self.v + dual * dv) @ (self.d + primal * dd)
            + ((self.omega + dual * domega) * (self.l + primal * dl))[self.limited].sum()
        )

    def _level(self) -> Level:
        # what each user is to have at least: its part of the level, or the share it keeps
        need = self.w * self.t + self.base
        share, slack = need * self.v / self.t, self.d / need
        limits = np.where(self.limited, self.omega * self.limit, 0.0)
        # a full row without a price stops no user
        money = float(self.lam.sum() + limits.sum())
        full = self.live & (self.lam > np.maximum(self.s, PRICED) * money)
        # these users have a full row on every server, however little of all money they pay
        blocked = self.layout.least(self.layout.cost(full.astype(np.float64))) > 0
        stopped = blocked | (share > slack) & ~self.capped
        told = np.minimum(share, slack) / np.maximum(share, slack)
        clear = blocked | self.capped | (told < SURE)
        x = self.layout.to_pairs(self.y) / self.scale
        return Level(self.t, x, self.lam, full, limits, stopped, blocked, bool(clear.all()))


def longest(value: Floats, change: Floats) -> float:
    """The longest step, at most 1, that keeps value + step change >= 0 where value > 0."""
    # what is 0 and stays 0 gives NaN, which fmin leaves out
    worst = float(np.fmin.reduce(change / value, axis=None, initial=0.0))
    if worst == -np.inf:  # something that is 0 would fall
        worst = float(np.min(change / value, initial=0.0, where=value > 0))
    return 1.0 if worst >= -1 else -1 / worst


def log_sum(terms: Floats) -> float:
    """log(sum(exp(terms))) without overflow."""
    top = float(terms.max())
    return top + float(np.log(np.exp(terms - top).sum()))
