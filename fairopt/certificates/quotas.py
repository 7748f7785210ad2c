r"""The judge of alpha-fair answers with groups, guarantees, ceilings, lending and modes.

With prices >= 0 of all rules, c_n the cheapest price of a unit of share and B the value of all that
is priced, every feasible answer has sum c_n s_n <= B and s_n >= sigma_n. The best shares within
these two alone are worth at least as much as any feasible ones:

.. math:: s^0_n = \max \big( \sigma_n, (W_n / \lambda c_n)^{1/\alpha} \big), \quad
          \sum_n c_n s^0_n = B .

lambda is the common scale of the prices, and nu_n = (c_n - W_n sigma_n^-alpha / lambda)^+ the price
of a floor; with q = c - nu and B - sum nu sigma these are the closed forms of docs/maths/prices.md.
The judge works out both itself, so no scale and no price of a floor can mislead it. With `above`
the same holds of what is above the floors, s - sigma, with the floors' money taken off B. Who
cannot have more than its floor, whatever is done, would have a welfare of -inf then; that is proved
apart (`due.at_floors` finds prices for it), and such a user does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import (
    CERTIFIED,
    REFUTED,
    UNPROVED,
    Certificate,
    Check,
    Intervals,
)
from fairopt.certificates.due import at_floors, tangent
from fairopt.certificates.intervals import FLOOR, PINNED, Spans
from fairopt.certificates.ruled import feasible, words
from fairopt.certificates.ruled.answer import Bill, Prices, Ruled
from fairopt.formulas import welfare
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.instance import Bools, Floats

TOLERANCE = 1e-6
SAME = 1e-12
"""bounds that differ by at most this part are one"""
AT = 1e-9
"""a user that has all but this part of its limit is at its limit"""


@dataclass(frozen=True)
class Proof:
    """What prices prove: the gap; of every user (N,) the share that is best for it at the prices
    (`due`), its residual and the money it pays, c s."""

    gap: float
    due: Floats
    residual: Floats
    money: Floats


@dataclass(frozen=True)
class Terms:
    """The welfare that is judged: alpha, log W (N,), floors (N,), what is taken off shares (N,)
    before, and who does not count (N,), as nobody can give it more than its floor."""

    alpha: float
    log_w: Floats
    floor: Floats
    base: Floats
    stuck: Bools

    @classmethod
    def of(cls, alloc: Allocation, asked: Entitled) -> Terms:
        """Those of an answer's notion."""
        given = alloc.kind["parameters"]
        alpha = float(given["alpha"])
        log_w = welfare.log_weight(asked.weight, alpha, bool(given.get("weight_inside", False)))
        nobody = np.zeros(len(log_w), dtype=bool)
        return cls(alpha, log_w, asked.floor, asked.base, nobody)


def judge(alloc: Allocation) -> Certificate:
    """Certified: every rule kept, gap and residuals of at most 1e-6 at the given prices.

    `gap` bounds an equal rise of every share (of what is above the floors, with `above`).
    """
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    terms = Terms.of(alloc, asked)
    ruled = Ruled(alloc)
    kept = feasible.checks(ruled, asked.floor)
    factor = feasible.shrink(ruled)
    shrunk = Ruled(alloc, factor) if factor < 1 else ruled
    users = alloc.instance.users
    if asked.added and terms.alpha > 0:
        terms = replace(terms, stuck=_stuck(shrunk, asked))
    given = given_prices(alloc, ruled)
    if not any(part.any() for part in given):
        given = _guessed(shrunk, terms)
    found = best(shrunk, terms, given)
    worst = int(np.argmax(found.residual))
    checks = [
        *kept,
        Check.of("gap", found.gap, TOLERANCE, "an equal rise of every share"),
        Check.of("residual", float(found.residual[worst]), TOLERANCE, users[worst]),
    ]
    notes = [f"with a price: {name}" for name in words.rules(alloc.instance, given)[: words.MOST]]
    if len(np.unique(asked.rank)) > 1:
        notes.insert(0, "priority classes are judged under max-min only")
        checks.append(Check.of("one priority class", 1.0, 0.0))
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    if not all(c.holds for c in kept):
        verdict = REFUTED
    low, high = spans(shrunk, terms, found)
    loose = ~(found.residual <= TOLERANCE) | ~(high <= low * (1 + PINNED))
    names = tuple([users[n] for n in np.flatnonzero(loose).tolist()])
    ends = Intervals(len(users), lambda: (low, high))
    largest = float(found.residual[worst])
    return Certificate(verdict, found.gap, largest, names, tuple(checks), ends, tuple(notes))


