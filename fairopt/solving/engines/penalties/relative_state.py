"""The unknowns of `penalties.relative`, their first values, and the answer they give."""

from __future__ import annotations

import numpy as np

from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats
from fairopt.solving.engines.penalties.ground import Ground
from fairopt.solving.engines.point import Point

EASY = 2.0
"""alpha up to which no strides are needed"""
SETTLING = 3
"""rounds in which first shares are cut to what their users can pay"""
LEAST = 1e-200
"""smallest force"""


class Unknowns:
    """The data of one problem and the present values of its unknowns.

    a, nu (P,), s, price (K,), v and p (N,), e (P,) as in `penalties.method`; mean (1 + I,) the
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
        self.group = ground.within.group
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
        across, within = (w if w > LEAST else 0.0 for w in (across, within))
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
        self.mean = np.append(level.mean(), self.a @ self.ground.within.mean)

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
