r"""An interior point method for alpha-fairness on small instances, where calls cost more than sums.

Unknowns, all in one array, are shares a of the eligible pairs, slacks s of capacities and limits,
reduced costs nu, prices lambda of rows and every user's marginal value v:

.. math::
   v_n F_n^\alpha = \phi_n, \quad \frac{v_n}{\phi_n} - \sum_r \lambda_r B_{h,r} + \nu_h = 0, \quad
   B a + s = 1, \quad \lambda s = \tau, \quad \nu a = \tau

with F = share / phi and phi = W^(1/alpha), as W g(s) is phi g(s / phi) up to a factor. The relation
of v is taken in logarithms: it is one more product that does not vanish. A step eliminates shares
and users; one positive definite matrix in the rows is left.
"""

from __future__ import annotations

import numpy as np

from fairopt import clock, fast
from fairopt.instance import Floats
from fairopt.solving.engines.compact.path_loop import descended, followed
from fairopt.solving.engines.compact.rows import (
    EASED,
    CompactLeft,
    CompactRows,
    CompactState,
    Direction,
    solver,
)
from fairopt.solving.engines.point import AlphaQuestion, Point

MOST_PAIRS, MOST_ROWS = 100_000, 200
"""users times servers, and rows of servers and limits, up to which this method goes first"""
ANY_PAIRS, LARGE_ROWS, EASY = 20_000, 100, 2.0
"""pairs beyond which it does so only on so many rows, and where alpha is at most EASY"""
STEEPEST, FEW_PAIRS = 10.0, 24
"""alpha above which the path is often lost unless pairs are at most so few"""
MOST_STEPS = 80
"""steps at one exponent"""
WIDEST = 300.0
"""log of the largest ratio of weights"""
DIRECT, STRIDE = 5.0, 2.0
"""alpha up to which the path is followed directly, and factor of alpha from there"""
HALF_WAY = 1e-2
"""relative error at which alpha is raised"""
DAMPING = 1e-7
"""part of the marginal value added to reduced costs, whose inverse would drown other terms"""
LAST = 1e-17
"""complementarity, relative to all money, at the end of the path"""
LIGHTEST = 1e-9
"""part of the mean money that a user counts as having at least, in the targets"""
ENOUGH, GOOD = 1e-14, 1e-13
"""relative errors: nothing is left to gain; it ends when the error no longer falls"""
FILLED, DEARER = 0.9, 0.1
"""at the start, part of the fullest row of each server that is full; part of a pair's value that
it costs above that, at least"""
PATIENCE = 8
"""steps in a row above GOOD that need not lower the error: where more rows are full than pairs are
used, prices wander among equally good ones first"""
SETTINGS = GOOD, PATIENCE, MOST_STEPS, EASED, DAMPING, LAST, LIGHTEST
"""of the compiled descent, beside what is enough"""
CLEAR = 1e-6
"""ratio to its partner below which an unknown is 0 in the end; between, the two are of one size,
and 0 would be off by the root of their product"""


def follow(question: AlphaQuestion) -> Point | None:
    """The best point of the central path; None where alpha is 0, an instance is not small, or
    weights are beyond floating point."""
    inst, alpha = question.instance, question.alpha
    rows = inst.pool.size + np.count_nonzero(np.isfinite(inst.limit))
    pairs = inst.placement.size
    if not alpha or rows > MOST_ROWS or pairs > MOST_PAIRS:
        return None
    if pairs > ANY_PAIRS and (rows > LARGE_ROWS or alpha > EASY):
        return None
    if alpha > STEEPEST and len(inst.pairs[0]) > FEW_PAIRS:
        return None
    log_v = question.log_w / alpha
    log_v = log_v - log_v.max()
    if log_v.min() < -WIDEST:
        return None
    with np.errstate(all="ignore"):
        if alpha <= DIRECT and fast.often():
            return _looped(question, np.exp(log_v))
        return _SmallPath(question, np.exp(log_v)).run()


def _looped(question: AlphaQuestion, weight: Floats) -> Point | None:
    """The end of the path in compiled loops."""
    rows = CompactRows(question)
    weight = weight / weight.sum()
    found = followed(
        (rows.n, rows.server, *rows.entries),
        (rows.size, len(rows.limited)),
        (weight, np.log(weight)),
        question.alpha,
        (FILLED, DEARER, CLEAR),
        (ENOUGH, *SETTINGS),
    )
    return None if found is None else rows.point(*found)


