r"""What prices prove about an alpha-fair answer, by weak duality (docs/maths/prices.md).

For ANY prices p[i,r] >= 0 and mu_n >= 0 on limits, with

.. math:: q_n = \min_i \frac{\sum_r p_{i,r} d_{n,r} + \mu_n}{u_{n,i}}, \qquad
          B = \sum_{i,r} k_i c_{i,r} p_{i,r} + \sum_n \mu_n L_n

(k the count, L the limit) every feasible x has sum_n q_n s_n <= B. All functions work in
logarithms, so no alpha, weight or unit over- or underflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.at_limit import log_scale_below, wants_no_more
from fairopt.certificates.located import Market
from fairopt.certificates.money import LEAST, backed_cheapest, misplaced, steady, task_price
from fairopt.certificates.others import lost
from fairopt.certificates.overpaid import overpaid
from fairopt.certificates.universal import universal_bound
from fairopt.errors import UsageError
from fairopt.formulas import rows, welfare
from fairopt.instance import Floats, remembered

NEGLIGIBLE = 1e-9
"""shares below this part of what the user is due of what it could have alone, or of its limit,
count as zero (P2)"""
TOLERANCE = 1e-6
"""largest gap and residual of a certified answer"""
ENOUGH = 1e-9
"""residual below which no other scale is tried"""

@dataclass(frozen=True)
class Duality:
    """An alpha-fair answer beside its prices.

    Parameters
    ----------
    alloc : the answer, its prices brought to the middle of floating point; share (N,) its shares,
        shrunk to be exactly feasible.
    shrink : the factor they were shrunk by.
    log_w : (N,) log W. alpha : >= 0.
    cheapest : (N,) q, the cheapest price of one unit of share.
    budget : B. floor : (N,) the share that still counts as zero.
    """

    alloc: Allocation
    alpha: float
    log_w: Floats
    share: Floats
    cheapest: Floats
    budget: float
    floor: Floats
    shrink: float

    @classmethod
    def of(cls, alloc: Allocation, shrink: float = 1.0) -> Duality:
        """The duality of an answer with prices, its tasks multiplied by `shrink`."""
        inst = alloc.instance
        parameters = alloc.kind["parameters"]
        alpha = welfare.alpha_of(alloc.notion)
        if alpha is None:
            raise UsageError(f"notion {alloc.notion['name']!r} is not alpha-fair")
        inside = bool(parameters.get("weight_inside", False))
        alloc = steady(alloc)
        assert alloc.prices is not None
        cheapest, alone, most = (np.empty(len(inst.users)) for _ in range(3))
        with np.errstate(over="ignore"):  # an infinite budget gives an infinite gap
            for users in inst.blocks():
                score, limit = alloc.score[users], inst.limit[users, None]
                cheapest[users] = rows.least(share_price(alloc, users))
                alone[users] = rows.largest(score * inst.alone[users])
                most[users] = rows.largest(score * np.minimum(inst.alone[users], limit))
            budget = float((alloc.prices * inst.pool).sum())
            if alloc.limit_prices is not None:
                priced = alloc.limit_prices > 0
                budget += float((alloc.limit_prices[priced] * inst.limit[priced]).sum())
        log_w = welfare.log_weight(inst.weight, alpha, inside)
        return cls(
            alloc, alpha, log_w, np.maximum(alloc.shares, 0.0) * shrink, cheapest, budget,
            NEGLIGIBLE * np.minimum(alone * _due(log_w, alpha), most), shrink,
        )  # fmt: skip

    @cached_property
    def log_share(self) -> Floats:
        """(N,) log s; -inf for a share of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.share)

    @cached_property
    def market(self) -> Market:
        """The market of the answer, in the unit in which all its money is 1."""
        return Market.of(self.alloc, self.alpha, self.log_w, self.log_share)

    @cached_property
    def money(self) -> Floats:
        """(N,) what each user's share costs where it is cheapest."""
        return self.cheapest * np.maximum(self.share, self.floor)

    @cached_property
    def log_cheapest(self) -> Floats:
        """(N,) log q; -inf for a price of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.cheapest)


def share_price(alloc: Allocation, users: slice) -> Floats:
    """(users, I) price of one unit of share; inf where not eligible."""
    inst, cost = alloc.instance, task_price(alloc, users)
    if inst.everywhere:
        price = np.divide(cost, alloc.score[users], out=cost)
    else:
        price = np.full_like(cost, np.inf)
        np.divide(cost, alloc.score[users], out=price, where=inst.eligible[users])
    price[price < LEAST] = 0.0
    return price


def _due(log_w: Floats, alpha: float) -> Floats:
    """(N,) W^(1/alpha) / sum W^(1/alpha): the part of a shared pool that weights alone would give.

    A user of weight 1e-12 is due 1e-12 of a pool it shares, which must not count as zero.
    """
    if alpha == 0:
        return np.ones_like(log_w)
    log_v = log_w / alpha
    return np.exp(np.maximum(log_v - welfare.log_sum_exp(log_v), -600.0))


def log_scale(dual: Duality) -> float:
    """log t of the best common scale t p of the prices: t = (A/B)^alpha, A = sum W^(1/a) q^(1-1/a).

    For alpha = 0 the scale at which the budget equals the objective of the answer.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN, of users with no price: no proof
        if dual.alpha == 0:
            return welfare.log_sum_exp(dual.log_w + dual.log_share) - float(np.log(dual.budget))
        return dual.alpha * (_log_mass(dual) - float(np.log(dual.budget)))


