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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt.engines.point import Point
from fairopt.instance import Floats, Instance
from fairopt.penalties import Terms

MOST = 80
DAMPING = 1e-8
LAST = 1e-13
"""complementarity, relative to all money, at the end of the path; below it digits are lost"""
ENOUGH = 2e-13
"""relative errors at which nothing is left to gain"""

GOOD = 1e-10
"""relative errors at which the first step that gains nothing ends the path"""


@dataclass(frozen=True)
class State:
    """The unknowns; see the module."""

    a: Floats
    s: Floats
    nu: Floats
    price: Floats
    v: Floats
    p: Floats
    e: Floats


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


class _Centring:
    """Groups of entries, each drawn to its group's mean with force w (0 to inf).

    M = delta + w C has the inverse x/(w + delta) + f sum(f x)/sum(f delta), f = w/(w + delta).
    """

    def __init__(self, group: Any, w: Floats) -> None:
        """group (size, groups) of 0 and 1; w (size,)."""
        self.group, self.w = group, w
        self.count = group.sum(axis=0)
        self.hard = bool(np.isinf(w).any())
        self.none = not w.any()
        self.inverse = 1.0 / w

    def away(self, x: Floats) -> Floats:
        """C x."""
        return np.asarray(x - self.group @ ((x @ self.group) / self.count), dtype=np.float64)

    def prepare(self, delta: Floats) -> None:
        self.delta = delta
        self.part = 1.0 / (self.w + delta)
        if self.none:
            return
        self.f = 1.0 / (1.0 + delta * self.inverse)
        self.rank = self.group * self.f[:, None]
        self.rank = self.rank / np.sqrt(self.f * delta @ self.group)

    def solve(self, x: Floats) -> Floats:
        """M^-1 x."""
        found = self.part * x
        return found if self.none else found + self.rank @ (x @ self.rank)

    def solve_pull(self, away: Floats) -> Floats:
        """M^-1 (w away) for a centred `away`, exact for every w."""
        if self.none:
            return np.zeros_like(away)
        mean = (self.delta * self.f * away) @ self.group / (self.delta * self.f @ self.group)
        return np.asarray(self.f * (away - self.group @ mean), dtype=np.float64)


