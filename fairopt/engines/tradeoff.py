r"""An interior point method for the trade-off objective (16) of kesidis2016, in NumPy.

Unknowns are dominant shares a of the eligible pairs, slacks s of capacities and limits, their
prices lambda, reduced costs nu, every user's marginal worth v, and the two *pulls*, p of the
variance of F and e of those on the servers, each kept as a variable of its own:

.. math::
   v_n F_n^\alpha = \phi_n, \quad C F = p / w, \quad C_i a_i = e_i / w_i, \quad
   \frac{v_n - p_n}{\phi_n} - e_h - \sum_r \lambda_r B_{h,r} + \nu_h = 0, \quad
   \lambda s = \tau, \quad \nu a = \tau

with w = 2 t_PF / N, w_i = 2 t_DRF / (k_i |E_i|), C subtracting the mean. As variables of their own
the pulls lose no digits when t is 1e9, and w = inf is the hard form. The relation of v is taken in
logarithms: it is one more complementarity pair, whose product does not vanish.

Every step eliminates the shares (each server's block is a diagonal plus a centring) and leaves a
positive definite system in users and rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.engines.centring import Centring, State
from fairopt.engines.point import Point
from fairopt.instance import Floats, Instance
from fairopt.penalties import Terms

MOST = 80
EASY = 2.0
"""alpha up to which no strides are needed"""
STRIDE = 2.0
HALF_WAY = 1e-2
DAMPING = 1e-8
LAST = 1e-13
"""complementarity, relative to all money, at the end of the path; below it digits are lost"""
LIGHTEST = 1e-9
"""part of the mean money below which users are no longer told apart"""
ENOUGH = 2e-13
"""relative errors at which nothing is left to gain"""

GOOD = 1e-10
"""relative errors at which the first step that gains nothing ends the path"""


def follow(instance: Instance, score: Floats, terms: Terms) -> Point | None:
    """The best point of the central path, or None where numbers ended.

    Parameters
    ----------
    instance : the cluster; every user eligible somewhere. score : (N, I) dominant share of a task.
    terms : the objective, hard forms included; they must leave more than zero.
    """
    with np.errstate(all="ignore"):
        method = _Method(instance, score, terms)
        return method.point(method.run())


class _Method:
    """The data of one question in natural units, and Newton's method on its path."""

    def __init__(self, instance: Instance, score: Floats, terms: Terms) -> None:
        self.instance, self.terms = instance, terms
        n, i = instance.pairs
        self.n = n
        users, servers, resources = instance.shape
        pairs = np.arange(len(n))
        self.u = score[n, i]
        pool = np.where(instance.pool > 0, instance.pool, np.inf)
        use = np.zeros((len(n), servers, resources))
        use[pairs, i] = instance.pair_demand / pool[i] / self.u[:, None]
        columns = use.reshape(len(n), -1)
        self.rows = np.flatnonzero(columns.any(axis=0))
        self.limited = np.flatnonzero(np.isfinite(instance.limit))
        limits = (n[:, None] == self.limited) / (self.u[:, None] * instance.limit[self.limited])
        self.on = np.zeros((len(n), servers))
        self.on[pairs, i] = 1.0
        self.on = self.on[:, self.on.any(axis=0)]
        self.use = np.concatenate([columns[:, self.rows], limits], axis=1)
        self.a0 = self._begin(n, i)
        self.weight = instance.weight / instance.weight.sum()
        self.levels = np.zeros((len(n), users))
        self.levels[pairs, n] = 1.0 / instance.weight[n]
        self.machines = instance.count[i] * np.bincount(i)[i]
        self.count_in(np.exp(np.log(self.a0 @ self.levels).mean()), min(terms.alpha, EASY))

    def count_in(self, size: float, alpha: float) -> None:
        """Levels in `size`, the objective in sum phi size^(1-alpha), and g that of `alpha`."""
        terms, users = self.terms, len(self.weight)
        self.size, self.alpha = float(size), max(alpha, 1e-8)
        self.of_user = self.levels / self.size
        worth = self.size ** (alpha - 1) / float(self.instance.weight.sum())
        across = np.inf if terms.equal_across else 2 * terms.t_pf * worth * self.size**2 / users
        within = np.inf if terms.equal_within else 2 * terms.t_drf * worth / self.machines
        self.across = Centring(np.ones((users, 1)), np.full(users, across))
        self.within = Centring(self.on, np.full(len(self.n), 1.0) * within)
        self.both = np.concatenate([self.of_user, self.use], axis=1)

    def _begin(self, n: Any, i: Any) -> Floats:
        """Equal shares on each server, every row at most half full; limits then cut."""
        a = np.asarray(self.instance.count / np.bincount(i, minlength=len(self.instance.servers)),
                       dtype=np.float64)[i]  # fmt: skip
        capacity = self.use[:, : len(self.rows)]
        # the fullest row of each server, whether or not this user demands it
        fullest = np.zeros(len(self.instance.servers))
        np.maximum.at(fullest, self.rows // self.instance.shape[2], a @ capacity)
        a = a * 0.5 / fullest[i]
        if len(self.limited):
            limits = self.use[:, len(self.rows) :]
            a = a * np.minimum(1.0, 0.5 / ((limits > 0) @ (a @ limits)))
        return np.asarray(a, dtype=np.float64)

    def start(self) -> State:
        """Shares half-way, worths as there, each server's money spread evenly over its rows."""
        a = self.a0
        s = np.maximum(1.0 - a @ self.use, 0.1)
        level = a @ self.of_user
        v = self.weight * level ** -min(self.alpha, 2.0)
        money = a * (self.of_user @ v)
        rows = np.asarray((self.use > 0).sum(axis=1), dtype=np.float64)
        price = ((money / rows) @ (self.use > 0)) * 2.0
        nu = np.maximum(self.use @ price - self.of_user @ v, 0.2 * (self.of_user @ v))
        return State.of(a, s, nu, price, v, np.zeros_like(v), np.zeros_like(a))

    # -- the path -----------------------------------------------------------------------------

    def run(self) -> State:
        """The end of the path; a large alpha is reached in strides, each half-way to its end."""
        state = self.start()
        while self.alpha < self.terms.alpha:
            state = self._raised(self.descend(state, HALF_WAY))
        return self.descend(state, ENOUGH)

    def descend(self, state: State, enough: float) -> State:
        """Predictor and corrector until nothing more is gained; the best state on the way."""
        best, least, worse = state, np.inf, 0
        for _ in range(MOST):
            left = self.residuals(state)
            error = self.error(state, left)
            if not np.isfinite(error):
                break
            if error < least:
                best, least, worse = state, error, 0
            else:
                worse += 1
            if least <= enough or worse > (1 if least <= GOOD else 8):
                break
            moved = self.step(state, left)
            if moved is None:
                break
            state = moved
        return best

    def _raised(self, z: State) -> State:
        """The state at a larger alpha, every price moved as the worth of those who pay it."""
        before, level = self.of_user @ z.v, z.a @ self.levels
        alpha = min(self.terms.alpha, STRIDE * self.alpha)
        # the equally distributed equivalent
        low = float(level.min())
        mean = float(self.weight @ (level / low) ** (1 - alpha))
        self.count_in(low * mean ** (1 / (1 - alpha)), alpha)
        v = self.weight * (z.a @ self.of_user) ** -self.alpha
        moved = (self.of_user @ v) / before
        paid = (z.a * before) @ self.use
        rows = ((z.a * before * moved) @ self.use) / paid
        p, e = np.zeros_like(z.p), np.zeros_like(z.e)
        if not (self.across.none or self.terms.equal_across):
            p = self.across.w * self.across.away(level) / self.size
        if not (self.within.none or self.terms.equal_within):
            e = self.within.w * self.within.away(z.a)
        return State.of(z.a, z.s, z.nu * moved, z.price * rows, v, p, e)

    def residuals(self, z: State) -> tuple[Floats, ...]:
        level = z.a @ self.of_user
        worth = self.of_user @ (z.v - z.p)
        return (
            level,
            worth - z.e - self.use @ z.price + z.nu,
            1.0 - z.a @ self.use - z.s,
            np.log(z.v) + self.alpha * np.log(level) - np.log(self.weight),
            self.across.away(level) - z.p * self.across.inverse
            if not self.across.none else np.zeros_like(level),
            self.within.away(z.a) - z.e * self.within.inverse
            if not self.within.none else np.zeros_like(z.a),
        )  # fmt: skip

    def error(self, z: State, left: tuple[Floats, ...]) -> float:
        """Largest error: money relative to all money, rows to 1, levels and shares to the mean."""
        level, dual, primal, curve, across, within = left
        money = float(z.v @ level)
        return max(
            float(np.abs(dual * z.a).sum()) / money,
            float(np.abs(primal).max()),
            float(np.abs(curve).max()),
            float(np.abs(self.across.error(across, z.v / level)).max() / level.max()),
            float(np.abs(self.within.error(within, z.v[self.n])).max() / z.a.max()),
            float(z.a @ z.nu + z.s @ z.price) / money,
        )

    def step(self, z: State, left: tuple[Floats, ...]) -> State | None:
        level, dual, primal, curve, across, within = left
        slope = self.alpha * z.v / level
        self.across.prepare(slope)
        # a little more than nu / a: where pairs are held that goes to 0 and the digits of all
        # other terms would drown in its inverse; it slows the last steps, and changes no answer
        self.within.prepare(z.nu / z.a + DAMPING * (self.of_user @ z.v) / z.a)
        system = self._system(z)
        if system is None:
            return None
        products = len(z.a) + len(z.s)
        mean = float(z.a @ z.nu + z.s @ z.price) / products
        fixed = self.within.solve_pull(within)
        drift = self.across.solve_pull(across)
        idle_p, idle_e = np.zeros_like(z.p), np.zeros_like(z.e)

        def direction(pairs: Floats, rows: Floats, bend: Floats, pulls: bool) -> State:
            """The Newton step for targets of nu a (pairs) and lambda s (rows)."""
            g = self.within.solve(dual + pairs / z.a) - fixed
            right = g @ self.both
            users = len(bend)
            right[:users] += self.across.solve(z.v * bend) + drift
            right[users:] += rows / z.price - primal
            found = system(right)
            force, dprice = found[:users], found[users:]
            da = g - self.within.solve(self.both @ found)
            ds = (rows - z.s * dprice) / z.price
            dlevel = da @ self.of_user
            dv = -slope * dlevel - z.v * bend
            dnu = (pairs - z.nu * da) / z.a
            if not pulls:
                return State.of(da, ds, dnu, dprice, dv, idle_p, idle_e)
            dp = self.across.pull(dlevel, across, slope, force + dv)
            de = self.within.pull(da, within, z.v[self.n], dual + dnu - self.both @ found)
            return State.of(da, ds, dnu, dprice, dv, dp, de)

        pairs_due, rows_due = self._due(z, level)
        aim = direction(-z.a * z.nu, -z.s * z.price, curve, pulls=False)
        ahead = z.moved(aim, min(1.0, z.reach(aim)))
        rest = float(ahead.a @ ahead.nu + ahead.s @ ahead.price) / products
        money = float(z.v @ level) / products
        centre = max(mean * min(1.0, (rest / mean) ** 3), LAST * money)
        dlevel = aim.a @ self.of_user
        second = (aim.v / z.v) ** 2 / 2 + self.alpha * (dlevel / level) ** 2 / 2
        go = direction(
            centre * pairs_due - z.a * z.nu - _clipped(aim.a * aim.nu, mean * pairs_due),
            centre * rows_due - z.s * z.price - _clipped(aim.s * aim.price, mean * rows_due),
            curve - np.minimum(second, 0.5),
            pulls=True,
        )
        # the nearer the end, the nearer to a bound a step may go
        far = max(mean / money, float(np.abs(curve).max()))
        return z.moved(go, min(1.0, (1 - min(0.1, max(far, 1e-6))) * z.reach(go)))

    def _due(self, z: State, level: Floats) -> tuple[Floats, Floats]:
        """What each product is to be at the centre, relative to the mean: the money of the pair's
        user, and the mean (harmonic, by use) of those who use the row. Equal targets would lose
        the users whose money is small."""
        money = z.v * level
        own = np.minimum(np.maximum(money * len(money) / money.sum(), LIGHTEST), 1.0)[self.n]
        return own, (z.a @ self.use) / ((z.a / own) @ self.use)

    def _system(self, z: State) -> Any:
        """Solver of the positive definite system in users and rows, scaled to unit diagonal."""
        m = self.both.T @ (self.both * self.within.part[:, None])
        if not self.within.none:
            low = self.both.T @ self.within.rank
            m += low @ low.T
        users = len(z.v)
        block = m[:users, :users]
        block[np.diag_indices(users)] += self.across.part
        if not self.across.none:
            block += self.across.rank @ self.across.rank.T
        rows = np.arange(users, len(m))
        m[rows, rows] += z.s / z.price
        scale = 1.0 / np.sqrt(np.diag(m))
        m = m * scale * scale[:, None]
        m[np.diag_indices(len(m))] += 1e-15
        try:
            inverse = np.linalg.inv(m)
        except np.linalg.LinAlgError:
            return None

        def solve(right: Floats) -> Floats:
            right = right * scale
            found = inverse @ right
            found = found + inverse @ (right - m @ found)
            return np.asarray(found * scale, dtype=np.float64)

        return solve

    def point(self, z: State) -> Point | None:
        """In tasks and money of rows."""
        if not np.isfinite(z.whole).all():
            return None
        users, servers, resources = self.instance.shape
        money = np.zeros(servers * resources)
        money[self.rows] = z.price[: len(self.rows)]
        limits = np.zeros(users)
        limits[self.limited] = z.price[len(self.rows) :]
        return Point(z.a / self.u, money.reshape(servers, resources), limits)


def _clipped(x: Floats, size: Floats) -> Floats:
    return np.minimum(np.maximum(x, -10 * size), 10 * size)
