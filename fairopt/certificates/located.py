r"""Where the optimum is, user by user, proved from tasks and prices of twice a float's digits.

Let x be any feasible tasks, with shares s, and p, mu any prices. With q the cheapest price of a
unit of share, s0 = (W/q)^(1/alpha), m = q s0 the money of a user there and

.. math:: \epsilon = \sum_{i,r} p_{i,r} \mathrm{left}_{i,r} + \sum_n \mu_n (L_n - X_n)
   + \sum_{n,i} x_{n,i} \Bigl(\sum_r p_{i,r} d_{n,r} + \mu_n - q_n u_{n,i}\Bigr)
   + \sum_n m_n \operatorname{loss}(\log s_n / s^0_n)

all sums of terms that are never negative, every optimum s* has

.. math:: m_n \operatorname{loss}(\log s^*_n / s^0_n) \le \epsilon, \qquad
   \operatorname{loss}(z) = e^z - 1 - \frac{e^{(1-\alpha) z} - 1}{1 - \alpha} \approx \alpha z^2 / 2

(docs/maths/prices.md, "The interval of one user", without the cancellation of large sums). So no
user's share is off by more than sqrt(2 epsilon / (alpha m)). The first three sums are errors of the
first order: with tasks as floats a row of money 1 keeps 1e-16, which is nothing beside users of
1e-3 of all money, and everything beside one of 1e-12. With twice the digits they come to 1e-28 and
less, and a user of 1e-12 of the money is known to 1e-7 of its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.twofold import DIGITS, Twofold, remainders
from fairopt.formulas import rows, welfare
from fairopt.instance import Floats, Instance, Ints, remembered

NEAR = 1e-9
"""part above the cheapest price within which a pair's price is computed with twice the digits"""
SMALL = 1e-2
"""(1 + alpha) |log| below which a loss is alpha z^2 / 2 within a hundredth"""
OVER = 1e-12
"""part by which tasks may overrun a row and be scaled down"""


@dataclass(frozen=True)
class Place:
    """Tasks and prices near an answer, with twice the digits.

    Parameters
    ----------
    pairs : (K,), (K,) user and server of each pair that holds tasks. tasks : (K,) > 0.
    price : (I R,) of each row. limit_price : (N,). All money, sum W s^(1-alpha), is about 1.

    What is left of rows and limits is kept with it once computed, so it belongs to one market.
    """

    pairs: tuple[Ints, Ints]
    tasks: Twofold
    price: Twofold
    limit_price: Twofold

    @classmethod
    def of(cls, alloc: Allocation, log_scale: float) -> Place:
        """An answer as it is; `log_scale` brings its prices to that unit."""
        assert alloc.prices is not None
        (n, i), scale = np.nonzero(alloc.held), np.exp(log_scale)
        mu = np.zeros(len(alloc.tasks)) if alloc.limit_prices is None else alloc.limit_prices
        return cls(
            (n, i), Twofold.of(alloc.held[n, i]), Twofold.of((alloc.prices * scale).ravel()),
            Twofold.of(mu * scale),
        )  # fmt: skip