class _Method:
    """The data of one question in natural units, and Newton's method on its path."""

    def __init__(self, instance: Instance, score: Floats, terms: Terms) -> None:
        self.instance, self.alpha = instance, max(terms.alpha, 1e-8)
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pairs = np.arange(len(n))
        self.u = score[n, i]
        pool = np.where(instance.pool > 0, instance.pool, np.inf)
        use = np.zeros((len(n), servers, resources))
        use[pairs, i] = instance.pair_demand / pool[i] / self.u[:, None]
        use = use.reshape(len(n), -1)
        self.rows = np.flatnonzero(use.any(axis=0))
        self.limited = np.flatnonzero(np.isfinite(instance.limit))
        limits = (n[:, None] == self.limited) / (self.u[:, None] * instance.limit[self.limited])
        self.on = np.zeros((len(n), servers))
        self.on[pairs, i] = 1.0
        self.on = self.on[:, self.on.any(axis=0)]
        self.use = np.concatenate([use[:, self.rows], limits], axis=1)
        self.a0 = self._begin(n, i)
        level = np.bincount(n, self.a0, users) / instance.weight
        self.size = float(np.exp(np.log(level).mean()))
        self.of_user = np.zeros((len(n), users))
        self.of_user[pairs, n] = 1.0 / instance.weight[n] / self.size
        # the objective in units of sum phi size^(1-alpha)
        self.weight = instance.weight / instance.weight.sum()
        worth = self.size ** (terms.alpha - 1) / float(instance.weight.sum())
        across = 2 * terms.t_pf * worth * self.size**2 / users
        within = 2 * terms.t_drf * worth / (instance.count[i] * np.bincount(i)[i])
        self.across = _Centring(
            np.ones((users, 1)), np.full(users, np.inf if terms.equal_across else across)
        )
        self.within = _Centring(
            self.on, np.full(len(n), np.inf) if terms.equal_within else within
        )
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
        return State(a, s, nu, price, v, np.zeros_like(v), np.zeros_like(a))

    # -- the path -----------------------------------------------------------------------------

    def run(self) -> State:
        """Predictor and corrector until nothing more is gained; the best state on the way."""
        state = best = self.start()
        least, worse = np.inf, 0
        for _ in range(MOST):
            error = self.error(state)
            if not np.isfinite(error):
                break
            if error < least:
                best, least, worse = state, error, 0
            else:
                worse += 1
            if least <= ENOUGH or worse > (1 if least <= GOOD else 8):
                break
            moved = self.step(state)
            if moved is None:
                break
            state = moved
        self.least = least
        return best

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

    def error(self, z: State) -> float:
        """Largest error: money relative to all money, rows to 1, levels and shares to the mean."""
        level, dual, primal, curve, across, within = self.residuals(z)
        money = float(z.v @ level)
        return max(
            float(np.abs(dual * z.a).sum()) / money,
            float(np.abs(primal).max()),
            float(np.abs(curve).max()),
            float(np.abs(across).max() / level.mean()),
            float(np.abs(within).max() / z.a.max()),
            float(z.a @ z.nu + z.s @ z.price) / money,
        )

    def step(self, z: State) -> State | None:
        level, dual, primal, curve, across, within = self.residuals(z)
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

        def direction(pairs: Floats, rows: Floats, bend: Floats) -> State:
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
            dp = np.zeros_like(dv) if self.across.none else force + dv
            de = np.zeros_like(da)
            if not self.within.none:
                de = self.within.away(dual + dnu - self.both @ found)
            return State(da, ds, dnu, dprice, dv, dp, de)

        aim = direction(-z.a * z.nu, -z.s * z.price, curve)
        ahead = _moved(z, aim, min(1.0, _reach(z, aim)))
        left = float(ahead.a @ ahead.nu + ahead.s @ ahead.price) / products
        money = float(z.v @ level) / products
        centre = max(mean * min(1.0, (left / mean) ** 3), LAST * money)
        dlevel = aim.a @ self.of_user
        second = (aim.v / z.v) ** 2 / 2 + self.alpha * (dlevel / level) ** 2 / 2
        go = direction(
            centre - z.a * z.nu - _clipped(aim.a * aim.nu, mean),
            centre - z.s * z.price - _clipped(aim.s * aim.price, mean),
            curve - np.minimum(second, 0.5),
        )
        # the nearer the end, the nearer to a bound a step may go
        far = max(mean / money, float(np.abs(curve).max()))
        return _moved(z, go, min(1.0, (1 - min(0.1, max(far, 1e-6))) * _reach(z, go)))

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
        if not np.isfinite(self.error(z)):
            return None
        users, servers, resources = self.instance.shape
        money = np.zeros(servers * resources)
        money[self.rows] = z.price[: len(self.rows)]
        limits = np.zeros(users)
        limits[self.limited] = z.price[len(self.rows) :]
        return Point(z.a / self.u, money.reshape(servers, resources), limits)


def _moved(z: State, d: State, length: float) -> State:
    return State(
        z.a + length * d.a, z.s + length * d.s, z.nu + length * d.nu,
        z.price + length * d.price, z.v + length * d.v, z.p + length * d.p, z.e + length * d.e,
    )  # fmt: skip


def _reach(z: State, d: State) -> float:
    """The longest step that takes nothing that must be positive below 0."""
    worst = max(
        float((-step / now).max())
        for now, step in ((z.a, d.a), (z.s, d.s), (z.nu, d.nu), (z.price, d.price), (z.v, d.v))
    )
    return 1.0 / max(worst, 1e-300)


def _clipped(x: Floats, mean: float) -> Floats:
    return np.clip(x, -mean * 10, mean * 10)
