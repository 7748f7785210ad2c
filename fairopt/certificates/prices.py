r"""What prices prove about an alpha-fair answer (SYSTEMS A2.2, A2.3; weak duality).

For ANY prices p[i,r] >= 0 and mu_n >= 0 on limits, with

.. math:: q_n = \min_i \frac{\sum_r p_{i,r} d_{n,r} + \mu_n}{u_{n,i}}, \qquad
          B = \sum_{i,r} k_i c_{i,r} p_{i,r} + \sum_n \mu_n L_n

(k the count, L the limit) every feasible x has sum_n q_n s_n <= B. All functions work in
logarithms, so no alpha, weight or unit over- or underflows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt import welfare
from fairopt.allocation import Allocation, pair_cost
from fairopt.certificates.universal import universal_bound
from fairopt.errors import UsageError
from fairopt.instance import Floats, Ints

NEGLIGIBLE = 1e-9
"""shares below this part of what the user could have alone, times its due, count as zero (P2)"""


@dataclass(frozen=True)
class Duality:
    """An alpha-fair answer beside its prices.

    Parameters
    ----------
    alloc : the answer, with prices; share (N,) its shares, shrunk to be exactly feasible.
    shrink : the factor they were shrunk by.
    log_w : (N,) log W. alpha : >= 0.
    cost : (P,) price of one unit of share on each eligible pair; cheapest (N,) = q.
    budget : B. floor : (N,) the share that still counts as zero.
    """

    alloc: Allocation
    alpha: float
    log_w: Floats
    share: Floats
    cost: Floats
    cheapest: Floats
    budget: float
    floor: Floats
    shrink: float

    @classmethod
    def of(cls, alloc: Allocation, shrink: float = 1.0) -> Duality:
        inst, u = alloc.instance, alloc.score
        parameters = alloc.notion["parameters"]
        alpha = welfare.alpha_of(alloc.notion)
        if alpha is None:
            raise UsageError(f"notion {alloc.notion['name']!r} is not alpha-fair")
        inside = bool(parameters.get("weight_inside", False))
        n, i = inst.pairs
        assert alloc.prices is not None
        with np.errstate(over="ignore"):  # an infinite budget proves nothing, and is said to
            cost = pair_cost(alloc) / u[n, i]
            budget = float((alloc.prices * inst.pool).sum())
            if alloc.limit_prices is not None:
                priced = alloc.limit_prices > 0
                budget += float((alloc.limit_prices[priced] * inst.limit[priced]).sum())
        cheapest = np.full(len(inst.users), np.inf)
        np.minimum.at(cheapest, n, cost)
        alone = np.zeros(len(inst.users))
        np.maximum.at(alone, n, (u * inst.alone)[n, i])
        log_w = welfare.log_worth(inst.weight, alpha, inside)
        return cls(
            alloc, alpha, log_w, np.maximum(alloc.shares, 0.0) * shrink, cost, cheapest, budget,
            NEGLIGIBLE * alone * _due(log_w, alpha), shrink,
        )  # fmt: skip


def _due(log_w: Floats, alpha: float) -> Floats:
    """(N,) W^(1/alpha) / sum W^(1/alpha): the part of a shared pool that weights alone would give.

    A user of weight 1e-12 is due 1e-12 of a pool it shares; that is not nothing.
    """
    if alpha == 0:
        return np.ones_like(log_w)
    log_v = log_w / alpha
    return np.exp(np.maximum(log_v - welfare.log_sum_exp(log_v), -600.0))


def log_scale(dual: Duality) -> float:
    """log t of the best common scale t p of the prices: t = (A/B)^alpha, A = sum W^(1/a) q^(1-1/a).

    For alpha = 0 the scale at which the budget is what the answer is worth.
    """
    with np.errstate(divide="ignore"):
        if dual.alpha == 0:
            return welfare.log_sum_exp(dual.log_w + np.log(dual.share)) - float(np.log(dual.budget))
        return dual.alpha * (_log_mass(dual) - float(np.log(dual.budget)))


def _log_mass(dual: Duality) -> float:
    """log A."""
    with np.errstate(divide="ignore"):
        log_q = np.log(dual.cheapest)
    return welfare.log_sum_exp(dual.log_w / dual.alpha + (1 - 1 / dual.alpha) * log_q)


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
        log_s, log_q = np.log(dual.share), np.log(dual.cheapest)
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
    """The same bound by the tangent of log E at the answer (SYSTEMS A2.1).

    E is concave and homogeneous, so E(x') / E(x) <= sum_n w_n s'_n / s_n with the weights
    w_n = W s^(1-alpha) / sum W s^(1-alpha). For alpha = 0 this is exact in the prices.
    """
    inst, alloc, alpha = dual.alloc.instance, dual.alloc, dual.alpha
    n, i = inst.pairs
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        log_s = np.log(dual.share)
        terms = dual.log_w if alpha == 1 else dual.log_w + (1 - alpha) * log_s
        log_slope = dual.log_w - (alpha * log_s if alpha else 0.0) - welfare.log_sum_exp(terms)
        gradient = np.exp(log_slope)[n] * alloc.score[n, i]
    held = np.maximum(alloc.tasks, 0.0) * dual.shrink
    assert alloc.prices is not None
    return universal_bound(inst, gradient, held, alloc.prices, alloc.limit_prices)


def residual(dual: Duality) -> Floats:
    """(N,) each user's own distance from optimality at these prices (promise P2), relative.

    The sum of |s/s0 - 1| with s0 = (W/(t q))^(1/alpha), money paid above the cheapest price, and
    money paid for resources that are not full, the last two per money of the user. A user at its
    limit errs only by s > s0. alpha = 0: |q - W|/W below, money above W instead of |s/s0 - 1|.
    """
    inst, alpha = dual.alloc.instance, dual.alpha
    n, i = inst.pairs
    users = len(inst.users)
    held = np.maximum(dual.share, dual.floor)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_t = log_scale(dual)
        log_q = np.log(dual.cheapest)
        if alpha == 0:
            log_gap_w = dual.log_w - log_t - log_q
            # unserved users may find every pair too dear; served ones must pay their worth
            served = dual.share > dual.floor
            error = np.expm1(log_gap_w)
            error = np.where(served, np.abs(error), np.maximum(error, 0.0))
        else:
            wanted = np.exp((dual.log_w - log_q - log_t) / alpha)
            error = held / np.maximum(wanted, dual.floor) - 1.0
        at_limit = dual.alloc.totals >= inst.limit * (1 - 1e-9)
        error = np.where(at_limit, np.maximum(error, 0.0), np.abs(error)) if alpha else error
        tasks = np.maximum(dual.alloc.tasks[n, i], 0.0)
        share = tasks * dual.alloc.score[n, i]
        money = dual.cheapest * held
        above = _sum(n, share * (dual.cost - dual.cheapest[n]), users)
        assert dual.alloc.prices is not None
        slack = np.clip(1.0 - dual.alloc.utilisation, 0.0, 1.0)
        idle = np.einsum("pr,pr->p", (dual.alloc.prices * slack)[i], inst.pair_demand)
        unused = _sum(n, tasks * idle, users)
        if dual.alloc.limit_prices is not None:
            room = np.clip(1.0 - dual.alloc.totals / inst.limit, 0.0, 1.0)
            unused = unused + dual.alloc.limit_prices * room * dual.alloc.totals
        total = error + (above + unused) / money
    return np.where(np.isfinite(total), total, np.inf)


def _sum(index: Ints, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)


def intervals(dual: Duality, bound: float) -> tuple[tuple[float, float], ...]:
    """(lowest, highest) share each user has at ANY optimum, proved by prices and gap together.

    The optimum s* loses in the bound, user by user, W (g(s0) + g'(s0)(s* - s0) - g(s*)) >= 0, and
    these losses sum to at most the absolute gap; the same holds around the answer itself
    (SYSTEMS A2.3). Both sets are intersected. alpha = 0 determines nothing: (0, inf).
    """
    alpha, users = dual.alpha, len(dual.share)
    if alpha == 0 or not np.isfinite(bound):
        return ((0.0, np.inf),) * users
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        log_s = np.log(dual.share)
        value = welfare.log_sum_exp(dual.log_w + (1 - alpha) * log_s)
        # absolute gap = value (expm1((1-alpha) log(1+gap)) / (1-alpha)), in logarithms
        rise = np.log1p(bound)
        factor = rise if alpha == 1 else np.expm1((1 - alpha) * rise) / (1 - alpha)
        log_gap = np.log(factor) + (welfare.log_sum_exp(dual.log_w) if alpha == 1 else value)
        log_s0 = (dual.log_w - np.log(dual.cheapest) - log_scale(dual)) / alpha
        eps0 = np.maximum(np.exp(log_gap - dual.log_w - (1 - alpha) * log_s0), 1e-14)
        low0, high0 = _bracket(lambda log_t: _loss(log_t, alpha), eps0)
        eps1 = np.maximum(np.exp(log_gap - dual.log_w - (1 - alpha) * log_s), 1e-14)
        # around the answer: tau = s/s*
        low1, high1 = _bracket(lambda log_t: _loss_from(log_t, alpha), eps1)
        lowest = np.fmax(np.exp(log_s0) * low0, dual.share / high1)
        highest = np.fmin(np.exp(log_s0) * high0, dual.share / low1)
    return tuple(
        (float(a), float(b)) for a, b in zip(lowest, np.maximum(lowest, highest), strict=True)
    )


def _loss(log_t: Floats, alpha: float) -> Floats:
    """g(1) + g'(1)(t - 1) - g(t) >= 0: the loss at s* = t s0 in the tangent at s0."""
    if alpha == 1:
        return np.expm1(log_t) - log_t
    return np.expm1(log_t) - np.expm1((1 - alpha) * log_t) / (1 - alpha)


def _loss_from(log_t: Floats, alpha: float) -> Floats:
    """t^(alpha-1) _loss(t) >= 0: the loss at s = t s* in the tangent at s*, in units of W s^(1-a).

    Written out, because the product is 0 times infinity far away.
    """
    if alpha == 1:
        return _loss(log_t, 1.0)
    rise = np.exp((alpha - 1) * log_t) * np.expm1(log_t)
    loss = rise - np.expm1((alpha - 1) * log_t) / (alpha - 1)
    # only far above, where both terms overflow
    return np.where(np.isnan(loss), np.inf, loss)


def _bracket(loss: Callable[[Floats], Floats], eps: Floats) -> tuple[Floats, Floats]:
    """The ends t <= 1 <= t of {loss(log t) <= eps}, by bisection; 0 or inf where it is open."""
    ends = []
    for sign in (-1.0, 1.0):
        inside, outside = np.zeros_like(eps), np.full_like(eps, 600.0)
        for _ in range(80):
            middle = (inside + outside) / 2
            ok = loss(sign * middle) <= eps
            inside, outside = np.where(ok, middle, inside), np.where(ok, outside, middle)
        ends.append(np.where(inside > 599, np.exp(sign * np.inf), np.exp(sign * outside)))
    return ends[0], ends[1]
