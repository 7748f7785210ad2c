"""The residuals of the conditions of `penalties.relative`, and its Newton step."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats
from fairopt.solving.engines.penalties.ground import Ground, full
from fairopt.solving.engines.point import Point

EASY = 2.0
"""alpha up to which no strides are needed"""
SETTLING = 3
"""rounds in which first shares are cut to what their users can pay"""
LEAST_FORCE = 1e-200
"""smallest force"""


class Unknowns:
    """The data of one problem and the present values of its unknowns.

    a, nu (P,), s, price (K,), v and p (N,), e (P,) as in `penalties.absolute`; mean (1 + I,) the
    mean level and the mean shares; held (P,) and full (K,) the pairs and rows whose unknowns may
    change.
    """

    def __init__(
        self, ground: Ground, terms: Terms, by_weight: bool, forces_of: float | None
    ) -> None:
        self.ground, self.terms, self.forces_of = ground, terms, forces_of
        self.use, self.phi = ground.use, ground.weight
        self.pairs, self.rows = self.use.shape
        self.users = len(self.phi)
        self.group, self.part = full(ground.within.group), full(ground.within.mean)
        self.held, self.full = np.ones(self.pairs, bool), np.ones(self.rows, bool)
        self.begin(by_weight)

    def count_in(self, size: float, alpha: float) -> None:
        """Levels in `size`, the objective in sum phi size^(1-alpha), and g that of `alpha`."""
        terms, ground = self.terms, self.ground
        self.size, self.alpha, self.of_user = size, max(alpha, 1e-8), ground.levels / size
        # while alpha is still smaller, the forces may already be those of the final alpha
        scale = np.float64(size) ** (1 + (self.forces_of or alpha)) / self.ground.total
        across = np.inf if terms.equal_across else 2 * terms.t_pf * scale / self.users
        within = 0.0 if terms.equal_within else 2 * terms.t_drf / size**2 * scale
        # a force this small beside marginal values near 1 has no effect, only rounding
        across, within = (w if w > LEAST_FORCE else 0.0 for w in (across, within))
        self.forces = np.full(self.users, across), np.full(self.pairs, within) / ground.machines

    def begin(self, by_weight: bool) -> None:
        """Servers half full, shared by weight or equally, each server's money spread evenly."""
        ground = self.ground
        a = ground.a0
        if by_weight and not self.terms.equal_within:
            own = ground.on @ self.phi
            part = own * (self.group @ (1 / (own @ self.group)))
            a = a * np.maximum(part * (self.group @ self.group.sum(axis=0)), 1e-290)
            a = a * 0.5 / max(float((a @ self.use).max()), 0.5)
        level = a @ ground.levels
        self.count_in(float(np.exp(np.log(level).mean())), min(self.terms.alpha, EASY))
        for _ in range(SETTLING):
            level = a @ self.of_user
            self.a, self.v = a, self.phi * level**-self.alpha
            self.s = np.maximum(1.0 - a @ self.use, 0.1)
            value = self.of_user @ self.v
            self.price = 2.0 * ((a * value) @ ground.even)
            self.nu = np.maximum(self.use @ self.price - value, 0.2 * value)
            # a pair's product of share and reduced cost begins at no more than its user's money
            alone = np.where(ground.on, level / np.where(ground.on, self.of_user, 1.0), np.inf)
            a = np.minimum(a, value * alone.min(axis=1) / self.nu)
        self.p, self.e = np.zeros(self.users), np.zeros(self.pairs)
        self.means()

    def means(self) -> None:
        """Make the mean levels again."""
        level = self.a @ self.of_user
        self.mean = np.append(level.mean(), self.a @ self.part)

    def state(self) -> tuple[Floats, ...]:
        """A copy of all that a step changes."""
        return (
            self.a.copy(),
            self.s.copy(),
            self.nu.copy(),
            self.price.copy(),
            self.v.copy(),
            self.p.copy(),
            self.e.copy(),
            self.mean.copy(),
        )

    def restore(self, state: tuple[Floats, ...]) -> None:
        """Take back a state that was copied."""
        self.a, self.s, self.nu, self.price, self.v, self.p, self.e, self.mean = state

    def point(self) -> Point:
        """In tasks and money of rows."""
        ground, rows = self.ground, len(self.ground.rows)
        servers, resources, users = ground.shape
        money = np.zeros(servers * resources)
        money[ground.rows] = self.price[:rows]
        limits = np.zeros(users)
        limits[ground.limited] = self.price[rows:]
        return Point(self.a[ground.pair] / ground.u, money.reshape(servers, resources), limits)


WEAK = 1e-3
"""a force is weak if its money is below this part of the money of the entries that it draws"""
DAMPING = 1e-13
"""damping of a pair, relative to its marginal value, which makes the step unique"""
HUGE = 1e10
"""relative step beyond which a system counts as singular"""


