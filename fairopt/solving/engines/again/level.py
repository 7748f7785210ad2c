r"""A level of max-min again, by proximal Newton steps in the money of rows (docs/maths/again.md).

In units of what each user is thought to be due, a round solves, y the tasks of the round before,

.. math:: \max\ \tau - \sum_h (v_h - y_h)^2 / (2 e_h), \quad \sum_{h \in n} v_h = \tau
          \text{ or what its limit allows}, \quad B v \le 1, \quad v \ge 0.

At given money a user takes v_h = max(0, y_h + e_h (p_n - c_h)), and the level is that at which the
prices of those who rise sum to 1: one increasing equation for each user and one for all. The dual
in the money is convex with a piecewise linear gradient, the rows' room. Only rows that have a price
or are overrun, and only users who hold several pairs, are in the system of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairopt import clock
from fairopt.instance import Bools, Floats, Ints

DELTA = 1e-6
"""relative rise of a price at which a pair may double"""
ETA = 0.1
"""a pair that was not used moves like one with this part of its user's share"""
ENOUGH = 1e-9
"""part of a row that may be overrun or, with a price, empty at the end of a round"""
LAST = 1e-10
"""relative spread of what a user pays on its pairs at which no round follows"""
USED = 1e-7
"""part of its share from which a pair counts in that spread"""
SMALL = 1e-9
"""the least price of a user, in parts of the mean, that says how far its pairs may move"""
ROUNDS = 4
HASTY, PATIENT = (25, 5), (80, 30)
"""most Newton steps of all rounds, and how many of them may be stuck"""
PASSES = 60
TRIALS = 18
"""most lengths of a step that are tried"""
FAR, LONGER = 1e-5, 10.0
"""relative change of a price that is tried first, where a step changes it by more, and by how much
longer ones are tried while the dual falls"""
RIDGE = 1e-12
"""added to the unit diagonal of the scaled system"""
SHORT = 1e-3
"""a step shortened to less than this part is stuck: where users can give way to a row only by
coming to servers they are not on, it has no end"""
TINY = 1e-300


@dataclass(frozen=True)
class LevelPairs:
    """Pairs (P,), in order of their users.

    uses : (P, R) parts of the rows of its server that a unit of v takes. rises : (N,) whose share
    rises with the level; of the others it is what they are due, 1.
    """

    user: Ints
    server: Ints
    uses: Floats
    rises: Bools
    servers: int


@dataclass(frozen=True)
class LevelFound:
    """v (P,), money (I, R), prices (N,), level in units, and Newton steps."""

    v: Floats
    money: Floats
    p: Floats
    level: float
    off: float


@dataclass(frozen=True)
class _LevelStep:
    v: Floats
    held: Bools
    cost: Floats
    p: Floats
    level: float
    mass: Floats


