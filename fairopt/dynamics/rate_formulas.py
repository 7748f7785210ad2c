"""Rates of DRF, proportional fairness and BMF on one pool, for many states at once (bonald2015)."""

from __future__ import annotations

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats

STEPS = 200
"""most steps of an iteration; ten to forty are taken"""


SWEEPS = 10_000


STILL = 1e-12


def drf(part: Floats, number: Floats) -> tuple[Floats, None]:
    """Weighted water filling of dominant shares; users of a full resource stop (section 3.1)."""
    per_level = number / part.max(axis=1)  # (S, K), rate of a class at level 1
    rising: Bools = number > 0
    level, rates = np.zeros(len(number)), np.zeros_like(number)
    room = np.ones((len(number), part.shape[1]))
    for _ in range(part.shape[1]):  # a round fills one resource at least
        use = np.where(rising, per_level, 0.0) @ part
        rise = np.divide(room, use, out=np.full_like(room, np.inf), where=use > 0)
        first = rise.min(axis=1)
        more = np.where(np.isfinite(first), first, 0.0)
        level += more
        room = np.maximum(room - more[:, None] * use, 0.0)
        full = rise <= first[:, None] * (1 + 1e-12)
        stops = rising & ((full & (use > 0)) @ (part > 0).T)
        rates[stops] = (per_level * level[:, None])[stops]
        rising &= ~stops
        if not rising.any():
            break
    return rates, None