def _log_mass(dual: Duality) -> float:
    """log A."""
    return welfare.log_sum_exp(dual.log_w / dual.alpha + (1 - 1 / dual.alpha) * dual.log_cheapest)


def gap(dual: Duality) -> float:
    """Bound on how much every share could rise at once: E(optimum) <= (1 + gap) E(answer).

    alpha = 1: log(1+gap) = sum phi log(phi B / (Phi q s)) / Phi; else
    1 + gap = B (A^alpha / sum W s^(1-alpha))^(1/(1-alpha)). alpha = 0 has no such form: there
    it is the `second_opinion`.
    """
    alpha = dual.alpha
    if not (dual.budget > 0 and np.isfinite(dual.budget)):
        return np.inf
    if alpha == 0:
        return second_opinion(dual)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_s, log_q = dual.log_share, dual.log_cheapest
        if alpha == 1:
            w = np.exp(dual.log_w)
            log_gap = float(w @ (dual.log_w - log_q - log_s) / w.sum())
            log_gap += float(np.log(dual.budget) - np.log(w.sum()))
        else:
            value = welfare.log_sum_exp(dual.log_w + (1 - alpha) * log_s)
            log_gap = float(np.log(dual.budget)) + (alpha * _log_mass(dual) - value) / (1 - alpha)
        found = float(np.expm1(log_gap))
    return max(found, 0.0) if not np.isnan(found) else np.inf


def second_opinion(dual: Duality) -> float:
    """The same bound by the tangent of log E at the answer (docs/maths/prices.md).

    E is concave and homogeneous, so E(x') / E(x) <= sum_n w_n s'_n / s_n with the weights
    w_n = W s^(1-alpha) / sum W s^(1-alpha). For alpha = 0 this is exact in the prices.
    """
    inst, alloc, alpha = dual.alloc.instance, dual.alloc, dual.alpha
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        log_s = dual.log_share
        terms = dual.log_w if alpha == 1 else dual.log_w + (1 - alpha) * log_s
        log_slope = dual.log_w - (alpha * log_s if alpha else 0.0) - welfare.log_sum_exp(terms)
        slope = np.exp(log_slope)
    held = alloc.tasks
    if dual.shrink < 1 or held.min() < 0:
        held = np.maximum(held, 0.0) * dual.shrink
    assert alloc.prices is not None

    def gradient(users: slice) -> Floats:
        block: Floats = slope[users, None] * alloc.score[users]
        return block

    return universal_bound(inst, gradient, held, alloc.prices, alloc.limit_prices)


