r"""An interior point method for the trade-off objective (16) of kesidis2016, in NumPy.

Unknowns are dominant shares a of the eligible pairs, slacks s of capacities and limits, their
prices lambda, reduced costs nu, every user's marginal value v, and the two *pulls*, p of the
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

from fairopt import clock, fast
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.penalties import normal
from fairopt.solving.engines.penalties.centring import CentringLeft, CentringState, Direction
from fairopt.solving.engines.penalties.ground import Ground
from fairopt.solving.engines.penalties.whole import Whole
from fairopt.solving.engines.penalties.whole_loop import descended
from fairopt.solving.engines.point import Point

MOST_STEPS = 80
"""most steps of a descent"""
EASY = 2.0
"""alpha up to which the path is followed directly, without strides in alpha"""
STRIDE = 2.0
HALF_WAY = 0.3
DAMPING = 1e-8
LAST = 1e-13
"""complementarity, relative to all money, at the end of the path; rounding prevents less"""
LIGHTEST = 1e-9
"""part of the mean money that a user counts as having at least, in the targets"""
ENOUGH = 5e-13
"""relative errors at which nothing is left to gain"""
FULLER, DEARER = 1.8, 0.1
"""at the start, how many times more is full than half of each server; part of a pair's value that
it costs above that, at least"""

GOOD, PATIENCE = 1e-10, 8
"""relative error from which on the path ends soon after the error stops falling; steps in a row
above it that need not lower the error"""


def follow(instance: Instance, score: Floats, terms: Terms) -> Point | None:
    """The best point of the central path, or None if floating point could not follow it.

    Parameters
    ----------
    instance : the cluster; every user eligible somewhere. score : (N, I) dominant share of a task.
    terms : the objective, hard forms included; they must leave more than zero.
    """
    with np.errstate(all="ignore"):
        method = _Penalised(instance, score, terms, instance.weight)
        return method.point(method.run())


class _Penalised:
    """The data of one problem in natural units, and Newton's method along its central path."""

    def __init__(self, instance: Instance, score: Floats, terms: Terms, weight: Floats) -> None:
        self.instance, self.terms, self.given = instance, terms, weight
        self.apart = terms.t_drf > 0 and not terms.equal_within
        self.ground = ground = Ground.of(instance, score, weight, terms.equal_within)
        self.use, self.weight = ground.use, ground.weight
        self.count_in(ground.size, ground.of_user, min(terms.alpha, EASY))

    def count_in(self, size: float, of_user: Floats, alpha: float) -> None:
        """Levels in `size`, the objective in sum phi size^(1-alpha), and g that of `alpha`.

        of_user : (P, N), levels of shares in that size.
        """
        ground, terms, users = self.ground, self.terms, len(self.weight)
        self.size, self.of_user, self.alpha = size, of_user, max(alpha, 1e-8)
        # a number beyond floating point is infinite here, not an error
        scale = np.float64(size) ** (alpha - 1) / float(self.given.sum())
        across = 2 * terms.t_pf * scale * size**2 / users if terms.t_pf else 0.0
        within = 2 * terms.t_drf * scale / ground.machines if self.apart else 0.0
        across = np.inf if terms.equal_across else across
        self.across = ground.across.forced(np.full(users, across))
        self.within = ground.within.forced(np.full(self.use.shape[0], within))
        self.whole = None
        if ground.small:
            frame = ground.frame(of_user, self.across, self.within)
            self.whole = Whole(frame, self.across, self.within)
        else:
            self.both = _beside(of_user, self.use)

    def start(self) -> CentringState:
        """The first shares, marginal values at them, each server's money spread over its rows; no
        product is below what it is to be at the centre: servers may be thousands of times larger
        than others."""
        a = FULLER * self.ground.a0
        s = np.maximum(1.0 - a @ self.use, 0.1)
        level = a @ self.of_user
        v = self.weight * level ** -min(self.alpha, 2.0)
        value = self.of_user @ v
        price = (a * value) @ self.ground.even
        nu = np.maximum(self.use @ price - value, DEARER * value)
        amounts = np.concatenate([a, s])
        costs = np.concatenate([nu, price])
        centre = float(amounts @ costs) / len(costs) * self._due(a, v, level)
        costs = np.maximum(costs, centre / amounts)
        return CentringState.of(amounts, costs, v, np.zeros_like(v), np.zeros_like(a))

    # -- the path -----------------------------------------------------------------------------

    def run(self) -> CentringState:
        """The end of the path; a large alpha is reached in strides, each solved only roughly."""
        state = self.start()
        while self.alpha < self.terms.alpha:
            state = self._raised(self.descend(state, HALF_WAY))
        return self.descend(state, ENOUGH)

    def descend(self, state: CentringState, enough: float) -> CentringState:
        """Predictor-corrector steps until the error no longer falls, and neither does what balance
        and products lack: levels may settle late. The best state met."""
        if self.whole is not None and self.ground.alone is not None and fast.often():
            found = descended(
                state.whole,
                (self.whole.linear, self.whole.frame.constant, self.whole.newton),
                (self.of_user, self.use, self.ground.alone),
                (self.across.soft(), self.within.soft()),
                self.ground.log_weight,
                self.alpha,
                (enough, GOOD, PATIENCE, MOST_STEPS, LAST, LIGHTEST),
            )
            return CentringState(found, state.size)
        best, least, worse, missing = state, np.inf, 0, np.inf
        for _ in clock.steps(MOST_STEPS):
            left = self.residuals(state)
            error = self.error(state, left)
            if not np.isfinite(error):
                break
            lack = float(np.abs(left.dual) @ state.a + state.amounts @ state.costs) / left.money
            if error < least:
                best, least, worse = state, error, 0
            elif lack < missing:
                worse = 0
            else:
                worse += 1
            missing = min(missing, lack)
            if least <= enough or worse > (1 if least <= GOOD else PATIENCE):
                break
            moved = self.step(state, left)
            if moved is None:
                break
            state = moved
        return best

    def _raised(self, z: CentringState) -> CentringState:
        """The state at a larger alpha; prices change as the marginal values of those who pay."""
        before, level = self.of_user @ z.v, z.a @ self.ground.levels
        alpha = min(self.terms.alpha, STRIDE * self.alpha)
        # the equally distributed equivalent
        low = float(level.min())
        mean = float(self.weight @ (level / low) ** (1 - alpha))
        size = low * mean ** (1 / (1 - alpha))
        self.count_in(size, self.ground.levels / size, alpha)
        v = self.weight * (z.a @ self.of_user) ** -self.alpha
        moved = (self.of_user @ v) / before
        paid = (z.a * before) @ self.use
        rows = ((z.a * before * moved) @ self.use) / paid
        p, e = np.zeros_like(z.p), np.zeros_like(z.e)
        if not (self.across.none or self.terms.equal_across):
            p = self.across.w * self.across.away(level) / self.size
        if not self.within.none:
            e = self.within.w * self.within.away(z.a)
        costs = np.concatenate([z.nu * moved, z.price * rows])
        raised = CentringState.of(z.amounts, costs, v, p, e)
        # far from balance steps are short unless the products are as large as what is missing
        left = self.residuals(raised)
        centre = float(np.abs(left.dual) @ z.a) / len(costs) * self._due(z.a, v, left.level)
        return CentringState.of(z.amounts, np.maximum(costs, centre / z.amounts), v, p, e)

    def residuals(self, z: CentringState) -> CentringLeft:
        every = None
        if self.whole is not None:
            level, dual, primal, across, within, every = self.whole.linear_left(z)
        else:
            level = z.a @ self.of_user
            dual = self.of_user @ (z.v - z.p) - z.e - self.use @ z.price + z.nu
            primal = 1.0 - z.a @ self.use - z.s
            across = self.across.left(level, z.p)
            within = self.within.left(z.a, z.e)
        curve = np.log(z.v) + self.alpha * np.log(level) - self.ground.log_weight
        bent = float(np.maximum.reduce(np.abs(curve)))
        return CentringLeft(
            level, float(z.v @ level), dual, primal, curve, bent, across, within, every
        )

    def error(self, z: CentringState, left: CentringLeft) -> float:
        """Largest error: money relative to all money, rows to 1, levels and shares to the mean."""
        if not left.money > 0:
            return np.inf
        found = max(
            float(np.abs(left.dual) @ z.a) / left.money,
            float(np.maximum.reduce(np.abs(left.primal))),
            left.bent,
            float(z.amounts @ z.costs) / left.money,
        )
        if not self.across.none:
            away = self.across.error(left.across, z.v / left.level)
            found = max(found, float(np.abs(away).max() / left.level.max()))
        if not self.within.none:
            away = self.within.error(left.within, self._bend(self.alpha * z.v / left.level))
            found = max(found, float(np.abs(away).max() / z.a.max()))
        return found

    def step(self, z: CentringState, left: CentringLeft) -> CentringState | None:
        level, curve = left.level, left.curve
        slope = self.alpha * z.v / level
        try:
            steps = self._eliminated if self.whole is None else self.whole.steps
            direction = steps(z, left, slope)
        except np.linalg.LinAlgError:
            return None
        products = z.amounts * z.costs
        mean = float(np.add.reduce(products)) / len(products)
        if not mean > 0:
            return None
        due = self._due(z.a, z.v, level)
        aim = direction(-products, curve, False)
        length = min(1.0, z.reach(aim))
        square = aim.amounts * aim.costs
        rest = (1 - length) * mean + length**2 * float(np.add.reduce(square)) / len(products)
        money = left.money / len(products)
        centre = max(mean * min(1.0, rest / mean) ** 3, LAST * money)
        dlevel = aim.a @ self.of_user
        second = ((aim.v / z.v) ** 2 + self.alpha * (dlevel / level) ** 2) / 2
        most = (10 * mean) * due
        go = direction(
            centre * due - products - np.minimum(np.maximum(square, -most), most),
            curve - np.minimum(second, 0.5),
            True,
        )
        # near the solution a step may end nearer to where an unknown would be 0
        far = min(1.0, max(mean / money, left.bent))
        return z.moved(go, min(1.0, (1 - min(0.05, max(far**1.5, 1e-9))) * z.reach(go)))

    def _eliminated(self, z: CentringState, left: CentringLeft, slope: Floats) -> Direction:
        """Newton steps by eliminating the shares, one positive definite system for both."""
        dual, primal, across, within = left.dual, left.primal, left.across, left.within
        pairs = len(z.a)
        self.across.prepare(slope)
        # nu / a goes to 0 for pairs with tasks, and its inverse would be so large that other terms
        # are lost to rounding. The small term added slows only the last steps
        self.within.prepare(z.nu / z.a + DAMPING * (self.of_user @ z.v) / z.a)
        system = self._system(z)
        fixed = self.within.solve_pull(within)
        drift = self.across.solve_pull(across)
        idle_p, idle_e = np.zeros_like(z.p), np.zeros_like(z.e)

        def direction(products: Floats, bend: Floats, pulls: bool) -> CentringState:
            own, rows = products[:pairs], products[pairs:]
            g = self.within.solve(dual + own / z.a) - fixed
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
            dnu = (own - z.nu * da) / z.a
            amounts, costs = np.concatenate([da, ds]), np.concatenate([dnu, dprice])
            if not pulls:
                return CentringState.of(amounts, costs, dv, idle_p, idle_e)
            dp = self.across.pull(dlevel, across, slope, force + dv)
            balance = dual + dnu - self.both @ found
            de = self.within.pull(da, within, self._bend(slope), balance)
            return CentringState.of(amounts, costs, dv, dp, de)

        return direction

    def _bend(self, slope: Floats) -> Floats:
        """(P,) how fast the value of a share falls as it grows; slope (N,) of levels. A force far
        below that hardly moves a share."""
        return np.asarray((self.of_user * self.of_user) @ slope)

    def _due(self, a: Floats, v: Floats, level: Floats) -> Floats:
        """What each product is to be at the centre, relative to the mean: the money of the pair's
        user, and the mean (harmonic, by use) of those who use the row. Equal targets would lose
        the users whose money is small."""
        money = v * level
        own = money * (len(money) / np.add.reduce(money))
        own = np.minimum(np.maximum(own, LIGHTEST), 1.0)
        own = self.ground.least(own)
        return np.concatenate([own, (a @ self.use) / ((a / own) @ self.use)])

    def _system(self, z: CentringState) -> normal.Solver:
        """Solver of the positive definite system in users and rows."""
        across, within, none = self.across, self.within, np.zeros((len(z.v), 0))
        rank = np.zeros((len(z.a), 0)) if within.none else within.rank
        force = none if across.none else across.rank
        given = within.part, rank, force, np.concatenate([across.part, z.s / z.price])
        tables = self.of_user, self.use
        if self.ground.alone is not None:
            return normal.rows_first(*tables, *given)
        # of one share many users have a part; without forces between them it is a column of L
        if across.none:
            each = np.diag(np.sqrt(within.part))
            return normal.rows_first(*tables, np.zeros_like(within.part), each, *given[2:])
        return normal.whole(*tables, *given)

    def point(self, z: CentringState) -> Point | None:
        """In tasks and money of rows."""
        if not np.isfinite(z.whole).all():
            return None
        users, servers, resources = self.instance.shape
        ground, rows = self.ground, len(self.ground.rows)
        money = np.zeros(servers * resources)
        money[ground.rows] = z.price[:rows]
        limits = np.zeros(users)
        limits[ground.limited] = z.price[rows:]
        return Point(z.a[ground.pair] / ground.u, money.reshape(servers, resources), limits)


def _beside(one: Any, other: Any) -> Any:
    """Two tables as one, those that are 0 kept only where both keep them."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other], axis=1)
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([one, other]))
