r"""The judge of alpha-fair answers whose users are in partitions.

Where all users fit in memory they are read together, and judged as one instance (`partitioned`).
Else the sum that bounds every user's share (`bound`) is gathered in four readings:

1. `used`: use of every row, and whether tasks are feasible;
2. `spent`: what users between nothing and their limits spend, which gives the scale of prices;
3. `errors`: eps, a sum of terms that are never negative;
4. `farthest`: with eps, how far the worst user may be from any optimum.

Tasks and prices are floats there, so a row is full to 1e-16 at best, and a user of a part m of all
money is known to about the square root of 1e-16 / m. So before 3 and 4 rows are filled to the last
digit (`filled`), at a point beside the answer; these two are what is left where that fails. The
verdict is `unproved`, with its bound, where that is above the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.losses import ends, loss_above
from fairopt.certificates.money import LEAST_TASK_PRICE
from fairopt.certificates.tolerance import FEASIBLE as FITS
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import rows, welfare
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance import Floats, Ints
from fairopt.instance.partition import Partition

PIECE = 1 << 13
"""users of a piece"""


@dataclass(frozen=True, eq=False)
class Shown:
    """An answer for the users of one partition, as it was read: tasks (n, I), prices of limits
    (n,) or None."""

    users: Partition
    tasks: Floats
    limit_prices: Floats | None = None

    @property
    def mu(self) -> Floats:
        """(n,) prices of limits."""
        return np.zeros(len(self.users)) if self.limit_prices is None else self.limit_prices

    @property
    def limited(self) -> Floats:
        """(n,) limits, 0 where they have no price."""
        return np.where(self.mu > 0, self.users.limit, 0.0)

    def some(self, at: Ints | slice) -> Shown:
        """Some of the users, at these positions."""
        mu = None if self.limit_prices is None else self.limit_prices[at]
        return Shown(self.users.some(at), self.tasks[at], mu)

    def pieces(self) -> list[Shown]:
        """The same in pieces of users, so that arrays of all pairs stay in the cache."""
        starts = range(0, len(self.users), PIECE)
        return [self.some(slice(start, start + PIECE)) for start in starts]


@dataclass(frozen=True, eq=False)
class JudgedTerms:
    """What all are judged by: what is asked, and prices (I, R), 0 where a server has nothing."""

    asked: AlphaAsked
    prices: Floats

    @classmethod
    def of(cls, asked: AlphaAsked, prices: Floats) -> JudgedTerms:
        """The terms of an answer with these prices."""
        return cls(asked, np.where(asked.capacity > 0, prices, 0.0))

    @property
    def alpha(self) -> float:
        """The exponent."""
        return self.asked.alpha

    @property
    def pool(self) -> Floats:
        """(I, R)."""
        return self.asked.pool

    def log_w(self, users: Partition) -> Floats:
        """(n,) log W for shares counted in tasks."""
        return self.asked.log_w(users)

    def cost(self, users: Partition) -> Floats:
        """(n, I) price of a task's resources; inf where it may not run."""
        rent = users.demand @ self.prices.T
        rent[rent < LEAST_TASK_PRICE] = 0.0
        np.copyto(rent, np.inf, where=~users.placement)
        return rent


TOGETHER = 5_000_000
"""pairs up to which all users are judged together, in 700 bytes a pair at most: the same on every
machine, as the verdict is"""
ROUNDING = 2.0**-49
"""part of all money by which the rounding of products and sums may be wrong"""
AT = 1e-9
"""a user that has all but this part of its limit is at its limit"""


def fits(pairs: int) -> bool:
    """Whether so many pairs are judged together."""
    return pairs <= TOGETHER


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
            self.used + other.used,
            max(self.below, other.below),
            max(self.stray, other.stray),
            max(self.beyond, other.beyond),
            max(self.top, other.top),
            self.finite and other.finite,
        )

    def over(self, pool: Floats) -> float:
        """The largest excess of a capacity."""
        return max(0.0, float((self.used / pool).max()) - 1.0)

    def shrink(self, pool: Floats) -> float:
        """The factor by which tasks must be multiplied to fit."""
        return 1.0 / (1.0 + max(self.over(pool), self.beyond))


def used(shown: Shown, terms: JudgedTerms) -> Used:
    """The first reading of a partition."""
    x, users = shown.tasks, shown.users
    finite = bool(
        all(np.isfinite(given).all() for given in (x, shown.mu, terms.prices))
        and (shown.mu >= 0).all()
        and (terms.prices >= 0).all()
    )
    return Used(
        x.T @ users.demand,
        float(np.maximum(-x, 0.0).max()),
        float(np.abs(np.where(users.placement, 0.0, x)).max()),
        float(np.maximum(rows.total(x) / users.limit - 1.0, 0.0).max()),
        float((terms.log_w(users) / terms.alpha).max()),
        finite,
    )


@dataclass(frozen=True, eq=False)
class Spent:
    """Second reading, of the users below their limits: log sum W^(1/alpha) q^(1-1/alpha), and the
    money sum q s at the prices given."""

    mass: float
    money: float

    def __add__(self, other: Spent) -> Spent:
        both = welfare.log_sum_exp(np.array([self.mass, other.mass]))
        return Spent(both, self.money + other.money)

    def log_scale(self, alpha: float) -> float:
        """log of the scale of prices at which these users spend what they do."""
        return alpha * (self.mass - float(np.log(self.money)))


