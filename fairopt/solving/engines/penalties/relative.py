r"""An interior method for the trade-off (16), each condition relative to the user it concerns.

The conditions are those of `penalties.absolute`. That method's targets and its stopping rule are
relative to the money of all users, too coarse for a user of weight 1e-9. Here a pair's product
aims at tau times the money of its own user, a row's at tau times the mean (harmonic, by use) of
those who use it. Steps are relative to each unknown, errors to the largest term of a condition.
At the end Newton's method solves for the pairs with tasks and the full rows alone
(`relative_polish`).

One mean level and one mean share a server are unknowns of their own, so that no pull is the
difference of large numbers; w = 0 leaves a variance out and w = inf is the hard form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.penalties.ground import Ground
from fairopt.solving.engines.penalties.relative_step import (
    EASY,
    RelativeLeft,
    RelativeSystem,
    Unknowns,
)
from fairopt.solving.engines.point import Point

MOST_NEWTON, STALL_NEWTON = 150, 5
"""most iterations, and most of them without halving the error"""
ROUNDS = 15
"""most changes of the active set"""
CLEAR, ENTERING, CLOSE = 1e-13, 1e-3, 2e-16
"""part of a share or of money below which it counts as zero, with which one enters the active set,
and the error at which Newton's method stops"""
ROUNDING = 1e-15
"""part of its capacity by which a row may be exceeded"""
FARTHEST = 1.5
"""largest change of a logarithm in a step"""


def polished(z: Unknowns) -> list[Point]:
    """Newton on held pairs and full rows alone; this active set is corrected until it is right.

    Returns the last two points: the last iterate and the one of smallest error. Which of them is
    better depends on rounding, so the certificate decides.
    """
    found: list[Point] = []
    left = RelativeLeft(z)
    part = z.a / left.alone
    z.held = (part > z.nu / left.value) | _largest(z)
    z.full = z.price / left.paid > z.s
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        z.a = np.where(z.held, z.a, 0.0)
        z.price = np.where(z.full, z.price, 0.0)
        points = _newton(z)
        if not points:
            break
        found = points
        held, full = _mended(z)
        key = np.packbits(np.concatenate([held, full])).tobytes()
        if key in seen or ((held == z.held).all() and (full == z.full).all()):
            break
        seen.add(key)
        z.held, z.full = held, full
    return found


def _largest(z: Unknowns) -> Any:
    """(P,) whether the pair gives the largest part of a user's level."""
    found = np.zeros(z.pairs, bool)
    found[(z.a[:, None] * z.of_user).argmax(axis=0)] = True
    return found


def _mended(z: Unknowns) -> tuple[Any, Any]:
    """Pairs held and rows full: violated ones enter, those that fell to about 0 leave."""
    z.nu, z.s = np.zeros(z.pairs), np.zeros(z.rows)
    left = RelativeLeft(z)
    part = z.a / left.alone
    cheap = ~z.held & (left.dual > CLEAR * left.value)
    over = ~z.full & (left.primal < -ROUNDING)
    held = ((z.held & (part > CLEAR)) | cheap) | _largest(z)
    full = (z.full & (z.price > CLEAR * left.paid)) | over
    z.a = np.where(cheap, ENTERING * left.alone, z.a)
    z.price = np.where(over, ENTERING * left.paid, z.price)
    return held, full