def _guessed(ruled: Ruled, terms: Terms) -> Prices:
    """Prices for a division that has none, from the marginal value of what each user has."""
    share = np.maximum(ruled.share - terms.base, ruled.nothing)
    log_value = terms.log_w - (terms.alpha * np.log(share) if terms.alpha else 0.0)
    value = np.exp(np.maximum(log_value - log_value.max(), -600.0))
    return tangent(ruled.alloc, terms.floor, np.where(terms.stuck, 0.0, value))


def given_prices(alloc: Allocation, ruled: Ruled) -> Prices:
    """The prices of an answer; 0 for those it does not have."""
    none = ruled.none()
    given = (alloc.prices, alloc.limit_prices, alloc.bound_prices, alloc.node_prices)
    return Prices(*[own if own is not None else no for own, no in zip(given, none, strict=True)])


def best(ruled: Ruled, terms: Terms, prices: Prices) -> Proof:
    """The best of what the prices prove, all of them or without trifles; any prices are a proof."""
    users = len(ruled.share)
    nothing = np.full(users, np.inf)
    tried = [Proof(np.inf, np.full(users, np.nan), nothing, np.zeros(users))]
    for cleaned in ruled.cleaned(prices):
        with np.errstate(all="ignore"):
            tried.append(prove(ruled, terms, cleaned))
    return min(tried, key=lambda proof: max(proof.gap, float(proof.residual.max())))


def _stuck(ruled: Ruled, asked: Entitled) -> Bools:
    """(N,) who holds its floor, and is proved unable to hold more while all others hold theirs."""
    floor, share = asked.floor, ruled.share
    held = (floor > 0) & (share <= floor * (1 + TOLERANCE))
    proved = np.zeros_like(held)
    for prices in at_floors(ruled.alloc, asked, held) if held.any() else []:
        for cleaned in ruled.cleaned(prices):
            with np.errstate(all="ignore"):
                bill = ruled.bill(cleaned)
                q = bill.cheapest
                left = bill.idle + bill.over.sum()
                left += float((q * np.maximum(share - floor, 0.0))[q > 0].sum())
                proved |= held & (q > 0) & (left <= TOLERANCE * q * floor)
    return proved


def prove(ruled: Ruled, terms: Terms, prices: Prices) -> Proof:
    """What finite prices prove."""
    bill = ruled.bill(prices)
    cheapest, money, on = bill.cheapest, bill.cheapest * ruled.share, ~terms.stuck
    if not (np.isfinite(bill.budget) and (cheapest[on] > 0).all() and np.isfinite(cheapest).all()):
        users = len(money)
        return Proof(np.inf, np.full(users, np.nan), np.full(users, np.inf), money)
    if terms.alpha == 0:
        return _linear(ruled, terms, bill)
    share, floor = ruled.share - terms.base, terms.floor - terms.base
    budget = bill.budget - float(cheapest @ terms.base)
    if budget <= TOLERANCE * float(money[on].min(initial=np.inf)):  # the floors are all there is
        left = np.where(on, np.maximum(budget, 0.0) / money, 0.0)
        off = np.abs(share) / np.maximum(ruled.share, ruled.nothing)
        return Proof(0.0, ruled.share, np.maximum(left, off), money)
    counted, due = replace(terms, log_w=terms.log_w[on]), np.zeros_like(share)
    due[on] = _shares(counted, cheapest[on], floor[on], budget)
    gap = _gap(counted, np.maximum(share[on], 0.0), due[on])
    off = _off(ruled, due + terms.base)
    lost = bill.over + _unused(ruled, prices)
    residual = off + np.where(lost == 0, 0.0, lost / money) + ruled.half_full(prices)
    if residual.max() <= TOLERANCE:
        # no user can lose more than all that others waste, or hold of what they are not due
        waste = float(bill.over.sum()) + bill.idle + float((off * money).sum())
        residual = np.maximum(residual, np.where(on, waste / money, 0.0))
    residual = np.where(np.isnan(residual), np.inf, residual)
    return Proof(gap, due + terms.base, residual, money)


def _shares(terms: Terms, cheapest: Floats, floor: Floats, budget: float) -> Floats:
    """(N,) s0, by bisection of log lambda."""
    log_s = (terms.log_w - np.log(cheapest)) / terms.alpha

    def at(shift: float) -> Floats:
        return np.maximum(np.exp(log_s - shift), floor)

    # without floors in closed form, which is where the search begins
    shift = welfare.log_sum_exp(np.log(cheapest) + log_s) - float(np.log(budget))
    found = at(shift)
    if cheapest @ found <= budget * (1 + 1e-15) or not floor.any():
        return found
    low, high = shift, shift + 1.0
    while cheapest @ at(high) > budget and high < shift + 1e4:
        high = shift + 2 * (high - shift)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if cheapest @ at(middle) > budget else (low, middle)
    # in closed form for those above their floors, since the money of the others is known
    found = at(high)
    free = found > floor
    rest = budget - float(cheapest[~free] @ floor[~free])
    if free.any() and rest > 0:
        exact = welfare.log_sum_exp((np.log(cheapest) + log_s)[free]) - float(np.log(rest))
        found[free] = np.maximum(np.exp(log_s[free] - exact), floor[free])
    return found


