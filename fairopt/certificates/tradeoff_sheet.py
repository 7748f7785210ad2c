"""A trade-off answer as arrays over pairs, in units that keep numbers near 1, for its bound."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation, pair_cost
from fairopt.certificates.money import LEAST, steady
from fairopt.formulas.penalties import Terms
from fairopt.instance import BLOCK, Floats, Instance, remembered

NEGLIGIBLE = 1e-9
"""shares below this part of what the user could have alone, times its due, count as zero"""


def _force(w: float) -> float:
    """The force w; 0 if it is too small to have an effect beside marginal values near 1.

    NaN if it overflows: then nothing is proved.
    """
    if np.isinf(w):
        return np.nan
    return w if w > 1e-200 else 0.0


class Known:
    """What follows from instance and scores alone: u (P,), most (N,), phi (N,), eligible (I,) users
    of each server, machines (P,) times those users."""

    def __init__(self, inst: Instance, score: Floats) -> None:
        n, i = inst.pairs
        users, servers, _ = inst.shape
        self.score, self.u = score, score[n, i]
        dearest = np.zeros(users)
        np.maximum.at(dearest, n, self.u)
        alone = np.bincount(n, self.u * inst.alone[n, i], users)
        self.most: Floats = np.minimum(alone, dearest * inst.limit) / inst.weight
        self.phi = inst.weight / inst.weight.sum()
        # alone, times the part of a shared pool that its weight would give
        self.due: Floats = np.minimum(alone / inst.weight * self.phi, self.most)
        self.eligible = np.bincount(i, minlength=servers)
        self.machines = inst.count[i] * self.eligible[i]

    @classmethod
    def of(cls, alloc: Allocation) -> Known:
        """The arrays of an answer, kept with a small instance, which a sweep judges often."""
        inst, score = alloc.instance, alloc.score
        if inst.placement.size > BLOCK:
            return cls(inst, score)
        kept: Known = remembered(inst, "_trade_off_known", lambda: cls(inst, score))
        return kept if kept.score is score else cls(inst, score)


class Sheet:
    """An answer on pairs, in units that keep numbers near 1.

    n, i (P,) users and servers; a (P,) dominant shares and level (N,) = F, both counted in `size`;
    phi (N,) weights with sum 1, unit (N,) dominant share in a level of 1; w_f and w (P,) the
    forces of the variances; most (N,) the level a user could have alone, floor (N,) what counts as
    zero.
    """

    def __init__(
        self, alloc: Allocation, terms: Terms, shrink: float = 1.0, size: float | None = None
    ) -> None:
        inst, known = alloc.instance, Known.of(alloc)
        alloc = alloc if alloc.prices is None else steady(alloc)
        self.alloc, self.terms, self.alpha, self.shrink = alloc, terms, terms.alpha, shrink
        self.n, self.i = inst.pairs
        self.users, self.servers, _ = inst.shape
        a = np.maximum(alloc.tasks[self.n, self.i], 0.0) * known.u * shrink
        level = self.per_user(a) / inst.weight
        floor = NEGLIGIBLE * (known.due if terms.alpha else known.most)
        held = np.maximum(level, floor)
        self.size = float(np.exp(np.log(held).mean())) if size is None else size
        self.u, self.a, self.level = known.u / self.size, a / self.size, level / self.size
        self.most, self.held = known.most / self.size, held / self.size
        self.floor = floor / self.size
        self.unit, self.phi, self.eligible = inst.weight, known.phi, known.eligible
        with np.errstate(over="ignore"):
            scale = float(np.float64(self.size) ** (1 + self.alpha) / inst.weight.sum())
        self.w_f = _force(2 * terms.t_pf * scale / self.users)
        self.w = np.asarray(_force(2 * terms.t_drf * scale) / known.machines)
        self.z = self.level - self.level.mean()
        self.y = self.centred(self.a)
        with np.errstate(divide="ignore", over="ignore"):
            self.v = self.phi * self.held**-self.alpha if self.alpha else self.phi

    def per_user(self, x: Floats) -> Floats:
        """(N,) sums of x (P,) over the pairs of each user."""
        return np.asarray(np.bincount(self.n, x, self.users), dtype=np.float64)

    def per_server(self, x: Floats) -> Floats:
        """(I,) sums of x (P,) over the pairs of each server."""
        return np.asarray(np.bincount(self.i, x, self.servers), dtype=np.float64)

    def centred(self, x: Floats) -> Floats:
        """x (P,) less its mean on each server."""
        found: Floats = x - (self.per_server(x) / np.maximum(self.eligible, 1))[self.i]
        return found

    @cached_property
    def per_task(self) -> Floats:
        """(P,) price of a task, in the answer's own unit of money; 0 where its digits are lost."""
        cost = pair_cost(self.alloc)
        return np.where(cost < LEAST, 0.0, cost)

    @cached_property
    def priced(self) -> tuple[Floats, float]:
        """(c_h, B) in the answer's own unit of money."""
        alloc, inst = self.alloc, self.alloc.instance
        assert alloc.prices is not None
        with np.errstate(over="ignore", invalid="ignore"):
            budget = float((alloc.prices * inst.pool).sum())
            if alloc.limit_prices is not None:
                on = alloc.limit_prices > 0
                budget += float(alloc.limit_prices[on] @ inst.limit[on])
            return self.per_task / self.u, budget

    def gradient(self) -> Floats:
        """(P,) slope of the soft objective in one unit of dominant share, at the answer."""
        value = (self.v - self.w_f * self.z) / self.unit
        found: Floats = value[self.n] - self.w * self.y
        return found

    def money(self) -> float:
        """The sum of gradient times a at the answer, computed without loss of digits."""
        penalty = self.w_f * float(self.z @ self.z) + float(self.w @ (self.y * self.y))
        return float(self.v @ self.level - penalty)

    def gap(self, rise: float) -> float:
        """The equal relative rise of every share that raises the objective by `rise`."""
        rise = max(rise, 0.0)
        if self.alpha == 1:
            with np.errstate(over="ignore"):  # an infinite gap proves nothing, and says so
                return float(np.expm1(rise))
        with np.errstate(over="ignore"):
            total = float(self.phi @ self.held ** (1 - self.alpha)) / (1 - self.alpha)
        if not np.isfinite(total):
            return np.inf
        if 1 + rise / total <= 0:
            return np.inf
        with np.errstate(over="ignore"):
            return float(np.expm1(np.log1p(rise / total) / (1 - self.alpha)))