class RelativeLeft:
    """Residuals of the conditions, and products of pairs and rows, each relative to its money."""

    def __init__(self, z: Unknowns) -> None:
        self.level = level = z.a @ z.of_user
        net = z.v - z.p
        # a user whose level is pulled up pays more than its marginal value
        self.money = np.maximum(z.v, np.abs(net)) * level
        self.value = z.of_user @ (self.money / level)
        self.dual = z.of_user @ net - z.e - z.use @ z.price + z.nu
        self.primal = 1.0 - z.a @ z.use - z.s
        self.curve = np.log(z.v) + z.alpha * np.log(level) - z.ground.log_weight
        across, within = z.forces
        self.across = _pulled(level - z.mean[0], z.p, across)
        self.within = _pulled(z.a - z.group @ z.mean[1:], z.e, within)
        # the share at which this pair alone would give its user the whole level
        self.alone = np.where(z.of_user > 0, level / z.of_user, np.inf).min(axis=1)
        money = np.maximum(self.value * self.alone, np.abs(z.e) * z.a)
        self.paid = (z.a @ z.use) / ((z.a / money) @ z.use)
        self.of_pairs = z.a * z.nu / money
        self.of_rows = z.s * z.price / self.paid
        self.tau = float(np.concatenate([self.of_pairs, self.of_rows]).mean())
        size = np.maximum(self.value, np.maximum(np.abs(z.e), z.use @ z.price))
        self.unbalanced = np.abs(self.dual) / size
        stiff = z.alpha * z.v / level
        apart = np.abs(self.within) / self.alone * _beside(within, z.of_user**2 @ stiff)
        away = np.abs(self.across) / level * _beside(across, stiff)
        self.pulls = max(float(away.max()), float(apart.max()))
        self.off = max(
            float(self.unbalanced.max()),
            float(np.abs(self.primal).max()),
            float(np.abs(self.curve).max()),
            self.pulls,
        )
        self.error = max(self.off, float(self.of_pairs.max()), float(self.of_rows.max()))

    def off_held(self, z: Unknowns) -> float:
        """The largest error of the pairs held and the rows full, and of the pulls."""
        return max(
            float(self.unbalanced[z.held].max()),
            self.pulls,
            float(np.abs(self.primal[z.full]).max(initial=0.0)),
        )


def _pulled(away: Floats, pull: Floats, w: Floats) -> Floats:
    """Deviations that pulls do not explain; 0 without a force."""
    return np.where(w > 0, away - pull / w, 0.0)


def _beside(w: Floats, stiff: Floats) -> Floats:
    """How much a deviation matters: 1 for a strong force, w / stiff for a weak one."""
    return 1.0 / (1.0 + stiff / w)


class RelativeChange:
    """A Newton step: relative changes of a, s, nu, price, v; changes of p, e and means."""

    a: Floats
    s: Floats
    nu: Floats
    price: Floats
    v: Floats
    p: Floats
    e: Floats
    mean: Floats