def _gap(terms: Terms, share: Floats, due: Floats) -> float:
    """E(s0) / E(s) - 1, at least 0."""
    rise = welfare.log_equivalent(terms.log_w, due, terms.alpha)
    rise -= welfare.log_equivalent(terms.log_w, share, terms.alpha)
    found = float(np.expm1(rise))
    return np.inf if np.isnan(found) else max(found, 0.0)


def _off(ruled: Ruled, due: Floats) -> Floats:
    """(N,) distance from s0 relative to it; of a user at its limit only what it has too much."""
    share = np.maximum(ruled.share, ruled.nothing)
    off = share / np.maximum(due, ruled.nothing) - 1.0
    return np.where(_wants_no_more(ruled), np.maximum(off, 0.0), np.abs(off))


def _wants_no_more(ruled: Ruled) -> Bools:
    """(N,) who is at its limit, with all tasks where the score is highest."""
    found: Bools = ruled.share >= ruled.most * (1 - AT)
    return found


def _unused(ruled: Ruled, prices: Prices) -> Floats:
    """(N,) money that each user pays for rows that are not full, of every row the part idle."""
    return ruled.paid(ruled.idle_prices(prices))


def _linear(ruled: Ruled, terms: Terms, bill: Bill) -> Proof:
    """alpha = 0. At scale lambda a user whose unit costs less than W could still gain W - lambda c
    on all that it could have alone; one whose unit costs more holds its floor only."""
    value, cheapest, share = np.exp(terms.log_w - terms.log_w.max()), bill.cheapest, ruled.share
    most = np.minimum(ruled.alone, ruled.most)
    scales = np.unique(value / cheapest)
    if len(scales) > 2000:
        scales = scales[:: len(scales) // 2000]
    price = scales[:, None] * cheapest
    bounds = scales * bill.budget + (
        np.maximum(value - price, 0.0) @ most - np.maximum(price - value, 0.0) @ terms.floor
    )
    total = float(value @ share)
    gap = max(float(bounds.min()) / total - 1.0, 0.0) if total > 0 else np.inf

    def at(scale: float) -> Proof:
        cost = scale * cheapest
        short = np.maximum(value - cost, 0.0) / value
        above = np.maximum(cost - value, 0.0) * np.maximum(share - terms.floor, 0.0)
        lost = (above + scale * bill.over) / (value * np.maximum(share, ruled.nothing))
        return Proof(gap, share, np.maximum(short, lost), cost * share)

    # where one user pays for everything, the bound is the same at a whole range of scales
    least = scales[bounds <= bounds.min() * (1 + SAME)]
    return min(map(at, least.tolist()), key=lambda proof: float(proof.residual.max()))


def spans(ruled: Ruled, terms: Terms, found: Proof) -> tuple[Floats, Floats]:
    """(N,) lowest and highest share at any optimum, as for plain answers (`intervals`)."""
    users = len(ruled.share)
    if terms.alpha == 0 or not np.isfinite(found.gap) or np.isnan(found.due).any():
        return terms.floor.copy(), np.full(users, np.inf)
    on, low, high = ~terms.stuck, found.due.copy(), found.due.copy()
    alpha, log_w, base = terms.alpha, terms.log_w[on], terms.base[on]
    share, due = ruled.share[on] - base, found.due[on] - base
    if not (due > 0).any():
        return low, high
    with np.errstate(all="ignore"):
        log_s, log_due = np.log(np.maximum(share, 0.0)), np.log(np.maximum(due, 0.0))
        rise = np.log1p(found.gap)
        part = rise if alpha == 1 else np.expm1((1 - alpha) * rise) / (1 - alpha)
        value = log_w if alpha == 1 else log_w + (1 - alpha) * log_s
        log_gap = np.log(part) + welfare.log_sum_exp(value)
        eps0, eps1 = (
            np.maximum(np.exp(log_gap - log_w - (1 - alpha) * log), FLOOR)
            for log in (log_due, log_s)
        )
        least, most = Spans(alpha, share, due, eps0, eps1).ends()
    low[on] = np.maximum(least + base, terms.floor[on])
    high[on] = np.maximum(np.where(np.isnan(most), np.inf, most + base), low[on])
    return low, high
