r"""A primal-dual interior method for alpha-fairness, accurate also for users of small weight.

In units of what each user could have alone, with rows of capacity 1, the conditions are

.. math::
   B y + s = 1, \quad X_n = \sum_h y_h, \quad X_n + l_n = L_n, \quad c = B' \lambda, \quad
   c_h - p_n = \nu_h, \quad v_n = p_n + \omega_n, \quad v_n = W_n X_n^{-\alpha}

with y nu = 0, lambda s = 0, omega l = 0, all >= 0. A predictor-corrector method takes Newton steps
(`interior.schur`) towards y_h nu_h = tau m_n / |h in n|, omega_n l_n = tau m_n,
lambda_f s_f = tau M_f with m_n = p_n X_n the user's OWN money and M_f the mean (harmonic, by use)
of those who use the row. An ordinary interior method has the same target for all products, which is
too coarse for users whose money is small. v is the marginal value of share; its relation to X is
that of `marginal`. The exponent begins between 0.5 and 3 and moves to alpha in stages, each once
the point is nearly feasible and centred (docs/maths/interior.md).

The method stops when every user is close enough to its optimum at the present prices.
"""

from __future__ import annotations

import numpy as np

from fairopt import clock
from fairopt.instance import Floats
from fairopt.solving.engines.interior.limit_money import cut
from fairopt.solving.engines.interior.marginal import MarginalValue
from fairopt.solving.engines.interior.measures import Measures
from fairopt.solving.engines.interior.schur import SchurSystem
from fairopt.solving.engines.interior.state import (
    InteriorState,
    Products,
    Residual,
    log_sum,
    longest,
    replace,
    stepped,
)
from fairopt.solving.engines.interior.timed import Timed
from fairopt.solving.engines.point import Point, Question

MOST, MOST_TIMED = 200, 100
"""iterations, and where limits count tasks of different scores: there prices alone come next"""
ENOUGH, ENOUGH_LARGE, LARGE = 1e-12, 1e-10, 3_000
"""proved error at which it stops, and where there are more pairs than this"""
LAST = 1e-14
"""smallest target of tau: below it rounding errors are larger than the products"""
STALL = 8
"""it stops after so many iterations in which neither the error nor tau was halved"""
GENTLE, MIDDLE = 3.0, 0.5
"""largest and smallest exponent to begin at"""
LONG = 0.5
"""a step of at least this length is not corrected further"""
CORRECTORS, FURTHER = 2, 0.3
"""most corrections of a step, and by how much each of them tries to lengthen it"""
SPREAD = 10.0
"""a correction leaves products alone that are within this factor of their targets"""
INERTIA = 0.1
"""a user's money falls to no less than this part of it per iteration"""
LIGHTEST = 20.0
"""log of the ratio of weights, to the power of 1/alpha, from which a start may fail"""
RAISE, LOWER = 1.7, 0.5
"""factors of the exponent from stage to stage"""


def follow(question: Question) -> Point | None:
    """The best point found, or None if the method did not come close."""
    with np.errstate(all="ignore"):
        found = _Method(question).run()
        return _lifted(question) if found is None and question.alpha > 0 else found


def _lifted(question: Question) -> Point | None:
    """The point where users of hardly any weight are given more of it, their tasks then made as
    many fewer: prices hardly change, and the first steps have no numbers that are too small."""
    log_w = np.maximum(question.log_w, question.log_w.max() - LIGHTEST * question.alpha)
    more = log_w - question.log_w
    if not more.any():
        return None
    point = _Method(question.at(question.alpha, log_w)).run()
    if point is None:
        return None
    less = np.exp(-more / question.alpha)
    return Point(point.x * less[question.pairs[0]], point.rows, point.limits * less)