class RelativeSystem:
    """The matrix of a step of relative changes, every row and column scaled to 1.

    nu, s and v are eliminated, which divides by nothing. Unknowns: a (P), price (K), and where
    there are forces p (N) and the mean level, e (P) and the mean shares.
    """

    def __init__(self, z: Unknowns, left: RelativeLeft) -> None:
        self.z, self.left = z, left
        pairs, rows, users = z.pairs, z.rows, z.users
        across, within = z.forces
        self.pulls = across[0] > 0, within[0] > 0
        ends = np.cumsum(
            [
                pairs,
                rows,
                *((users, 1) if self.pulls[0] else (0, 0)),
                *((pairs, z.group.shape[1]) if self.pulls[1] else (0, 0)),
            ]
        ).tolist()
        self.at = at = [slice(*k) for k in zip([0, *ends[:-1]], ends, strict=True)]
        a, price, p, mean, e, means = at
        m = np.zeros((ends[-1], ends[-1]))
        self.slope = z.alpha * (z.a[:, None] * z.of_user) / left.level
        m[a, a] = -(z.of_user * z.v) @ self.slope.T
        own = np.arange(pairs)
        m[own, own] -= z.nu + DAMPING * left.value
        m[a, price] = -z.use * z.price
        m[price, a] = (z.use * z.a[:, None]).T
        k = np.arange(pairs, pairs + rows)
        m[k, k] = -z.s
        if self.pulls[0]:
            m[a, p] = -z.of_user
            weak = np.minimum(across, 1.0)
            m[p, a] = weak[:, None] * (z.a[:, None] * z.of_user).T
            m[p, mean] = -weak[:, None]
            m[p, p] = -np.diag(np.minimum(1.0, 1.0 / across))
            # pulls sum to 0; if weak, that hardly determines the mean, which is then stated instead
            self.weak = float(across[0] * left.level.mean() ** 2) < WEAK * float(z.v @ left.level)
            if self.weak:
                m[mean, a] = (z.a[:, None] * z.of_user).sum(axis=1) / users
                m[mean, mean] = -1.0
            else:
                m[mean, p] = 1.0
        if self.pulls[1]:
            m[a, e] = -np.eye(pairs)
            weak = np.minimum(within, 1.0)
            m[e, a] = np.diag(weak * z.a)
            m[e, means] = -weak[:, None] * z.group
            m[e, e] = -np.diag(np.minimum(1.0, 1.0 / within))
            shares, money = z.a @ z.part, (left.value * z.a) @ z.group
            force = np.where(z.group > 0, within[:, None], 0.0).max(axis=0)
            self.weak_on = force * shares**2 < WEAK * money
            m[means, e] = np.where(self.weak_on, 0.0, z.group).T
            m[means, a] = np.where(self.weak_on, z.part * z.a[:, None], 0.0).T
            m[means, means] = -np.diag(np.where(self.weak_on, 1.0, 0.0))
        # pairs not held and rows not full do not change
        self.fixed = np.flatnonzero(np.concatenate([~z.held, ~z.full]))
        m[self.fixed] = 0.0
        m[:, self.fixed] = 0.0
        m[self.fixed, self.fixed] = 1.0
        self.scale = np.ones(ends[-1])
        if self.pulls[0]:
            # a pull may be far larger than its user's marginal value, up to the largest of all
            pull = np.minimum(across * left.level.mean(), z.v.max())
            self.scale[p] = np.maximum(np.maximum(z.v, pull), np.abs(z.p))
            self.scale[mean] = left.level.mean()
        if self.pulls[1]:
            # a pull may have to balance a price
            pull = np.minimum(within * (z.group @ shares), left.value.max())
            own = np.maximum(left.value, np.maximum(z.use @ z.price, pull))
            self.scale[e] = np.maximum(own, np.abs(z.e))
            self.scale[means] = np.maximum(np.abs(z.mean[1:]), 1e-300)
        m *= self.scale
        self.size = 1.0 / np.maximum(np.abs(m).max(axis=1), 1e-300)
        m *= self.size[:, None]
        if not (np.isfinite(m).all() and np.isfinite(self.scale).all()):
            raise np.linalg.LinAlgError("numbers ended")
        self.matrix = m
        self.factors: tuple[Any, ...] | None = None

    def solve(self, of_pairs: Floats, of_rows: Floats, curve: Floats) -> RelativeChange:
        """The step for these relative changes of products and residual of the relation of v."""
        z, left = self.z, self.left
        a, price, p, mean, e, means = self.at
        across, within = z.forces
        right = np.zeros(len(self.scale))
        right[a] = -left.dual + z.of_user @ (z.v * curve) - z.nu * of_pairs
        right[price] = left.primal - z.s * of_rows
        if self.pulls[0]:
            right[p] = -np.minimum(across, 1.0) * left.across
            right[mean] = z.mean[0] - left.level.mean() if self.weak else -z.p.sum()
        if self.pulls[1]:
            right[e] = -np.minimum(within, 1.0) * left.within
            right[means] = np.where(self.weak_on, z.mean[1:] - z.a @ z.part, -z.e @ z.group)
        right[self.fixed] = 0.0
        found = self._solved(right * self.size) * self.scale
        step = RelativeChange()
        step.a, step.price = found[a], found[price]
        step.nu, step.s = of_pairs - step.a, of_rows - step.price
        step.v = -curve - step.a @ self.slope
        step.p = found[p] if self.pulls[0] else np.zeros(z.users)
        step.e = found[e] if self.pulls[1] else np.zeros(z.pairs)
        step.mean = np.zeros_like(z.mean)
        if self.pulls[0]:
            step.mean[0] = found[mean][0]
        if self.pulls[1]:
            step.mean[1:] = found[means]
        return step

    def _solved(self, right: Floats) -> Floats:
        from scipy.linalg import lapack, lstsq

        if self.factors is None:
            lu, pivots, info = lapack.dgetrf(self.matrix)
            self.factors = (lu, pivots) if info == 0 else ()
        if self.factors:
            found = lapack.dgetrs(*self.factors, right)[0]
            found = found + lapack.dgetrs(*self.factors, right - self.matrix @ found)[0]
            if np.isfinite(found).all() and np.abs(found).max(initial=0.0) < HUGE:
                return np.asarray(found, dtype=np.float64)
        if not np.isfinite(right).all():
            raise np.linalg.LinAlgError("numbers ended")
        return np.asarray(lstsq(self.matrix, right, cond=1e-15)[0], dtype=np.float64)