class LevelAgain:
    """The rounds.

    Parameters
    ----------
    v, money : where they begin. patient : whether an answer without a start takes so long that many
        steps are worth it.
    """

    def __init__(self, pairs: LevelPairs, v: Floats, money: Floats, patient: bool) -> None:
        self.pairs, self.y = pairs, v
        self.most, self.most_stuck = PATIENT if patient else HASTY
        self.users, self.resources = len(pairs.rises), pairs.uses.shape[1]
        self.first = np.searchsorted(pairs.user, np.arange(self.users))
        self.row = pairs.server[:, None] * self.resources + np.arange(self.resources)
        self.size = pairs.servers * self.resources
        p = np.minimum.reduceat(self._cost(money.ravel()), self.first)
        self.money = money.ravel() / float(p[pairs.rises].sum())
        self.p, self.level = p / float(p[pairs.rises].sum()), 1.0
        self.e = np.zeros(0)
        self.steps = self.stuck = 0

    def rounds(self) -> Iterator[LevelFound]:
        """Levels with tasks and prices after each round, not exact; until they get no nearer."""
        for _ in range(ROUNDS):
            clock.tick()
            least = SMALL / self.users
            ease = np.maximum(self.y, ETA) / (DELTA * np.maximum(self.p, least))[self.pairs.user]
            self.e = ease
            taken = self._round()
            if taken is None:
                return
            self.y, self.p, self.level = taken.v, taken.p, taken.level
            apart = np.abs(taken.cost / taken.p[self.pairs.user] - 1)
            off = float(apart[taken.v > USED].max())
            yield LevelFound(
                self.y, self.money.reshape(-1, self.resources), self.p, self.level, max(off, LAST)
            )
            if off <= LAST:
                return

    def _cost(self, money: Floats) -> Floats:
        return np.asarray((self.pairs.uses * money[self.row]).sum(axis=1))

    def _used(self, v: Floats) -> Floats:
        used = (self.pairs.uses * v[:, None]).ravel()
        return np.asarray(np.bincount(self.row.ravel(), used, self.size), dtype=float)

    def _sum(self, of_pairs: Floats) -> Floats:
        return np.add.reduceat(of_pairs, self.first)

    def _take(self, money: Floats, p: Floats, level: float) -> _LevelStep | None:
        user, rises = self.pairs.user, self.pairs.rises
        cost = self._cost(money)
        base = self.y - self.e * cost
        for _ in range(PASSES):
            v = np.maximum(base + self.e * p[user], 0.0)
            held = v > 0
            mass = self._sum(np.where(held, self.e, 0.0))
            bare = mass == 0
            over = self._sum(v) - np.where(rises, level, 1.0)
            step = -over / np.where(bare, 1.0, mass)
            if bare.any():  # from below its cheapest: to where it holds that
                least = np.minimum.reduceat(cost - self.y / self.e, self.first)
                step = np.where(bare, least * (1 + 1e-9) + 1e-300 - p, step)
            slope = float((1.0 / mass[rises & ~bare]).sum())
            rise = (1.0 - float((p + step)[rises].sum())) / slope if slope > 0 else 0.0
            if bare.any():
                rise = 0.0
            step = step + np.where(rises & ~bare, rise / np.where(bare, 1.0, mass), 0.0)
            level += rise
            p = p + step
            if not np.isfinite(p).all():
                return None
            if float(np.abs(step).max()) <= 1e-14 * float(np.abs(p).max()):
                break
        v = np.maximum(base + self.e * p[user], 0.0)
        held = v > 0
        mass = self._sum(np.where(held, self.e, 0.0))
        return _LevelStep(v, held, cost, p, level, mass)

    def _round(self) -> _LevelStep | None:
        money = self.money
        taken = self._take(money, self.p, self.level)
        while taken is not None:
            left = 1.0 - self._used(taken.v)
            miss = float(np.abs(np.where(money > 0, left, np.minimum(left, 0.0))).max())
            if miss <= ENOUGH:
                self.money = money
                return taken
            if self.steps >= self.most:
                return None
            self.steps += 1
            found = self._stepped(taken, money, left)
            if found is None:
                return None
            taken, money = found
        return None

    def _stepped(
        self, taken: _LevelStep, money: Floats, left: Floats
    ) -> tuple[_LevelStep, Floats] | None:
        on = np.flatnonzero((money > 0) | (left < -0.1 * ENOUGH))
        found = self._direction(taken, on, left)
        if found is None:
            return None
        step, change, far = found
        slope = float((left * step).sum())
        if not slope < 0:
            return None
        length = min(1.0, FAR / far) if far > 0 else 1.0
        low, at_low, high, at_high = 0.0, slope, np.inf, 0.0
        new, tried = taken, money
        for _ in range(TRIALS):
            tried = np.maximum(money + length * step, 0.0)
            guess = np.maximum(taken.p + length * change, 0.1 * taken.p)
            more = self._take(tried, guess, taken.level)
            if more is None:
                return None
            new = more
            moved = np.where(tried > 0, step, 0.0)
            after = float(((1.0 - self._used(new.v)) * moved).sum())
            if abs(after) <= 0.5 * abs(slope) or (after < 0 and length == 1.0):
                break
            if after < 0:
                low, at_low = length, after
            else:
                high, at_high = length, after
            if high == np.inf:
                length = min(1.0, LONGER * length)
            else:
                part = -at_low / (at_high - at_low)
                length = low + (high - low) * min(max(part, 0.1), 0.9)
        self.stuck += length < SHORT
        return None if self.stuck >= self.most_stuck else (new, tried)

    def _direction(
        self, taken: _LevelStep, on: Ints, left: Floats
    ) -> tuple[Floats, Floats, float] | None:
        """The Newton step in the money of the rows `on`, what it does to users' prices, and by
        which part it changes them at most."""
        from scipy.linalg import lapack

        rises, mass = self.pairs.rises, taken.mass
        theta = np.where(taken.held, self.e, 0.0)
        body, scale = self._curvature(theta, mass, on)
        within = float((1.0 / mass[rises]).sum())
        diagonal = np.arange(len(on))
        body[diagonal, diagonal] += RIDGE
        factor, info = lapack.dpotrf(body, lower=1, clean=0, overwrite_a=1)
        if info:
            return None
        step = np.zeros(self.size)
        step[on] = lapack.dpotrs(factor, -left[on] * scale, lower=1)[0] * scale
        change = self._sum(theta * self._cost(step)) / mass
        change -= np.where(rises, float(change[rises].sum()) / within / mass, 0.0)
        return step, change, float(np.abs(change / taken.p).max())

    def _curvature(self, theta: Floats, mass: Floats, on: Ints) -> tuple[Floats, Floats]:
        """The dual's curvature in the money of the rows `on`, its lower half, with 1 on the
        diagonal of what pairs alone bring; and the scale of rows that makes it so."""
        from scipy.linalg import blas

        pairs, size, rises = self.pairs, len(on), self.pairs.rises
        number = np.full(self.size, -1)
        number[on] = np.arange(size)
        number = number.reshape(-1, self.resources)
        body, has = np.zeros((size, size), order="F"), np.zeros((self.users, size))
        for r in range(self.resources):
            mine, part = number[pairs.server, r], theta * pairs.uses[:, r]
            some = np.flatnonzero((mine >= 0) & (part > 0))
            has[pairs.user[some], mine[some]] = part[some]
            for other in range(r, self.resources):
                both = (number[:, r] >= 0) & (number[:, other] >= 0)
                if both.any():
                    sums = np.bincount(pairs.server, part * pairs.uses[:, other], len(number))
                    one, two = number[both, r], number[both, other]
                    body[one, two] = body[two, one] = sums[both]
        scale = 1.0 / np.sqrt(np.maximum(np.diag(body), TINY))
        rise = (has[rises] / mass[rises, None]).sum(axis=0)
        has /= np.sqrt(mass)[:, None]
        body = blas.dsyrk(-1.0, has.T, 1.0, body, lower=1, overwrite_c=1)
        total = float((1.0 / mass[rises]).sum())
        body = blas.dsyr(1.0 / total, rise, a=body, lower=1, overwrite_a=1)
        body *= scale[:, None]
        body *= scale
        return body, scale