def _newton(z: Unknowns) -> list[Point]:
    """Newton with everything else at 0: the last iterate and that of smallest error; empty
    if no residual was finite."""
    z.nu, z.s = np.where(z.held, 0.0, z.nu), np.where(z.full, 0.0, z.s)
    best, least, since = z.state(), np.inf, 0
    for iteration in range(MOST_NEWTON):
        level = z.a @ z.of_user
        z.v = z.phi * level**-z.alpha
        # the residuals of other pairs and rows define their nu and s, so they do not count
        left = RelativeLeft(z)
        off = left.off_held(z)
        if not np.isfinite(off):
            break
        if off < least:
            since = iteration if off < 0.5 * least else since
            best, least = z.state(), off
        if least <= CLOSE or iteration - since > STALL_NEWTON:
            break
        try:
            step = RelativeSystem(z, left).solve(np.zeros(z.pairs), np.zeros(z.rows), left.curve)
        except np.linalg.LinAlgError:
            break
        size = max(float(np.abs(x).max(initial=0.0)) for x in (step.a, step.price))
        length = min(1.0, FARTHEST / max(size, 1e-300))
        z.a = z.a * np.exp(length * step.a)
        z.price = z.price * np.exp(length * step.price)
        z.p, z.e = z.p + length * step.p, z.e + length * step.e
        z.mean = z.mean + length * step.mean
    found = [] if not np.isfinite(least) else [z.point()]
    z.restore(best)
    return [*found, z.point()] if found else found


MOST_ITERATIONS = 150
"""iterations of a descent"""
MOST_UNKNOWNS = 600
"""unknowns of the dense system above which this is not tried"""
STRIDE, FAR, SHORTEST, HALF_WAY = 2.0, 8.0, 0.1, 1e-2
"""largest factor of alpha in a stride; largest change of the logarithm of a marginal value in one,
at first and after failures; error at which the next stride begins"""
STRIDES = 300
"""most strides; more would be needed only where marginal values exceed the floating-point range"""
LARGEST_ERROR = 1e-6
"""error above which the path is followed again from another beginning"""
BEGINNINGS = (True, True), (False, True), (True, False), (False, False)
"""whether first shares are by weight (else equal), and whether the forces, while alpha is still
smaller, are already those of the final alpha"""
LAST = 1e-15
"""smallest target of tau"""
STALL, BEGUN, MOST_FAR = 12, 0.1, 60
"""iterations without halving the error before it stops; `MOST_FAR` of them while the error is above
`BEGUN`, since a level may then still be wrong by decades"""


def follow(instance: Instance, score: Floats, terms: Terms) -> list[Point]:
    """The end of the path, and polished points; none after overflow or for a large instance."""
    with np.errstate(all="ignore"):
        ground = Ground.of(instance, score, instance.weight, terms.equal_within)
        if 2 * ground.use.shape[0] + ground.use.shape[1] + 2 * len(ground.weight) > MOST_UNKNOWNS:
            return []
        found = []
        for by_weight, at_end in BEGINNINGS:
            if not at_end and terms.alpha <= EASY:
                continue
            method = _RelativePath(ground, terms, by_weight, terms.alpha if at_end else None)
            error = method.run()
            if np.isfinite(error):
                found.append(method.point())
            if error < LARGEST_ERROR:
                found.extend(polished(method))
                break
    return found