class _SmallPath:
    """One problem, with levels in units of `size`, and Newton's method along its central path."""

    def __init__(self, question: AlphaQuestion, weight: Floats) -> None:
        self.question, self.rows = question, CompactRows(question)
        self.weight = weight / weight.sum()
        self.log_weight = np.log(self.weight)
        a = self._begin()
        level = self._sums(a) / self.weight
        self.alpha = min(question.alpha, DIRECT)
        self._in_unit(float(np.exp(np.log(level).mean())))
        self.first = a

    def _in_unit(self, unit: float) -> None:
        """Levels counted in a unit."""
        self.factor = 1.0 / (self.weight * unit)
        self.signed = np.concatenate([np.full(self.rows.size, -1.0), self.factor])
        self.falling = self.alpha * self.factor

    def _begin(self) -> Floats:
        """Equal shares on each server with every row at most so full, then cut to the limits."""
        rows, inst = self.rows, self.question.instance
        a = np.ones(len(rows.n))
        resources, _ = rows.split(rows.used(rows.grid(a)))
        top = resources.max(axis=1)
        a = a * (FILLED / np.where(top > 0, top, 1.0))[rows.server]
        if len(rows.limited):
            _, limits = rows.split(rows.used(rows.grid(a)))
            cut = np.ones(len(inst.users))
            cut[rows.limited] = np.minimum(1.0, FILLED / limits)
            a = a * cut[rows.n]
        return a

    def _sums(self, pairs: Floats) -> Floats:
        """(N,) sum over the pairs of each user."""
        return np.asarray(np.bincount(self.rows.n, pairs, self.rows.users), dtype=np.float64)

    def _start(self) -> CompactState:
        """The first shares, marginal values at them, each user's money spread over its rows."""
        rows, a = self.rows, self.first
        v = self.weight * (self._sums(a) * self.factor) ** -min(self.alpha, 2.0)
        value = (self.factor * v)[rows.n]
        price = rows.evenly(a * value)
        nu = np.maximum(rows.cost(price) - value, DEARER * value)
        s = np.maximum(1.0 - rows.used(rows.grid(a)), 0.1)
        return CompactState.of(a, price, v, nu, s)

    # -- the path -----------------------------------------------------------------------------

    def run(self) -> Point | None:
        """The end of the path; a large alpha is reached in strides, each solved only roughly."""
        state = self._start()
        while self.alpha < self.question.alpha:
            state = self._raised(self._descend(state, HALF_WAY))
        return self._point(self._descend(state, ENOUGH))

    def _descend(self, state: CompactState, enough: float) -> CompactState:
        """Predictor-corrector steps until the error no longer falls; the best state met."""
        if fast.often():
            path = (self.rows.n, *self.rows.entries), (self.factor, self.log_weight)
            found = descended(state.whole, *path, self.alpha, (enough, *SETTINGS))
            return CompactState(found, state.size)
        best, least, worse = state, np.inf, 0
        for _ in clock.steps(MOST_STEPS):
            left = self._left(state)
            error = self._error(state, left)
            if not error < np.inf:
                break
            if error < least:
                best, least, worse = state, error, 0
            else:
                worse += 1
            if least <= enough or worse > (0 if least <= GOOD else PATIENCE):
                break
            moved = self._step(state, left)
            if moved is None:
                break
            state = moved
        return best

    def _raised(self, z: CompactState) -> CompactState:
        """The state at a larger alpha; prices change as the marginal values of those who pay."""
        rows, share = self.rows, self._sums(z.a)
        before, level = self.factor * z.v, share / self.weight
        self.alpha = alpha = min(self.question.alpha, STRIDE * self.alpha)
        # the unit is the equally distributed equivalent
        low = float(level.min())
        mean = float(self.weight @ (level / low) ** (1 - alpha))
        self._in_unit(low * mean ** (1 / (1 - alpha)))
        v = self.weight * (share * self.factor) ** -alpha
        more = self.factor * v / before
        paid = rows.grid(z.a) * before
        dearer = rows.used(paid * more) / rows.used(paid)
        return CompactState.of(z.a, z.price * dearer, v, z.nu * more[rows.n], z.s)

    # -- one step -----------------------------------------------------------------------------

    def _left(self, z: CompactState) -> CompactLeft:
        rows = self.rows
        sums, paid = rows.sums(z.a), z.paying * self.signed
        used, level, value = sums[: rows.size], sums[rows.size :] * self.factor, paid[rows.size :]
        dual = rows.back(paid) + z.nu
        primal = 1.0 - used - z.s
        curve = np.log(z.v) + self.alpha * np.log(level) - self.log_weight
        bent = float(np.maximum.reduce(np.abs(curve)))
        money, gap = float(z.v.dot(level)), float(z.amounts.dot(z.costs))
        return CompactLeft(used, value, level, money, dual, primal, curve, bent, gap)

    @staticmethod
    def _error(z: CompactState, left: CompactLeft) -> float:
        """Largest error: money relative to all money, rows to 1."""
        if not left.money > 0:
            return np.inf
        return max(
            float(np.abs(left.dual).dot(z.a)) / left.money,
            float(np.maximum.reduce(np.abs(left.primal))),
            left.bent,
            left.gap / left.money,
        )

    def _step(self, z: CompactState, left: CompactLeft) -> CompactState | None:
        try:
            direction = self._directions(z, left)
        except np.linalg.LinAlgError:
            return None
        many = len(z.amounts)
        mean, money = left.gap / many, left.money / many
        if not mean > 0:
            return None
        due = self._due(z, left)
        aim, more = direction(-z.costs, left.curve, False)
        length = min(1.0, z.reach(aim))
        square = aim[:many] * aim[-many:]
        rest = (1 - length) * mean + length**2 * float(np.add.reduce(square)) / many
        centre = max(mean * min(1.0, rest / mean) ** 3, LAST * money)
        risen, dearer = more * self.factor / left.level, aim[z.size[0] + z.size[1] : -many] / z.v
        second = (dearer * dearer + self.alpha * risen * risen) / 2
        most = (10 * mean) * due
        change = centre * due - np.minimum(np.maximum(square, -most), most)
        bend = left.curve - np.minimum(second, 0.5)
        go, _ = direction(change / z.amounts - z.costs, bend, True)
        # near the solution a step may end nearer to where an unknown would be 0
        far = min(1.0, max(mean / money, left.bent))
        return z.moved(go, min(1.0, (1 - min(0.05, max(far**1.5, 1e-9))) * z.reach(go)))

    def _due(self, z: CompactState, left: CompactLeft) -> Floats:
        """What each product is to be at the centre, relative to the mean: the money of the pair's
        user, and the mean (harmonic, by use) of those who use the row. Equal targets would lose
        the users whose money is small."""
        rows = self.rows
        own = z.v * left.level * (len(z.v) / left.money)
        pairs = np.minimum(np.maximum(own, LIGHTEST), 1.0)[rows.n]
        return np.concatenate([pairs, left.used / rows.sums(z.a / pairs)[: rows.size]])

    def _directions(self, z: CompactState, left: CompactLeft) -> Direction:
        """Newton steps.

        Raises
        ------
        LinAlgError : the matrix is singular.
        """
        rows, value, (pairs, size) = self.rows, left.value, z.size
        theta = z.a / (z.nu + DAMPING * value[rows.n])
        grid = rows.grid(theta)
        fall = self.falling * (z.v / left.level)  # v moves by -fall times the share
        heat = self.factor * fall
        ease = 1.0 / (1.0 + heat * np.add.reduce(grid, axis=0))
        cool = heat * ease
        coupled = rows.coupled(grid)
        matrix = rows.gram(grid) - (coupled * cool).dot(coupled.T)
        solve = solver(matrix, z.s / z.price)
        end = len(z.whole) - pairs - size

        def direction(change: Floats, bend: Floats, exact: bool) -> tuple[Floats, Floats]:
            pull = theta * (left.dual + change[:pairs] - (value * bend)[rows.n])
            sums = rows.sums(pull)
            total = sums[size:]
            lacking = sums[:size] - coupled.dot(cool * total) - left.primal
            price = solve(lacking + change[pairs:], exact)
            rise = (total - price.dot(coupled)) * ease
            step = np.empty(len(z.whole))
            step[:pairs] = pull - theta * rows.back(np.concatenate([price, heat * rise]))
            step[pairs : pairs + size] = price
            step[pairs + size : end] = -fall * rise - z.v * bend
            step[end:] = change - z.costs * (step[: pairs + size] / z.amounts)
            return step, rise

        return direction

    # -- the end ------------------------------------------------------------------------------

    def _point(self, z: CompactState) -> Point | None:
        """In tasks and money of rows; of a pair and of a row, what is far smaller than its
        partner is 0: part of the share beside part of the price, part of a user's money beside what
        is left.
        """
        if not np.isfinite(z.whole).all():
            return None
        rows = self.rows
        value, level = self.factor * z.v, self._sums(z.a)
        part = z.a / level[rows.n]
        a = np.where(part < CLEAR * z.nu / value[rows.n], 0.0, z.a)
        paid = z.price * rows.largest(rows.grid(part / value[rows.n]))
        price = np.where(paid < CLEAR * z.s, 0.0, z.price)
        return rows.point(a, price)
