r"""Very many users on few servers: solve one pool of all capacity, then divide users over servers.

With so many users, each server can be given a suitable mix of them, and then all servers have the
same prices: the answer of one pool with the capacity of all servers,

.. math:: \max \sum_n W_n g_\alpha(s_n), \quad \sum_n d_{n,r} x_n \le \sum_i c_{i,r},

is the answer, if its tasks can be divided so that every server is used in the same proportion. The
pool has only R prices: Newton's method on its dual takes a few passes over the users. The division
is x[n,i] = x_n f[n,i] with

.. math:: f_{n,i} \propto \exp(\theta_i \cdot z_n) \text{ where eligible}, \quad
          z_n = d_n / \sigma_n,

whose I R numbers theta minimise a convex function (logs of sums of exponentials) that has the
wanted use of every server as its gradient. What has no price need not be used in proportion: first
r runs over resources that have one, and then over those that are overrun as well. If there is no
such division (too few users, or placement keeps a suitable mix from a server), nothing is returned
and `interior.method` is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion, Point

MANY_PAIRS, PER_ROW = 10_000, 100
"""pairs, and users a row of capacity, from which a pool is tried"""
DENSE = 0.3
"""part of all pairs that are eligible from which a pool is likely to be enough"""
CLOSE, ROUNDED, LEAST_FREE = 1e-13, 1e-11, 1e-6
"""largest relative miss of a capacity, and the same where no step makes it less: it is rounding;
smallest price and free part to begin with"""
OVER = 1e-12, 0.1
"""part by which what has no price may be overrun, of all users and of a sample"""
SAMPLES, CURVED = (5_000, 50_000), 50_000
"""users on whom all is found first, where there are twice as many: if they cannot be divided,
nothing else is tried; and most users from whom the curvature of the division is computed"""
ROUNDS, HOPELESS = 30, 8
"""most steps of a division, and after how many its error must be falling"""
LACKING = 0.005
"""part of all that is wanted that a sample is proved to lack, at which no more users are tried"""
CHUNK = 8192
"""users at once, so that arrays stay in the cache"""
STEEP = 600.0
"""difference of theta beyond which exponentials may vanish for all servers of a user"""


def worthwhile(question: AlphaQuestion) -> bool:
    """Whether to try: many users per row, scores that do not depend on the server, no limits."""
    inst = question.instance
    users, servers, resources = inst.shape
    return (
        question.alpha > 0
        and servers > 1
        and inst.demand.ndim == 2
        and users * servers >= MANY_PAIRS
        and users >= PER_ROW * servers * resources
        and not np.isfinite(inst.limit).any()
        and bool((inst.pool > 0).any(axis=0).all() and (inst.demand > 0).any(axis=0).all())
        and question.one_score
    )


def likely(question: AlphaQuestion) -> bool:
    """Whether to try before any other method: placement hardly divides users, either."""
    eligible = question.instance.eligible
    dense = bool(np.count_nonzero(eligible) >= DENSE * eligible.size)
    return dense and worthwhile(question)


def follow(question: AlphaQuestion) -> Point | None:
    """The answer of the pool, divided over the servers; None if that is not possible."""
    return attempt(question)[0]


def attempt(question: AlphaQuestion) -> tuple[Point | None, str]:
    """The same, and why there is none."""
    inst = question.instance
    total = inst.pool.sum(axis=0)
    with np.errstate(all="ignore"):
        log_w = question.log_w
        if question.alpha != 1:
            log_w = log_w + (1 - question.alpha) * np.log(question.top_score)
        found = _found(inst.pool, inst.demand, log_w, question.alpha, inst.eligible)
    if isinstance(found, str):
        return None, found
    tasks, price = found
    rows = price * (inst.pool / total)
    return Point(tasks, rows, np.zeros(inst.shape[0]), given=True), ""


def _found(
    pool: Floats, demand: Floats, log_w: Floats, alpha: float, eligible: Bools
) -> tuple[Floats, Floats] | str:
    """Tasks (N, I) and prices (R,), or why there are none."""
    order = np.random.default_rng(1).permutation(len(demand))
    sizes = [few for few in SAMPLES if 2 * few < len(demand)]
    pieces = [np.sort(order[:size]) for size in sizes] + [np.arange(len(demand))]
    first = _prices(demand[pieces[0]] / pool.sum(axis=0), log_w[pieces[0]], alpha)
    if first is None:
        return f"no prices of one pool for {len(pieces[0]):,} users"
    kept = first.price > first.free
    if not demand[:, kept].any(axis=1).all():
        kept[:] = True
    while True:
        found = _divided(pool, demand, log_w, alpha, eligible, pieces, first, kept)
        if not isinstance(found, np.ndarray):
            return found
        kept = kept | found


def _divided(
    pool: Floats,
    demand: Floats,
    log_w: Floats,
    alpha: float,
    eligible: Bools,
    pieces: list[Ints],
    prices: _PoolPrices | None,
    kept: Bools,
) -> tuple[Floats, Floats] | Bools | str:
    """The same, with resources `kept` (R,) used in proportion, or which others are overrun then: on
    samples first, whose prices and division begin the rest. A sample that cannot be divided ends
    it only where it is far from it: all users may have the mixes that a sample lacks."""
    theta, curved, total = None, None, pool.sum(axis=0)
    share = pool / total
    for at in pieces:
        size, last = len(at), len(at) == len(demand)
        mine = (demand if last else demand[at]) / total
        prices = _prices(mine, log_w[at], alpha, prices)
        if prices is None:
            return f"no prices of one pool for {size:,} users"
        open_ = eligible if last else eligible[at]
        division = _MixDivision.of(share[:, kept], mine[:, kept], prices.tasks, open_)
        if curved is None or size <= CURVED:
            curved = division
        dealt, rays = _dealt(division, curved, theta)
        if dealt is None:
            lacking = max(division.lacking(ray) for ray in rays)
            if last or lacking > LACKING:
                short = f", which lack {lacking:.2%} of what servers want" if lacking > 0 else ""
                return f"no division of {size:,} users found{short}"
        theta = dealt
        if theta is None or (not last and kept.all()):
            continue
        tasks = division.shares(theta)
        tasks *= prices.tasks[:, None]
        most = share * (1 + OVER[0 if last else 1])
        over = (tasks.T @ mine > np.where(kept, np.inf, most)).any(axis=0)
        if np.any(over):
            return np.asarray(over)
    assert prices is not None
    return tasks, prices.price


class _PoolPrices(NamedTuple):
    """Prices (R,) and free capacity (R,) of a pool, and tasks (N,) bought at them."""

    price: Floats
    free: Floats
    tasks: Floats


def _prices(
    demand: Floats, log_w: Floats, alpha: float, start: _PoolPrices | None = None
) -> _PoolPrices | None:
    """Prices of a pool of capacity 1 each, all money 1.

    Newton on used(p) + s = 1, p s = mu, where x_n = (W_n / (d_n p))^(1/alpha); the common level of
    W is free and taken anew so that users have as much money as all resources cost.
    """
    resources = demand.shape[1]
    p, s, mu = np.full(resources, 1.0 / resources), np.full(resources, 0.1), 0.1 / resources
    if start is not None:
        p, s, mu = (
            np.maximum(start.price, LEAST_FREE),
            np.maximum(start.free, LEAST_FREE),
            LEAST_FREE,
        )
    top, before = float(log_w.max()), np.inf
    level = np.exp((log_w - top) / alpha)
    for _ in range(200):
        q = demand @ p
        x = level / q if alpha == 1 else level * q ** (-1 / alpha)
        x *= float(p.sum()) / float(x @ q)
        used = x @ demand
        short, product = 1.0 - used - s, mu - p * s
        error = max(float(np.abs(short).max()), float((p * s).max()))
        if error < CLOSE or (error < ROUNDED and error > 0.5 * before):
            return _PoolPrices(p, s, x)
        before = error
        # d used = -(1/alpha) d' diag(x / q) d dp, with all money equal to all prices
        slope = (demand * (x / q / alpha)[:, None]).T @ demand
        right = short - product / p
        dp = np.linalg.solve(-slope - np.diag(s / p), right)
        ds = (product - s * dp) / p
        step = min(1.0, 0.9 * _reach(p, dp), 0.9 * _reach(s, ds))
        p, s = p + step * dp, s + step * ds
        if step > 0.5:
            mu = max(mu * (1e-3 if step == 1.0 else 0.1), 1e-17)
        if not np.isfinite(p).all():
            return None
    return None


def _reach(value: Floats, change: Floats) -> float:
    worst = float((change / value).min())
    return 1e9 if worst >= 0 else -1.0 / worst


class _MixDivision(NamedTuple):
    """Users with mixes z (N, R) and weights (N,), to be divided so that `wanted` (I, R) is used."""

    z: Floats
    weight: Floats
    eligible: Bools
    everywhere: bool
    wanted: Floats

    @classmethod
    def of(cls, share: Floats, demand: Floats, tasks: Floats, eligible: Bools) -> _MixDivision:
        """All servers, which have shares (I, R) of all, are to be used in one proportion."""
        size = demand.sum(axis=1)
        wanted = share * (tasks @ demand)
        return cls(demand / size[:, None], tasks * size, eligible, bool(eligible.all()), wanted)

    def raw(self, theta: Floats, users: slice) -> Floats:
        """(n, I) exponentials, proportional to f; 0 where not eligible.

        What theta has in common for all servers does not matter, so that theta <= 0.
        """
        f: Floats = self.z[users] @ (theta - theta.max(axis=0)).T
        if theta.size and np.ptp(theta, axis=0).max() > STEEP:
            if not self.everywhere:
                f[~self.eligible[users]] = -np.inf
            f -= f.max(axis=1, keepdims=True)
        np.exp(f, out=f)
        if not self.everywhere:
            f *= self.eligible[users]
        return f

    def used(self, theta: Floats) -> Floats:
        """(I, R) what the division uses."""
        found, ones = np.zeros_like(theta), np.ones(len(theta))
        for users in self.chunks():
            f = self.raw(theta, users)
            found += f.T @ (self.z[users] * (self.weight[users] / (f @ ones))[:, None])
        return found

    def shares(self, theta: Floats) -> Floats:
        """(N, I) f."""
        found, ones = np.empty(self.eligible.shape), np.ones(len(theta))
        for users in self.chunks():
            f = self.raw(theta, users)
            np.divide(f, (f @ ones)[:, None], out=found[users])
        return found

    def lacking(self, theta: Floats) -> float:
        """What all users together cannot give, as a part of what is wanted: above 0, there is no
        division. Whatever theta is, users give servers at most the sum of weight times the largest
        theta_i . z, and servers want theta . wanted (Farkas)."""
        theta = theta - theta.mean(axis=0)
        most = 0.0
        for users in self.chunks():
            f = np.where(self.eligible[users], self.z[users] @ theta.T, -np.inf)
            most += float(self.weight[users] @ f.max(axis=1))
        size = float(np.abs(theta).max()) * float(self.wanted.sum())
        return (float((theta * self.wanted).sum()) - most) / size if size else 0.0

    def chunks(self) -> list[slice]:
        """Slices that together cover all users."""
        size = len(self.z)
        return [slice(a, min(size, a + CHUNK)) for a in range(0, size, CHUNK)]

    def curvature(self, theta: Floats) -> Floats:
        """(I R, I R) sum w (diag f - f f') (x) z z'."""
        servers, resources = theta.shape
        f = self.shares(theta)
        curve = np.zeros((servers, resources, servers, resources))
        for a in range(resources):
            for b in range(a, resources):
                weighted = f * (self.weight * self.z[:, a] * self.z[:, b])[:, None]
                block = np.diag(weighted.sum(axis=0)) - weighted.T @ f
                curve[:, a, :, b] = block
                curve[:, b, :, a] = block.T
        return curve.reshape(theta.size, theta.size)


def _dealt(
    division: _MixDivision, curved: _MixDivision, theta: Floats | None
) -> tuple[Floats | None, tuple[Floats, Floats]]:
    """(I, R) theta at which what is wanted is used, or None, and what may prove that there is none:
    the last theta, and what was still missing. The curvature is that of `curved`."""
    wanted = division.wanted
    if theta is None:
        some = wanted > 0
        part = np.log(np.where(some, wanted / wanted.sum(axis=0), 1.0)).sum(axis=1)
        theta = (part / np.maximum(some.sum(axis=1), 1))[:, None] * np.ones(wanted.shape[1])
    times = float(division.weight.sum() / curved.weight.sum())
    before = np.inf
    for rounds in range(ROUNDS):
        clock.tick()
        miss = wanted - division.used(theta)
        error = float(np.abs(miss / np.where(wanted > 0, wanted, 1.0)).max())
        if error < CLOSE or (error < ROUNDED and error > 0.5 * before):
            return theta, (theta, miss)
        if not error < 0.9 * before and (before < 1.0 or rounds > HOPELESS):
            return None, (theta, miss)
        before = error
        theta = theta + _newton(curved.curvature(theta) * times, miss)
    return None, (theta, miss)


def _newton(curve: Floats, miss: Floats) -> Floats:
    """(I, R) step of theta; the curvature is singular where all theta_i move alike."""
    step = np.linalg.lstsq(curve, miss.ravel(), rcond=1e-12)[0]
    step = np.asarray(step, dtype=np.float64).reshape(miss.shape)
    # limit the step: far from the solution the exponentials curve too much for Newton's method
    return step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))