class _RelativePath(Unknowns):
    """Newton's method on the unknowns of one question."""

    def run(self) -> float:
        """Follow the path to its end, to a large alpha in strides; returns the error there.

        A stride after which the method does not converge is replaced by shorter ones.
        """
        far, near = FAR, None
        for _ in range(STRIDES):
            last = self.alpha >= self.terms.alpha
            error = self.descend(0.0 if last else HALF_WAY)
            if error <= HALF_WAY:
                if last:
                    return error
                near, far = (self.state(), self.size, self.alpha), min(FAR, 2 * far)
            elif near is None or far <= SHORTEST:
                return error
            else:
                far /= 4
                self.count_in(*near[1:])
                self.restore(near[0])
            self._raise(far)
        return np.inf

    def descend(self, enough: float) -> float:
        """Predictor-corrector steps until the error no longer falls; keeps the best state."""
        best, least, since = self.state(), np.inf, 0
        for iteration in clock.steps(MOST_ITERATIONS):
            left = RelativeLeft(self)
            if not np.isfinite(left.error):
                break
            if left.error < least:
                since = iteration if left.error < 0.5 * least else since
                best, least = self.state(), left.error
            stall = STALL if least < BEGUN else MOST_FAR
            if least <= enough or iteration - since > stall:
                break
            if not self._step(left):
                break
        self.restore(best)
        return least

    def _raise(self, far: float) -> None:
        """Raise alpha, changing marginal values by at most about e^far, and prices accordingly."""
        level, paying = self.a @ self.ground.levels, self.v
        before = self.of_user @ paying
        low = float(level.min())
        spread = float(np.log(level.max() / low))
        alpha = min(self.terms.alpha, STRIDE * self.alpha, self.alpha + far / max(spread, 1e-9))
        mean = float(self.phi @ (level / low) ** (1 - alpha))
        self.count_in(low * mean ** (1 / (1 - alpha)), alpha)
        level = self.a @ self.of_user
        self.v = self.phi * level**-alpha
        moved = (self.of_user @ self.v) / before
        paid = self.a * before
        self.price = self.price * (((paid * moved) @ self.use) / (paid @ self.use))
        self.nu = self.nu * moved
        self.means()
        across, within = self.forces
        # a pull of a large force is not computed from deviations, which are near 0 and inexact
        self.p = np.where(
            across < self.alpha * self.v / level,
            across * (level - self.mean[0]),
            self.p * (self.v / paying),
        )
        stiff = self.of_user**2 @ (self.alpha * self.v / level)
        self.e = np.where(
            within < stiff, within * (self.a - self.group @ self.mean[1:]), self.e * moved
        )

    def _step(self, left: RelativeLeft) -> bool:
        """One predictor-corrector step; False if none could be made."""
        try:
            return self._moved(left, RelativeSystem(self, left))
        except np.linalg.LinAlgError:
            return False

    def _moved(self, left: RelativeLeft, system: RelativeSystem) -> bool:
        tau = left.tau
        aim = system.solve(-np.ones(self.pairs), -np.ones(self.rows), left.curve)
        length = self._reach(aim)
        after = (1 - length) + length**2 * np.concatenate(
            [left.of_pairs * aim.a * aim.nu, left.of_rows * aim.s * aim.price]
        ).mean() / tau
        centre = max(min(1.0, max(after, 1e-4) ** 3), 1e-4)
        if left.off > 10 * tau:
            # do not decrease tau quickly while the other conditions are still far from met
            centre = max(centre, 0.1 if left.off < 1e3 * tau else 0.5)
        goal = max(centre * tau, LAST)
        of_pairs, of_rows = (
            goal / kind - 1 - np.clip(x * y, -10 * tau / kind, 10 * tau / kind)
            for kind, x, y in ((left.of_pairs, aim.a, aim.nu), (left.of_rows, aim.s, aim.price))
        )
        moved = aim.a * self.a @ self.of_user / left.level
        bend = left.curve - np.minimum((aim.v**2 + self.alpha * moved**2) / 2, 0.5)
        go = system.solve(of_pairs, of_rows, bend)
        length = min(1.0, (1 - min(0.1, max(tau, left.off, 1e-7))) * self._reach(go, 2.0))
        if not length > 1e-9:
            return False
        self.a = self.a * (1 + length * go.a)
        self.s = self.s * (1 + length * go.s)
        self.nu = self.nu * (1 + length * go.nu)
        self.price = self.price * (1 + length * go.price)
        # bound the change of marginal values, which are not linear in the level
        self.v = self.v * np.clip(1 + length * go.v, 0.1, 10.0)
        self.p = self.p + length * go.p
        self.e = self.e + length * go.e
        self.mean = self.mean + length * go.mean
        return True

    @staticmethod
    def _reach(step: Any, most: float = 1.0) -> float:
        least = min(float(x.min(initial=0.0)) for x in (step.a, step.s, step.nu, step.price))
        return min(most, 1.0 / max(-least, 1e-300))
