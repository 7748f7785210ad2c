r"""KKT of notions with one concave objective f of the shares: alpha-fair, and the trade-off.

kesidis2018, appendix, for alpha-fair, with multipliers per unit of resource:

.. math:: u_{n,i} W_n s_n^{-\alpha} - \sum_r \lambda_{i,r} d_{n,r} - \mu_n + \nu_{n,i} = 0, \quad
          \nu_{n,i} x_{n,i} = 0, \quad \lambda_{i,r} (c_{i,r} - \sum_n d_{n,r} x_{n,i}) = 0

Prices of answers are normalised. Their factor to the multipliers follows from complementary
slackness: what all tasks gain is what all capacity and limits cost, sum G x = factor (sum p c +
sum mu limit).
"""

from __future__ import annotations

import math

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.formulas import penalties, welfare
from fairopt.instance import Floats
from fairopt.kkt.table import NO_PRICES, ConditionsTable, constraints, priced

CONDITION = "nu = cost - gain >= 0, and 0 where x > 0; lambda > 0 only where slack is 0"


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """One table."""
    if alloc.prices is None:
        raise UsageError(NO_PRICES)
    prices = _of_full(alloc, alloc.prices)
    mu = _limit_prices(alloc)
    money = float((prices * alloc.instance.pool).sum())
    capped = np.isfinite(alloc.instance.limit)
    money += float((mu[capped] * alloc.instance.limit[capped]).sum())
    if not 0 < money < math.inf:
        raise UsageError("kkt: the prices of this answer are all 0, or not finite")
    if alloc.kind["name"] == penalties.NAME:
        title, gain, log_factor = _tradeoff(alloc, money)
    else:
        title, gain, log_factor = _alpha_fair(alloc, money)
    notes = []
    scale = math.exp(log_factor) if -700 < log_factor < 700 else 0.0
    factor: float | None = scale
    if not scale:
        power = log_factor / math.log(10)
        notes.append(f"the multipliers are beyond floating point: all is divided by 1e{power:+.0f}")
        scale, factor = 1.0, None
    else:
        gain = gain * scale
    duals, limits = prices * scale, mu * scale
    return (
        ConditionsTable(
            title,
            CONDITION,
            priced(alloc, gain, duals, limits),
            constraints(alloc, duals, limits, prices, mu),
            factor,
            duals,
            tuple(notes),
        ),
    )


def _of_full(alloc: Allocation, prices: Floats) -> Floats:
    """Prices (I, R) with 0 for what is not full and has next to no part of the money.

    The price of a full row is kept however small: it may be all that a few tasks pay.
    """
    money = prices * alloc.instance.pool
    dust = (alloc.utilisation < 1 - 1e-9) & (money <= 1e-9 * float(money.sum()))
    return np.where(dust, 0.0, prices)


def _limit_prices(alloc: Allocation) -> Floats:
    """(N,) prices of limits, 0 where there is none or it is not reached."""
    inst = alloc.instance
    if alloc.limit_prices is None:
        return np.zeros(len(inst.users))
    return np.where(alloc.totals >= inst.limit * (1 - 1e-9), alloc.limit_prices, 0.0)


def _alpha_fair(alloc: Allocation, money: float) -> tuple[str, Floats, float]:
    """Title, gains (P,) divided by the factor, and the logarithm of the factor."""
    inst, alpha = alloc.instance, welfare.alpha_of(alloc.notion)
    assert alpha is not None
    inside = bool(alloc.kind["parameters"].get("weight_inside", False))
    log_w = welfare.log_weight(inst.weight, alpha, inside)
    if alpha == 0:
        # a user may have nothing: its term is 0, not 0 times minus infinity
        total, slope = float(np.log(np.exp(log_w) @ alloc.shares)), log_w
    else:
        with np.errstate(divide="ignore"):
            log_s = np.log(np.maximum(alloc.shares, 0.0))
        total, slope = welfare.log_sum_exp(log_w + (1 - alpha) * log_s), log_w - alpha * log_s
    log_factor = total - math.log(money)
    n, i = inst.pairs
    gain = np.exp(slope - log_factor)[n] * alloc.score[n, i]
    return titled(alpha, inside), gain, log_factor


def titled(alpha: float, inside: bool, above: str = "") -> str:
    """The program in letters; `above` is what is taken off a share before it counts."""
    w = f"phi_n^{alpha:g}" if inside else "phi_n"
    s = f"(s_n{above})" if above else "s_n"
    g = {0.0: s, 1.0: f"log {s}"}.get(alpha, f"{s}^{1 - alpha:g}/({1 - alpha:g})")
    u = " = sum_i u[n,i] x[n,i]" if "s_n" in g else ""
    d = {0.0: w, 1.0: f"{w} u[n,i]/{s}"}.get(alpha, f"{w} u[n,i]/{s}^{alpha:g}")
    return f"max sum {w} {g}, s_n{u}; gain = {d}"


def _tradeoff(alloc: Allocation, money: float) -> tuple[str, Floats, float]:
    """The same of (16); the hard forms have multipliers of their own, which no answer keeps."""
    terms = alloc.terms
    if terms.equal_across or terms.equal_within:
        raise UsageError(
            "kkt: found a hard form of the trade-off, whose own multipliers no answer keeps; "
            "wanted penalties"
        )
    where = alloc.instance, alloc.score, alloc.tasks
    gain = penalties.gain(*where, terms)
    # where penalties take all of the welfare's part, what is left is rounding
    welfare_part = penalties.gain(*where, penalties.Terms.free(terms.alpha))
    gain = np.where(np.abs(gain) <= 1e-10 * welfare_part, 0.0, gain)
    n, i = alloc.instance.pairs
    total = float((gain * np.maximum(alloc.tasks[n, i], 0.0)).sum())
    if not total > 0:
        raise UsageError("kkt: the penalties outweigh the welfare: all tasks together gain nothing")
    title = "max sum phi_n g(F_n) - t_PF var F - t_DRF sum V_i, F_n = sum_i a[n,i]/phi_n"
    return title, gain * (money / total), math.log(total / money)