class _Method(Measures):
    """The state of the method for one problem."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        begin = min(max(self.target, MIDDLE), GENTLE) if self.target > 0 else 0.0
        self.marginal = self._marginal_value(begin)
        self.enough = ENOUGH if len(question.pairs[0]) <= LARGE else ENOUGH_LARGE
        self.best: tuple[Floats, ...] | None = None
        self.error = np.inf

    def _marginal_value(self, alpha: float) -> MarginalValue:
        """The relation of v and X at an exponent; W^(1/alpha) is kept while alpha grows."""
        part = min(1.0, alpha / self.target) if self.target > 0 else 1.0
        log_w = part * self.question.log_w + (1 - alpha) * np.log(self.unit)
        return MarginalValue(alpha, log_w, self.limit, self.limited, self.far)

    def run(self) -> Point | None:
        now, since, lowest = self._start(), 0, 1.0
        money: Floats | None = None
        for iteration in clock.steps(MOST if self.timed is None else MOST_TIMED):
            now, price = self._classified(now)
            paid = self.marginal.money(price, now.x, self._of_limit(now))
            # limit the fall of money per iteration: a price that is much too low for one iteration
            # must not lower the targets that follow from it
            money = paid if money is None else np.maximum(paid, INERTIA * money)
            settled = bool((money <= 10 * paid).all())
            rows = self._row_money(now, money)
            tau = float(np.mean(self._complementarity(now, money, rows)))
            self.marginal.level(now.v, now.x, price * now.x)
            residual = self._residual(now)
            alpha, off = self.marginal.alpha, residual.largest
            if alpha == self.target and tau < 1e-5:
                error = self._proof(now, residual)
                if error < self.error:
                    since = iteration if error < 0.5 * self.error else since
                    self.error, self.best = error, self._kept(now, residual.cost)
                if tau < 0.5 * lowest or not (settled and off[1] < 0.1):
                    since, lowest = iteration, min(tau, lowest)
                stalled = tau < 2 * LAST or iteration - since >= STALL
                if self.error < self.enough or (settled and stalled):
                    break
            if (
                alpha < self.target
                and tau < 0.1
                and off[0] < 0.1
                and off[1] < 0.3 / max(1.0, alpha / GENTLE)
            ):
                now = self._raised(now)
                continue
            if alpha > self.target and tau < 0.01 and off[0] < 0.01 and off[1] < 0.1:
                now = self._lowered(now)
                continue
            moved = self._iterate(now, residual, money, rows, tau)
            if moved is None:
                break
            now = moved
        if self.best is None and clock.over():
            self.best = self._kept(now, self._residual(now).cost)
        return None if self.best is None else self._point(*self.best)

    # -- one iteration ------------------------------------------------------------------------

    def _iterate(
        self, now: InteriorState, residual: Residual, money: Floats, rows: Floats, tau: float
    ) -> InteriorState | None:
        """One predictor-corrector step that keeps all variables positive; None if it fails."""
        layout, marginal = self.layout, self.marginal
        held = np.where(self.limited, now.omega / now.l, 0.0)
        rho = np.where(self.live, now.s / np.where(self.live, now.lam, 1.0), 1.0)
        try:
            system = self._system(now.y / now.nu, residual.slope, held, rho)
        except ArithmeticError:
            return None
        partner = marginal.partner(now.v, now.x)
        products = Products(now.y * now.nu, now.s * now.lam, now.omega * now.l, now.e * partner)
        to_zero = Products(-products.y, -products.s, -products.l, -products.e)
        first = self._direction(system, now, residual, to_zero, 0.0)
        lengths = self._lengths(now, first)
        after = float(np.mean(self._complementarity(stepped(now, first, *lengths), money, rows)))
        sigma = min(1.0, max(after / tau, 0.0) ** 3)
        if max(residual.largest) > tau:
            sigma = max(sigma, 0.1)
        if residual.largest[1] > 1 and tau < 0.1:
            sigma = 1.0  # shares and marginal values are still far from their relation
        sigma = max(sigma, 1e-4)
        if tau < 1e-5 and residual.largest[2] > max(1e-13, 0.1 * tau):
            sigma = 1.0  # tasks carry rounding errors: centre before the next decrease
        aim = max(sigma * tau, LAST)
        d_v = first.p + first.omega
        own = money if not marginal.steep else now.v * now.x / marginal.alpha
        second = Products(
            first.y * first.nu * layout.mask,
            first.s * first.lam,
            first.l * first.omega,
            first.e * (d_v if marginal.steep else first.x),
        )
        bend = marginal.bend(residual.curve, now.v, now.x, d_v, first.x)
        goals = Products(
            aim * layout.spread(money / self.degree) * layout.mask,
            aim * rows,
            aim * money,
            aim * own,
        )
        targets = goals - products - second
        step, (primal, dual) = self._centred(system, now, residual, targets, goals, bend)
        most = min(max(0.9 if tau > 1e-3 else 0.99, 1 - 10 * aim), 1 - 1e-7)
        primal, dual = min(1.0, most * primal), min(1.0, most * dual)
        if not max(primal, dual) >= 1e-6:  # also where it is not a number
            return None
        moved = stepped(now, step, primal, dual, marginal.steep)
        return replace(moved, x=layout.of_user(moved.y))

    def _system(self, theta: Floats, slope: Floats, held: Floats, rho: Floats) -> SchurSystem:
        """The matrix of the step; a limit on shares adds to the slope of their value."""
        if self.timed is None:
            return SchurSystem(self.layout, theta, slope + held, rho, self.live)
        return Timed(self.layout, theta, slope, held, self.timed, rho, self.live)

    def _centred(
        self,
        system: SchurSystem,
        now: InteriorState,
        residual: Residual,
        targets: Products,
        goals: Products,
        bend: Floats | float,
    ) -> tuple[InteriorState, tuple[float, float]]:
        """The step with corrections, as long as they lengthen it, and its two lengths.

        If many pairs are nearly tied, products spread over decades and a few small ones make every
        step short. So the products at a trial point beyond the end of the step are brought to
        within a factor of their goals (multiple centrality correctors, Gondzio 1996).
        """
        marginal = self.marginal
        step = self._direction(system, now, residual, targets, bend)
        lengths = self._lengths(now, step)
        for _ in range(CORRECTORS):
            if min(lengths) > LONG:
                break
            primal, dual = (min(1.0, length + FURTHER) for length in lengths)
            end = stepped(now, step, primal, dual, marginal.steep)
            ends = Products(
                end.y * end.nu,
                end.s * end.lam,
                end.l * end.omega,
                end.e * marginal.partner(end.v, end.x),
            )
            targets = targets + ends.back_within(SPREAD, goals)
            other = self._direction(system, now, residual, targets, bend)
            reached = self._lengths(now, other)
            if min(reached) < min(lengths) + 0.1 * FURTHER or sum(reached) < sum(lengths):
                break
            step, lengths = other, reached
        return step, lengths

    def _direction(
        self,
        system: SchurSystem,
        now: InteriorState,
        residual: Residual,
        to: Products,
        bend: Floats | float,
    ) -> InteriorState:
        """The Newton step by which complementary products change by `to`."""
        marginal, layout = self.marginal, self.layout
        partner = marginal.partner(now.v, now.x)
        lam = np.where(self.live, now.lam, 1.0)
        up = marginal.intercept(residual.value, residual.slope, to.e, partner, bend)
        at_limit = np.where(self.limited, (to.l - now.omega * residual.limit) / now.l, 0.0)
        z = to.y / now.nu - system.theta * residual.dual
        short = np.where(self.live, residual.primal - to.s / lam, 0.0)
        if isinstance(system, Timed):
            dy, dx, dt, dp, domega, dlam, dcost = system.limited(z, up, at_limit, short)
            dl = np.where(self.limited, residual.limit - dt, 0.0)
        else:
            dy, dx, dlam, dcost = system.step(z, up - at_limit, short)
            dp = up - at_limit - system.heat * dx
            dl = np.where(self.limited, residual.limit - dx, 0.0)
            domega = np.where(self.limited, (to.l - now.omega * dl) / now.l, 0.0)
        dnu = (residual.dual + dcost - layout.spread(dp)) * layout.mask
        ds = np.where(self.live, (to.s - now.s * dlam) / lam, 0.0)
        de = marginal.slack(now.e, to.e, partner, dx, dp + domega)
        return InteriorState(dy, dnu, ds, dlam, dx, dl, dp, domega, de)

    def _lengths(self, now: InteriorState, step: InteriorState) -> tuple[float, float]:
        """The longest steps, at most 1, of tasks and of prices that keep everything positive."""
        marginal = self.marginal
        primal = [(now.y, step.y), (now.s, step.s), (now.l, step.l), (now.x, step.x)]
        # the price of a linear user may be 0
        p, dp = now.p, step.p
        if self.timed is not None:
            mixed = self.timed.mixed
            p, dp = np.where(mixed, now.v, p), np.where(mixed, step.v, dp)
        value = np.where(marginal.linear, 1.0, p), np.where(marginal.linear, 0.0, dp)
        dual = [(now.nu, step.nu), (now.lam, step.lam), (now.omega, step.omega), value]
        if marginal.alpha > 0:
            (primal if marginal.steep else dual).append((now.e, step.e))
        return min(longest(*pair) for pair in primal), min(longest(*pair) for pair in dual)

    # -- beginning, stages and end --------------------------------------------------------------

    def _start(self) -> InteriorState:
        """A first point: servers are shared by weight (over at most two decades), half full."""
        layout, question, marginal, live = self.layout, self.question, self.marginal, self.live
        n, i = question.pairs
        inst = question.instance
        log_v = marginal.log_w / max(marginal.alpha, 1.0)
        v = np.exp(np.maximum(log_v - log_v.max(), -np.log(100.0)))
        whole = inst.alone[n, i] * question.score[n, i] / self.unit[n]
        y = 0.5 * (v[n] / np.bincount(i, v[n], inst.shape[1])[i]) * whole
        y = layout.from_pairs(y)
        total = self.limit - self._room(y, layout.of_user(y))
        less = np.where(self.limited, np.minimum(1.0, 0.5 * self.limit / total), 1.0)
        y = y * layout.spread(less)
        x = layout.of_user(y)
        # money adds up to 1, without users whose limit is close to what they begin with
        free = ~self.limited | (x < 0.25 * self.limit)
        free = free if free.any() else ~free
        money = marginal.log_w + (1 - marginal.alpha) * np.log(x)
        marginal.log_w = marginal.log_w - log_sum(money[free])
        if marginal.alpha == 0:
            marginal.ceiling = np.exp(marginal.log_w)
        p = np.exp(np.clip(marginal.log_w - marginal.alpha * np.log(x), -690, 690))
        # what users pay is divided among rows by use
        per_unit = layout.cost(np.where(live, 1.0, 0.0))
        paid = y * layout.spread(np.where(free, p, 0.0)) / np.where(per_unit > 0, per_unit, 1.0)
        lam = layout.used(paid)
        lam = np.where(live, np.maximum(lam, 1e-3 * lam.mean()), 0.0)
        # a user at its limit pays no more than its rows cost
        p = np.where(free, p, np.minimum(p, layout.of_user(y * layout.cost(lam)) / x))
        omega = np.where(self.limited, 0.1 * p, 0.0)
        cost, price = self._cost(lam, omega), layout.spread(p)
        nu = np.maximum(cost - price, 0.3 * np.maximum(price, cost))
        return InteriorState(
            y=y,
            nu=np.where(layout.mask > 0, nu, 1.0),
            s=np.where(live, 1 - layout.used(y), 1.0),
            lam=lam,
            x=x,
            l=np.where(self.limited, self._room(y, x), 1.0),
            p=p,
            omega=omega,
            e=0.1 * (x if marginal.steep else p),
        )

    def _raised(self, now: InteriorState) -> InteriorState:
        """The state at the next larger exponent; the slack e is made small."""
        marginal = self._next(min(RAISE * self.marginal.alpha, self.target), now)
        if not marginal.steep:
            return now
        short = now.x - np.exp((marginal.log_w - np.log(now.v)) / marginal.alpha)
        e = np.clip(short, 0.1 * now.x / marginal.alpha, 0.3 * now.x / marginal.alpha)
        return replace(now, e=e)

    def _lowered(self, now: InteriorState) -> InteriorState:
        """The state at the next smaller exponent; shares may fall by decades at once."""
        marginal = self._next(max(LOWER * self.marginal.alpha, self.target), now)
        due = (marginal.log_w - np.log(np.maximum(now.v, 1e-300))) / marginal.alpha
        fall = np.exp(np.clip(due - np.log(now.x), -200, 0))
        y = now.y * self.layout.spread(np.where(marginal.linear, 1.0, fall))
        x = self.layout.of_user(y)
        free = np.maximum(1 - self.layout.used(y), now.s)
        return replace(
            now,
            y=y,
            x=x,
            s=np.where(self.live, free, 1.0),
            l=np.where(self.limited, self._room(y, x), 1.0),
        )

    def _next(self, alpha: float, now: InteriorState) -> MarginalValue:
        before, self.marginal = self.marginal, self._marginal_value(alpha)
        self.marginal.linear, self.marginal.ceiling = before.linear, before.ceiling
        self.marginal.level(now.v, now.x, self._price(now) * now.x)
        return self.marginal

    def _kept(self, now: InteriorState, cost: Floats) -> tuple[Floats, ...]:
        """Copies of the variables that the answer needs."""
        layout, marginal = self.layout, self.marginal
        y = layout.to_pairs(now.y)
        return (y, now.lam, now.omega, layout.least(cost), marginal.linear, marginal.log_w)

    def _point(
        self, y: Floats, lam: Floats, omega: Floats, q: Floats, linear: Floats, log_w: Floats
    ) -> Point:
        n, i = self.question.pairs
        if self.target == 0:
            # users whose weight is below their cheapest price hold nothing but rounding
            dear = q / np.exp(log_w) - 1
            y = np.where(y < dear[n], 0.0, y)
        money = np.log(omega * self.limit + 1e-300)
        if self.target > 0:
            # a linear user at its limit pays its marginal value: the price of its resources, and
            # the rest for the limit
            top = log_w - self.target * np.log(self.limit)
            rest = top + np.log1p(-np.minimum(np.exp(np.log(q) - top), 1 - 1e-16))
            money = np.where(linear, rest + np.log(self.limit), money)
        x = y * self.unit[n] / self.question.score[n, i]
        paid = cut(money, float(np.log(lam.sum() + 1e-300)))
        return Point(x, lam, np.where(self.limited, paid, 0.0))