def spent(shown: Shown, terms: JudgedTerms, first: Used) -> Spent:
    """The second reading of a partition, after the first of all."""
    users, alpha = shown.users, terms.alpha
    share = rows.total(shown.tasks) * first.shrink(terms.pool)
    free = (share < users.limit * (1 - AT)) & (share > 0)
    q = rows.least(terms.cost(users))[free]
    log_q = np.log(q)
    mass = terms.log_w(users)[free] / alpha + (1 - 1 / alpha) * log_q
    top = welfare.log_sum_exp(mass) if free.any() else -np.inf
    return Spent(top, float(q @ share[free]))


@dataclass(frozen=True, eq=False)
class Errors:
    """Third reading: eps without what is left of rows, and all money."""

    eps: float
    money: float

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.eps + other.eps, self.money + other.money)

    def whole(self, terms: JudgedTerms, first: Used, second: Spent) -> float:
        """eps of all users and rows."""
        price = terms.prices * np.exp(second.log_scale(terms.alpha))
        left = np.maximum(terms.pool - first.used * first.shrink(terms.pool), 0.0)
        money = self.money + float((price * terms.pool).sum())
        return self.eps + float((price * left).sum()) + ROUNDING * money


def _best(
    shown: Shown, terms: JudgedTerms, first: Used, second: Spent
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(n,) share, value of its unit, log of the best share t0, log of its money m, and where the
    limit stops it the marginal value above the price, else 0."""
    users, alpha = shown.users, terms.alpha
    share = rows.total(shown.tasks) * first.shrink(terms.pool)
    value = rows.least(terms.cost(users)) * np.exp(second.log_scale(alpha)) * (1 - ROUNDING)
    log_w = terms.log_w(users)
    log_t = np.minimum((log_w - np.log(value)) / alpha, np.log(users.limit))
    log_m = log_w + (1 - alpha) * log_t
    slope = np.maximum(np.exp(log_w - alpha * log_t) - value, 0.0)
    return share, value, log_t, log_m, np.where(log_t >= np.log(users.limit), slope, 0.0)


def errors(shown: Shown, terms: JudgedTerms, first: Used, second: Spent) -> Errors:
    """The third reading of a partition, after the second of all."""
    share, value, log_t, log_m, slope = _best(shown, terms, first, second)
    factor, scale = first.shrink(terms.pool), np.exp(second.log_scale(terms.alpha))
    cost = np.where(shown.users.placement, terms.cost(shown.users), 0.0) * scale
    above = np.maximum(cost - value[:, None], 0.0)
    held = np.maximum(shown.tasks, 0.0) * factor
    m = np.exp(log_m)
    z = np.abs(np.log(share) - log_t) + ROUNDING * (np.abs(log_m) / terms.alpha + 1)
    size = np.where(slope > 0, shown.users.limit, 0.0)
    short = np.maximum(size - share, 0.0) + ROUNDING * size
    over = value * np.maximum(share - np.exp(log_t), 0.0)
    term = (held * above).sum(axis=1) + m * loss_above(z, terms.alpha) + slope * short
    term = term + np.where(slope > 0, over, 0.0)
    return Errors(float(np.where(np.isnan(term), np.inf, term).sum()), float((value * share).sum()))


def farthest(
    shown: Shown, terms: JudgedTerms, first: Used, second: Spent, eps: float
) -> tuple[float, int]:
    """The fourth reading: how far the worst user of a partition may be, and who it is."""
    share, _, log_t, log_m, slope = _best(shown, terms, first, second)
    below, above = ends(eps * np.exp(-log_m), terms.alpha)
    above = np.where(slope > 0, 0.0, above)
    apart = np.log(share) - log_t
    off = np.maximum(np.abs(apart + below), np.abs(apart - above))
    off = np.where(np.isnan(off), np.inf, off)
    worst = int(np.argmax(off))
    return float(off[worst]), worst


def feasible(first: Used, terms: JudgedTerms) -> tuple[Check, ...]:
    """Whether every rule is kept."""
    return (
        Check.of("numbers are finite, prices >= 0", 0.0 if first.finite else np.inf, 0.0),
        Check.of("tasks >= 0", first.below, 0.0),
        Check.of("placement", first.stray, 0.0),
        Check.of("capacity", first.over(terms.pool), FITS),
        Check.of("limit", first.beyond, FITS),
    )


def verdict(terms: JudgedTerms, first: Used, worst: float, who: int) -> Certificate:
    """The certificate of all partitions, read one by one; `who` is the worst user's position."""
    kept = feasible(first, terms)
    gap = float(np.expm1(worst))
    checks = (
        *kept,
        Check.of("gap", gap, float(np.expm1(TOLERANCE)), "an equal rise of every share"),
        Check.of("residual", worst, TOLERANCE, f"user {who + 1}"),
    )
    name = CERTIFIED if all(check.holds for check in checks) else UNPROVED
    name = name if all(check.holds for check in kept) else REFUTED
    return Certificate(name, gap, worst, (), checks, bounded=True)