def residual(dual: Duality) -> Floats:
    """(N,) each user's own distance from optimality at these prices (promise P2), relative.

    The sum of |s/s0 - 1| with s0 = (W/(t q))^(1/alpha), money paid above the cheapest price, and
    money paid for resources that are not full, the last two per money of the user. A user at its
    limit errs only by s > s0 (where its scores differ, only once the price of the limit dwarfs
    rents). alpha = 0: |q - W|/W below, money above W instead of |s/s0 - 1|. Or, where that is
    more, the money paid for capacity that its holders could do without, because the same tasks
    would cost them less elsewhere (`displaced`); or what the errors of others and the idle parts
    of rows cost the user (`others`). Two scales t are tried, and the better one counts:
    that of the best gap, and that of the users below their limits.

    A user whose share counts as zero pays nothing that could confirm a price. So s0 of such a user,
    and W/q of every user at alpha = 0, is also computed with only the prices of resources that are
    full for it: its marginal value must not exceed those, as it would if the user could simply be
    given more. And at most a millionth of a share may lie on a server clearly dearer than the
    user's cheapest one.
    """
    log_t, found = best_scale(dual)
    if dual.alpha == 0 or not found.max() <= TOLERANCE:
        return found
    market = dual.market
    with np.errstate(divide="ignore"):
        log_floor = np.log(dual.floor)
    others = lost(
        dual.alloc, market, log_t - market.unit, found, dual.money, dual.log_share, log_floor
    )  # fmt: skip
    return np.maximum(found, others)


def own_scale(dual: Duality) -> float:
    """log t of the common scale at which the users err least by themselves."""
    return best_scale(dual)[0]


def best_scale(dual: Duality) -> tuple[float, Floats]:
    """(log t, residual (N,) there), kept with the duality."""
    found: tuple[float, Floats] = remembered(dual, "_scale", lambda: _scales(dual))
    return found


def _scales(dual: Duality) -> tuple[float, Floats]:
    log_t = log_scale(dual)
    found = log_t, _residual_at(dual, log_t)
    if (
        dual.alpha == 0
        or found[1].max() <= ENOUGH
        or not np.isfinite(dual.alloc.instance.limit).any()
    ):
        return found
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_t = log_scale_below(dual.alloc, dual.log_w, dual.log_cheapest, dual.alpha)
    if np.isnan(log_t):
        return found
    other = log_t, _residual_at(dual, log_t)
    return other if other[1].max() < found[1].max() else found


def _residual_at(dual: Duality, log_t: float) -> Floats:
    """(N,) the residual at one scale of the prices."""
    inst, alpha = dual.alloc.instance, dual.alpha
    held = np.maximum(dual.share, dual.floor)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_q = dual.log_cheapest
        if alpha == 0:
            log_gap_w = dual.log_w - log_t - log_q
            # prices may exceed the weight of unserved users, and must equal that of served ones
            served = dual.share > dual.floor
            error = np.expm1(log_gap_w)
            error = np.where(served, np.abs(error), np.maximum(error, 0.0))
            log_backed = np.log(backed_cheapest(dual.alloc))
            short = np.expm1(dual.log_w - log_t - log_backed)
            away = np.where(served, misplaced(dual.alloc, dual.alloc.held, dual.cheapest), 0.0)
            short = np.maximum(short, away)
        else:
            wanted = np.exp((dual.log_w - log_q - log_t) / alpha)
            nothing = dual.share <= dual.floor
            if nothing.any():
                log_backed = np.log(backed_cheapest(dual.alloc))
                backed = np.exp((dual.log_w - log_backed - log_t) / alpha)
                wanted = np.where(nothing, np.maximum(wanted, backed), wanted)
            error = held / np.maximum(wanted, dual.floor) - 1.0
        if alpha:
            error = np.where(wants_no_more(dual.alloc), np.maximum(error, 0.0), np.abs(error))
        above, unused, wasted = overpaid(dual.alloc, dual.cheapest)
        if dual.alloc.limit_prices is not None:
            room = np.clip(1.0 - dual.alloc.totals / inst.limit, 0.0, 1.0)
            unused = unused + dual.alloc.limit_prices * room * dual.alloc.totals
        vain, own = above + unused, dual.cheapest * held
        total = error + np.where(vain == 0, 0.0, vain / own)
        total = np.maximum(total, np.where(wasted == 0, 0.0, wasted / own))
        if alpha == 0:
            total = np.maximum(total, short)
    return np.where(np.isfinite(total), total, np.inf)