def pf_two(part: Floats, number: Floats) -> tuple[Floats, Floats]:
    """Proportional fairness over at most two resources.

    The rate of one is 1 / (a_k1 v_1 + a_k2 v_2) at prices v_1 + v_2 = N, the number present, of
    which the right ones make sum_k n_k (a_k1 - a_k2) / (a_k1 v_1 + a_k2 v_2) zero: it falls with
    v_1. Where it has no zero one resource alone is full. Bisection, by Newton's steps where they
    stay between the bounds.
    """
    resources = part.shape[1]
    if resources == 1:
        part = np.hstack([part, np.zeros_like(part)])
    first, second = part[:, 0], part[:, 1]
    apart = first - second
    total = number.sum(axis=1)
    safe = np.where(total > 0, total, 1.0)
    mix = number / safe[:, None]  # prices are found for one transaction in all
    present = mix > 0

    def slope(price: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.where(present, apart / (second + price[:, None] * apart), 0.0)
        # at an end of the prices a class may cost nothing: the slope there is infinite
        return (mix * term).sum(axis=1), -(mix * term**2).sum(axis=1)

    second_alone = slope(np.zeros(len(mix)))[0] <= 0
    first_alone = slope(np.ones(len(mix)))[0] >= 0
    low = np.where(first_alone, 1.0, 0.0)
    high = np.where(second_alone, 0.0, 1.0)
    price = (low + high) / 2
    for _ in range(STEPS):
        value, bend = slope(price)
        low, high = np.where(value > 0, price, low), np.where(value < 0, price, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = price - value / bend
        inside = (newton >= low) & (newton <= high)
        before, price = price, np.where(inside, newton, (low + high) / 2)
        if (np.abs(price - before) <= 1e-14).all():
            break
    price = np.where(second_alone, 0.0, np.where(first_alone, 1.0, price))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(present, mix / (second + price[:, None] * apart), 0.0)
    prices = np.column_stack([price, 1.0 - price])[:, :resources] * total[:, None]
    return rates, prices


def pf(part: Floats, number: Floats) -> tuple[Floats, Floats]:
    """Proportional fairness over any number of resources, by Newton's method on the prices.

    The prices v >= 0 minimise sum_j v_j - sum_k n_k log(sum_j a_kj v_j). The conditions of this,
    v_j s_j = 0 with s the room left of resource j, are followed from v_j s_j = mu to mu = 0. All
    rates are scaled to fit at the end: a price that is off by little leaves them off by little.
    """
    total = number.sum(axis=1)
    mix = number / np.where(total > 0, total, 1.0)[:, None]
    states, resources = len(mix), part.shape[1]
    price = np.full((states, resources), 1.0 / resources)
    room = np.ones((states, resources))
    work = total > 0
    for _ in range(STEPS):
        cost = np.where(mix > 0, price @ part.T, 1.0)
        left = 1.0 - (mix / cost) @ part
        gap = (price * room).sum(axis=1)
        wrong = np.abs(left - room).max(axis=1)
        work &= (gap > 1e-13) | (wrong > 1e-12)
        if not work.any():
            break
        w = np.flatnonzero(work)
        mu = 0.1 * gap[w] / resources
        curved = np.einsum("sk,ki,kj->sij", (mix / cost**2)[w], part, part)
        bent = curved + np.eye(resources) * (room / price)[w][:, :, None]
        right = mu[:, None] / price[w] - left[w]
        step = np.linalg.solve(bent, right[:, :, None])[:, :, 0]
        turn = mu[:, None] / price[w] - room[w] - room[w] / price[w] * step
        with np.errstate(divide="ignore", over="ignore"):
            down = np.maximum(-step / price[w], -turn / room[w]).max(axis=1)
        size = np.minimum(1.0, 0.95 / np.maximum(down, 0.95))[:, None]
        price[w] += size * step
        room[w] += size * turn
    else:
        raise SolverFailure(f"pf: prices did not settle in {STEPS} steps")
    cost = np.where(mix > 0, price @ part.T, 1.0)
    rates = mix / cost
    used = (rates @ part).max(axis=1)
    return rates / np.where(used > 0, used, 1.0)[:, None], price * total[:, None]


def bmf_two(part: Floats, number: Floats) -> tuple[Floats, None]:
    """Bottleneck max fairness over at most two resources (Proposition 4).

    The rate of one is min_j theta_j / a_kj at the levels theta_1 = r theta_2 for which both
    resources are as full. With b = a_k1 / a_k2 the use of the first less that of the second is, up
    to a positive factor, sum n (min(r, b) - min(r / b, 1)): below zero before its one root, above
    after it, and linear between the b. Without a root one resource alone is full, and everybody's
    bottleneck.
    """
    if part.shape[1] == 1:
        part = np.hstack([part, np.zeros_like(part)])
    with np.errstate(divide="ignore"):
        b = part[:, 0] / part[:, 1]
    inner = np.unique(b[(b > 0) & np.isfinite(b)])
    knots = np.concatenate([inner, [2 * inner[-1] if len(inner) else 1.0]])
    with np.errstate(divide="ignore"):
        each = np.minimum(knots[:, None], b) - np.minimum(knots[:, None] / b, 1.0)
    ahead = number @ each.T  # (S, knots)
    zero = -number[:, b == 0].sum(axis=1)  # of the same at r = 0
    ahead = np.column_stack([zero, ahead])
    knots = np.concatenate([[0.0], knots])
    one = (zero == 0) & (ahead[:, 1] >= 0)
    two = (ahead[:, -1] <= 0) & ~(number[:, np.isinf(b)] > 0).any(axis=1) & ~one
    above = ahead > 0
    k = np.where(above.any(axis=1), above.argmax(axis=1), len(knots) - 1)
    k = np.maximum(k, 1)
    row = np.arange(len(number))
    before, after = ahead[row, k - 1], ahead[row, k]
    with np.errstate(divide="ignore", invalid="ignore"):
        r = knots[k - 1] - before * (knots[k] - knots[k - 1]) / (after - before)
        level = np.minimum(r[:, None] / part[:, 0], 1.0 / part[:, 1])
        level = np.where(one[:, None], 1.0 / part[:, 0], level)
        level = np.where(two[:, None], 1.0 / part[:, 1], level)
    rates = np.where(number > 0, number * np.where(np.isfinite(level), level, 0.0), 0.0)
    used = (rates @ part).max(axis=1)
    return rates / np.where(used > 0, used, 1.0)[:, None], None


def bmf(part: Floats, number: Floats) -> tuple[Floats, None]:
    """Bottleneck max fairness by the water levels of the resources, set in turn until they settle.

    With the other levels held, level j is where sum_k n_k min(theta_j, a_kj m_k) = 1, m_k the rate
    that the other resources allow to one transaction: found by sorting the a_kj m_k.
    """
    states, resources = len(number), part.shape[1]
    theta = np.full((states, resources), np.inf)
    with np.errstate(divide="ignore"):
        reach = np.where(part > 0, 1.0 / part, np.inf)
    work = np.flatnonzero(number.sum(axis=1) > 0)
    for _ in range(SWEEPS):
        if not len(work):
            break
        before = theta[work]
        now = before.copy()
        for j in range(resources):
            needs = part[:, j] > 0
            if needs.any():
                others = np.delete(np.arange(resources), j)
                most = _least(reach[needs][:, others], now[:, others])
                now[:, j] = _level(number[work][:, needs], most * part[needs, j])
        with np.errstate(invalid="ignore"):
            still = (now == before) | (np.abs(now - before) <= STILL * now)
        theta[work] = now
        work = work[~still.all(axis=1)]
    if len(work):
        raise SolverFailure(f"bmf: the water levels did not settle in {SWEEPS} sweeps")
    return number * np.where(number > 0, _least(reach, theta), 0.0), None


def _least(reach: Floats, theta: Floats) -> Floats:
    """(S, K) min_j reach_kj theta_sj, the rate that resources allow to one transaction."""
    found = np.full((len(theta), len(reach)), np.inf)
    for j in range(reach.shape[1]):
        limits = theta[:, j] < np.inf
        with np.errstate(invalid="ignore"):
            here = theta[limits, j, None] * reach[None, :, j]
        found[limits] = np.minimum(found[limits], here)
    return found


def _level(number: Floats, cap: Floats) -> Floats:
    """(S,) the theta with sum_k n_k min(theta, cap_k) = 1; inf where all caps together are less."""
    order = np.argsort(cap, axis=1, kind="stable")
    cap, number = np.take_along_axis(cap, order, 1), np.take_along_axis(number, order, 1)
    held = np.where(np.isfinite(cap), cap, 0.0) * number
    below = np.cumsum(held, axis=1) - held  # of those whose cap is lower
    above = np.cumsum(number[:, ::-1], axis=1)[:, ::-1]  # transactions at the level or higher
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(above > 0, (1.0 - below) / above, np.inf)
    fits = (level <= cap) & (above > 0)
    k = fits.argmax(axis=1)
    row = np.arange(len(cap))
    return np.where(fits.any(axis=1), level[row, k], np.inf)
