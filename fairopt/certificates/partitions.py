r"""The judge of alpha-fair answers whose users are in partitions: three readings.

The promises and formulas are those of `certificates.alpha_fair` for shares counted in tasks
(docs/maths/prices.md): gap by weak duality in closed form, and each user's own distance from
optimality. What needs all users at once is split into sums:

1. `used`: use of every row, and whether tasks are feasible;
2. `proved`: log sum W^(1/alpha) q^(1-1/alpha), the value of the answer, the money of limits, and
   the part of each row held by tasks that would cost less elsewhere;
3. `errors`: with the common scale of prices that follows from 2, the largest residual.

What the errors of others may cost a user is bounded by their sum, a bound that is a million times
what they do on ordinary clusters, since most errors cancel. The judge of one instance proves more
(`certificates.others`), which needs all users at once; here nothing is certified if the sum is more
than a millionth of the lightest user's money.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.at_limit import AT
from fairopt.certificates.disturbed import NEAR, NOISE
from fairopt.certificates.feasibility import TOLERANCE as FITS
from fairopt.certificates.money import ROUNDING
from fairopt.certificates.money import TOLERANCE as FULL
from fairopt.certificates.partition_terms import Shown, Terms
from fairopt.certificates.prices import NEGLIGIBLE, TOLERANCE
from fairopt.formulas import welfare
from fairopt.instance import Floats


@dataclass(frozen=True, eq=False)
class Used:
    """First reading: use (I, R); the worst task below 0, task out of place, and excess of a limit;
    largest log W^(1/alpha)."""

    used: Floats
    below: float
    stray: float
    beyond: float
    top: float
    finite: bool

    def __add__(self, other: Used) -> Used:
        return Used(
            self.used + other.used, max(self.below, other.below), max(self.stray, other.stray),
            max(self.beyond, other.beyond), max(self.top, other.top), self.finite and other.finite,
        )  # fmt: skip

    def over(self, pool: Floats) -> float:
        """The largest excess of a capacity."""
        return max(0.0, float((self.used / pool).max()) - 1.0)

    def shrink(self, pool: Floats) -> float:
        """The factor by which tasks must be multiplied to fit."""
        return 1.0 / (1.0 + max(self.over(pool), self.beyond))


def used(shown: Shown, terms: Terms) -> Used:
    """The first reading of a partition."""
    x, users = shown.tasks, shown.users
    finite = bool(
        all(np.isfinite(given).all() for given in (x, shown.mu, terms.prices))
        and (shown.mu >= 0).all() and (terms.prices >= 0).all()
    )  # fmt: skip
    return Used(
        x.T @ users.demand, float(np.maximum(-x, 0.0).max()),
        float(np.abs(np.where(users.placement, 0.0, x)).max()),
        float(np.maximum(x.sum(axis=1) / users.limit - 1.0, 0.0).max()),
        float((terms.log_w(users) / terms.alpha).max()), finite,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Proved:
    """Second reading: logarithms of sums (see the module), and the rows' wasted resources (I, R).

    mass : log sum W^(1/alpha) q^(1-1/alpha). weights : log sum W. due : log sum W^(1/alpha).
    value : log sum W s^(1-alpha), or for alpha = 1 sum W log(W / (q s)) over exp(top).
    limits : money of priced limits.
    """

    mass: float
    weights: float
    due: float
    value: float
    limits: float
    wasted: Floats
    linear: bool

    def __add__(self, other: Proved) -> Proved:
        def both(a: float, b: float) -> float:
            return welfare.log_sum_exp(np.array([a, b]))

        value = self.value + other.value if self.linear else both(self.value, other.value)
        return Proved(
            both(self.mass, other.mass), both(self.weights, other.weights),
            both(self.due, other.due), value, self.limits + other.limits,
            self.wasted + other.wasted, self.linear,
        )  # fmt: skip

    def budget(self, terms: Terms) -> float:
        """B: what all resources and limits cost."""
        return float((terms.prices * terms.pool).sum()) + self.limits

    def log_scale(self, terms: Terms) -> float:
        """log t of the best common scale of prices, (mass / B)^alpha."""
        return terms.alpha * (self.mass - _log(self.budget(terms)))

    def gap(self, terms: Terms, first: Used) -> float:
        """By how much every share could rise at once, at most."""
        alpha, log_b = terms.alpha, _log(self.budget(terms))
        if self.linear:
            total = np.exp(self.weights - terms.alpha * first.top)
            found = self.value / total + log_b - self.weights
        else:
            found = log_b + (alpha * self.mass - self.value) / (1 - alpha)
        with np.errstate(all="ignore"):
            gap = float(np.expm1(found))
        return max(gap, 0.0) if not np.isnan(gap) else np.inf


def _log(budget: float) -> float:
    """log B; NaN, which proves nothing, where there is no money."""
    return float(np.log(budget)) if budget > 0 else np.nan


def proved(shown: Shown, terms: Terms, first: Used) -> Proved:
    """The second reading of a partition, after the first of all."""
    users, alpha, x = shown.users, terms.alpha, shown.tasks
    with np.errstate(all="ignore"):
        log_w, cost = terms.log_w(users), terms.cost(users)
        log_q = np.log(cost.min(axis=1) + shown.mu)
        log_s = np.log(x.sum(axis=1) * first.shrink(terms.pool))
        if alpha == 1:
            value = float(np.exp(log_w - first.top) @ (log_w - log_q - log_s))
        else:
            value = welfare.log_sum_exp(log_w + (1 - alpha) * log_s)
        saved, more, moved = _savings(shown, terms, cost, first)
        amount = x * saved + moved * np.maximum(more - saved, 0.0)
        part = np.where((cost > 0) & users.placement, np.minimum(amount / cost, x), 0.0)
        return Proved(
            welfare.log_sum_exp(log_w / alpha + (1 - 1 / alpha) * log_q),
            welfare.log_sum_exp(log_w), welfare.log_sum_exp(terms.asked.log_due(users) / alpha),
            value, float(shown.mu @ shown.limited), part.T @ users.demand, alpha == 1,
        )  # fmt: skip


def _left(terms: Terms, first: Used) -> Floats:
    """(I, R) what is left of each resource; 0 within rounding."""
    left = np.maximum(terms.pool - first.used, 0.0)
    return np.where(left <= ROUNDING * terms.pool, 0.0, left)


def _savings(
    shown: Shown, terms: Terms, cost: Floats, first: Used
) -> tuple[Floats, Floats, Floats]:
    """(n, I) each: what a task would save on the cheapest server, and on the cheapest at the
    prices of what is full for the user; and how many tasks fit there."""
    users, left = shown.users, _left(terms, first)
    full_cost, room = np.zeros(cost.shape), np.full(cost.shape, np.inf)
    alone = np.full(cost.shape, np.inf)
    for r in range(left.shape[1]):
        need = users.demand[:, r, None]
        alone = np.where(need > 0, np.minimum(alone, terms.pool[:, r] / need), alone)
        room = np.where(need > 0, np.minimum(room, left[:, r] / need), room)
    for r in range(left.shape[1]):
        need = users.demand[:, r, None]
        full_cost += np.where(left[:, r] <= FULL * need * alone, need * terms.prices[:, r], 0.0)
    full_cost = np.where(users.placement, full_cost, np.inf)
    best = full_cost.argmin(axis=1)
    at = np.arange(len(best)), best
    saved = np.where(users.placement, cost - cost.min(axis=1)[:, None], 0.0)
    more = np.where(users.placement, np.maximum(cost - full_cost[at][:, None], 0.0), 0.0)
    return saved, more, np.minimum(shown.tasks, room[at][:, None])


@dataclass(frozen=True, eq=False)
class Errors:
    """Third reading: largest residual and the user that has it, money the users are off by, least
    money of a user, money of all, and how many have next to nothing."""

    residual: float
    worst: int
    off: float
    least: float
    money: float
    nothing: int

    def after(self, other: Errors, users: int) -> Errors:
        """Together with a later partition, whose users come after `users` others."""
        later = other.residual > self.residual
        return Errors(
            max(self.residual, other.residual), other.worst + users if later else self.worst,
            self.off + other.off, min(self.least, other.least), self.money + other.money,
            self.nothing + other.nothing,
        )  # fmt: skip


def errors(shown: Shown, terms: Terms, first: Used, second: Proved) -> Errors:
    """The third reading of a partition, after the second of all."""
    users, alpha, x, mu = shown.users, terms.alpha, shown.tasks, shown.mu
    log_t, total = second.log_scale(terms), x.sum(axis=1)
    with np.errstate(all="ignore"):
        log_w, cost = terms.log_w(users), terms.cost(users)
        q = cost.min(axis=1) + mu
        share = total * first.shrink(terms.pool)
        error = share / np.exp((log_w - np.log(q) - log_t) / alpha) - 1.0
        at_limit = total >= users.limit * (1 - AT)
        error = np.where(at_limit, np.maximum(error, 0.0), np.abs(error))
        paid = (x @ terms.prices * users.demand).sum(axis=1)
        idle = terms.prices * np.clip(1.0 - first.used / terms.pool, 0.0, 1.0)
        wasted = terms.prices * np.minimum(second.wasted / terms.pool, 1.0)
        unused, lost = ((x @ price * users.demand).sum(axis=1) for price in (idle, wasted))
        room = np.where(np.isfinite(users.limit), np.clip(1 - total / users.limit, 0, 1), 0.0)
        above = np.maximum(paid + mu * total - q * share, 0.0)
        own = q * share
        residual = error + (above + unused + mu * room * total) / own
        residual = np.maximum(residual, lost / own)
        residual = np.where(np.isfinite(residual), residual, np.inf)
        saved, more, moved = _savings(shown, terms, cost, first)
        held = np.where(saved > NEAR * cost, x, np.where(more > NEAR * cost, moved, 0.0))
        astray = (held * np.where(users.placement, cost, 0.0)).sum(axis=1)
        off = np.where(error > NOISE, np.minimum(error, 1.0), 0.0) * paid + np.minimum(astray, paid)
        off += np.where(room > ROUNDING, np.minimum(mu, cost.min(axis=1)) * room * users.limit, 0.0)
        alone = np.zeros(len(users))
        for i in range(len(terms.pool)):
            fits = np.where(users.demand > 0, terms.pool[i] / users.demand, np.inf).min(axis=1)
            alone += np.where(users.placement[:, i], fits, 0.0)
        due = np.exp(terms.asked.log_due(users) / alpha - second.due)
        floor = NEGLIGIBLE * np.minimum(alone * due, np.minimum(alone, users.limit))
    worst = int(np.argmax(residual))
    return Errors(
        float(residual[worst]), worst, float(off.sum()), float(own.min()), float(own.sum()),
        int((share <= floor).sum()),
    )  # fmt: skip


def verdict(terms: Terms, first: Used, second: Proved, third: Errors) -> Certificate:
    """The certificate of all partitions together."""
    gap = second.gap(terms, first)
    worst = f"user {third.worst + 1}"
    left = np.where(first.used >= terms.pool * (1 - NOISE), 0.0, _left(terms, first))
    idle = float((terms.prices * left).sum())
    others = (idle + third.off) / third.least if third.least > 0 else np.inf
    feasible = (
        Check.of("numbers are finite, prices >= 0", 0.0 if first.finite else np.inf, 0.0),
        Check.of("tasks >= 0", first.below, 0.0),
        Check.of("placement", first.stray, 0.0),
        Check.of("capacity", first.over(terms.pool), FITS),
        Check.of("limit", first.beyond, FITS),
    )
    checks = (
        *feasible,
        Check.of("gap", gap, TOLERANCE, "an equal rise of every share"),
        Check.of("residual", third.residual, TOLERANCE, worst),
        Check.of("users of next to nothing", float(third.nothing), 0.0),
        Check.of("errors of others", others, TOLERANCE, "beside the lightest user"),
    )
    fits = all(check.holds for check in feasible)
    good = all(check.holds for check in checks)
    name = CERTIFIED if good else UNPROVED if fits else REFUTED
    return Certificate(name, gap, third.residual, (), checks)