@dataclass(frozen=True)
class Market:
    """An instance, scores (N, I), alpha > 0 and log W (N,), in the unit in which all money is 1.

    `unit` is the log of that unit.
    """

    instance: Instance
    score: Floats
    alpha: float
    log_w: Floats
    unit: float

    @classmethod
    def of(cls, alloc: Allocation, alpha: float, log_w: Floats, log_share: Floats) -> Market:
        """The market of an answer with these shares."""
        unit = welfare.log_sum_exp(log_w + (1 - alpha) * log_share)
        return cls(alloc.instance, alloc.score, alpha, log_w - unit, unit)

    def cost(self, place: Place, n: Ints, i: Ints) -> Twofold:
        """Price of one unit of share of each of these pairs."""
        inst = self.instance
        price = Twofold(*(part.reshape(inst.pool.shape)[i] for part in place.price))
        each = price.times(inst.demand_by_server[n, i])
        found = place.limit_price.at(n)
        for r in range(inst.shape[2]):
            found = found.plus(Twofold(each.high[:, r], each.low[:, r]))
        return found.over(self.score[n, i])

    def left(self, place: Place) -> Floats:
        """(I R,) what is left of each row; negative if it is overrun."""
        def remaining() -> Floats:
            n, i = place.pairs
            resources = self.instance.shape[2]
            row = (i[:, None] * resources + np.arange(resources)).ravel()
            need = self.instance.demand_by_server[n, i].ravel()
            tasks = Twofold(*(np.repeat(part, resources) for part in place.tasks))
            return remainders(self.instance.pool.ravel(), row, need, tasks)

        found: Floats = remembered(place, "_left", remaining)
        return found

    def room(self, place: Place) -> Floats:
        """(N,) tasks up to the limit; inf without one."""
        def remaining() -> Floats:
            limit, n = self.instance.limit, place.pairs[0]
            some = np.flatnonzero(np.isfinite(limit[n]))
            return remainders(limit, n[some], np.ones(len(some)), place.tasks.at(some))

        found: Floats = remembered(place, "_room", remaining)
        return found

    def share(self, place: Place) -> Floats:
        """(N,)"""
        n, i = place.pairs
        share = np.bincount(n, self.score[n, i] * place.tasks.high, self.instance.shape[0])
        return np.asarray(share, dtype=np.float64)

    def paid(self, place: Place) -> tuple[Twofold, float]:
        """(N,) q, the cheapest price of a unit of share over all eligible pairs; NaN where there
        is none. And the money that users pay above it for the shares they hold."""
        inst = self.instance
        price, share = place.price.high.reshape(inst.pool.shape), np.zeros(inst.shape[:2])
        share[place.pairs] = place.tasks.high * self.score[place.pairs]
        high, low = np.full((2, inst.shape[0]), np.nan)
        above = 0.0
        for users in inst.blocks():
            eligible, held = inst.eligible[users], share[users]
            each = task_cost(inst, price, users, place.limit_price.high)
            each = np.where(eligible, each / np.where(eligible, self.score[users], 1.0), np.inf)
            near = each <= rows.least(each)[:, None] * (1 + NEAR)
            n, i = np.nonzero(near | (held > 0))
            if not len(n):
                continue
            cost = self.cost(place, n + users.start, i)
            first = np.flatnonzero(np.diff(n, prepend=-1))
            some = users.start + n[first]
            high[some] = np.minimum.reduceat(cost.high, first)
            tie = np.where(cost.high == high[users.start + n], cost.low, np.inf)
            low[some] = np.minimum.reduceat(tie, first)
            more = cost.minus(Twofold(high, low).at(users.start + n))
            above += float((np.maximum(more, 0.0) * held[n, i]).sum())
        return Twofold(high, low), above


def located(market: Market, place: Place) -> tuple[Floats, Floats]:
    """(N,) log s0 and (N,) the proved bound on |log(s*/s0)|, s* the shares of any optimum; inf if
    the point proves nothing."""
    nothing = np.full((2, len(market.log_w)), np.inf)
    inst, alpha = market.instance, market.alpha
    with np.errstate(all="ignore"):
        left, room, (q, above) = market.left(place), market.room(place), market.paid(place)
        # any use of a resource that the row does not have is too much
        beyond = np.where(left < 0, -left / inst.pool.ravel(), 0.0)
        over = max(float(beyond.max()), float(np.maximum(-room / inst.limit, 0.0).max()))
        if not over <= OVER or (place.price.high < 0).any() or (place.limit_price.high < 0).any():
            return nothing[0], nothing[1]
        money = place.price.high * inst.pool.ravel()
        priced = place.limit_price.high > 0
        limits = place.limit_price.high[priced] * inst.limit[priced]
        budget = float(money.sum() + limits.sum())
        idle = float((place.price.high * np.abs(left)).sum())
        idle += float((place.limit_price.high[priced] * np.abs(room[priced])).sum())
        log_q = np.log(q.high)
        log_best = (market.log_w - log_q) / alpha
        own = np.exp(log_q + log_best)
        off = np.abs(np.log(market.share(place)) - log_best) + 2 * over
        if not (off.max() * (1 + alpha) <= SMALL):
            return nothing[0], nothing[1]
        loss = float((0.51 * alpha * own * off**2).sum())
        eps = idle + above + loss + (over + DIGITS) * budget
        away = np.sqrt(2.05 * eps / (alpha * own))
        return log_best, np.where(away * (1 + alpha) <= SMALL, away, np.inf)
