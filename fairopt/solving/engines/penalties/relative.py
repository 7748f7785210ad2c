r"""The trade-off (16) once more, every condition relative to the user it concerns.

The conditions are those of `engines.tradeoff`, whose targets and stops are relative to all money:
a user whose weight is a billionth is not right when it stops. Here a pair's product aims at tau
times the money of its own user, a row's at tau times the mean (harmonic, by use) of those who use
it, steps are counted in parts of each unknown, and every condition in parts of its largest term.
In the end Newton runs once more with what is not held and not full taken out (`_Polish`).

One mean level and one mean share a server are unknowns of their own, so that no pull is the
difference of large numbers; w = 0 leaves a variance out and w = inf is the hard form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.penalties.ground import Ground
from fairopt.solving.engines.penalties.relative_step import Left, System
from fairopt.solving.engines.point import Point

MOST = 150
"""iterations of a descent"""
LARGEST = 600
"""unknowns of the dense system above which this is not tried"""
EASY, STRIDE, FAR, SHORTEST, HALF_WAY = 2.0, 2.0, 8.0, 0.1, 1e-2
"""alpha up to which no strides are needed; their largest factor, the largest change of the
logarithm of a worth in one, at first and at last, and how near each of them comes"""
STRIDES = 300
"""most of them: worths that part by more than floating point holds are past them"""
NEAR = 1e-6
"""error above which the path is begun once more"""
BEGINNINGS = (True, True), (False, True), (True, False), (False, False)
"""shares by weight or equal; forces, on the way to a large alpha, as at its end or as there"""
SETTLING = 3
"""rounds in which shares at the beginning are cut to what their users can pay"""
LAST, LEAST = 1e-15, 1e-200
"""smallest tau aimed at, and smallest force"""
STALL, BEGUN, MOST_FAR = 12, 0.1, 60
"""iterations without halving the error before it stops; while the error is above `BEGUN`, where a
level may still have decades to go, how many"""
ROUNDS = 15
"""changes of what is held and full"""
CLEAR, ENTERING, CLOSE = 1e-13, 1e-3, 2e-16
"""parts of shares and money that are something, at which new ones enter, and near enough"""
ROUNDING = 1e-15
"""part of a row by which none may be over"""
FARTHEST = 1.5
"""largest change of a logarithm in a step of the polish"""


def follow(instance: Instance, score: Floats, terms: Terms) -> list[Point]:
    """The end of the path, and the same polished; empty where numbers ended or it is too large."""
    with np.errstate(all="ignore"):
        ground = Ground.of(instance, score, instance.weight, terms.equal_within)
        if 2 * len(ground.use) + ground.use.shape[1] + 2 * len(ground.weight) > LARGEST:
            return []
        found = []
        for by_weight, at_end in BEGINNINGS:
            if not at_end and terms.alpha <= EASY:
                continue
            method = _Path(ground, terms, by_weight, terms.alpha if at_end else None)
            error = method.run()
            if np.isfinite(error):
                found.append(method.point())
            if error < NEAR:
                found.extend(method.polish())
                break
    return found


class _Path:
    """The unknowns of one question and Newton's method on them.

    a, nu (P,), s, price (K,), v and p (N,), e (P,) as in `engines.tradeoff`; mean (1 + I,) the
    mean level and the mean shares.
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
        self._begin(by_weight)

    def _count_in(self, size: float, alpha: float) -> None:
        """Levels in `size`, the objective in sum phi size^(1-alpha), and g that of `alpha`."""
        terms, ground = self.terms, self.ground
        self.size, self.alpha, self.of_user = size, max(alpha, 1e-8), ground.levels / size
        # on the way to a larger alpha the forces may already be as strong as they will be there
        worth = np.float64(size) ** (1 + (self.forces_of or alpha)) / self.ground.total
        across = np.inf if terms.equal_across else 2 * terms.t_pf * worth / self.users
        within = 0.0 if terms.equal_within else 2 * terms.t_drf / size**2 * worth
        # a force too small to matter beside worths near 1 has lost its digits
        across, within = (w if w > LEAST else 0.0 for w in (across, within))
        self.forces = np.full(self.users, across), np.full(self.pairs, within) / ground.machines

    def _begin(self, by_weight: bool) -> None:
        """Servers half full, shared by weight or equally, each server's money spread evenly."""
        ground = self.ground
        a = ground.a0
        if by_weight and not self.terms.equal_within:
            own = ground.on @ self.phi
            part = own * (self.group @ (1 / (own @ self.group)))
            a = a * np.maximum(part * (self.group @ self.group.sum(axis=0)), 1e-290)
            a = a * 0.5 / max(float((a @ self.use).max()), 0.5)
        level = a @ ground.levels
        self._count_in(float(np.exp(np.log(level).mean())), min(self.terms.alpha, EASY))
        for _ in range(SETTLING):
            level = a @ self.of_user
            self.a, self.v = a, self.phi * level**-self.alpha
            self.s = np.maximum(1.0 - a @ self.use, 0.1)
            worth = self.of_user @ self.v
            self.price = 2.0 * ((a * worth) @ ground.even)
            self.nu = np.maximum(self.use @ self.price - worth, 0.2 * worth)
            # a user rich elsewhere begins with no more than its money there
            alone = np.where(ground.on, level / np.where(ground.on, self.of_user, 1.0), np.inf)
            a = np.minimum(a, worth * alone.min(axis=1) / self.nu)
        self.p, self.e = np.zeros(self.users), np.zeros(self.pairs)
        self._means()

    def _means(self) -> None:
        level = self.a @ self.of_user
        self.mean = np.append(level.mean(), self.a @ self.ground.within.mean)

    # -- the path -----------------------------------------------------------------------------

    def run(self) -> float:
        """To the end of the path; a large alpha is reached in strides. The error there.

        A stride whose end is not reached is taken again in shorter ones.
        """
        far, near = FAR, None
        for _ in range(STRIDES):
            last = self.alpha >= self.terms.alpha
            error = self.descend(0.0 if last else HALF_WAY)
            if error <= HALF_WAY:
                if last:
                    return error
                near, far = (self._state(), self.size, self.alpha), min(FAR, 2 * far)
            elif near is None or far <= SHORTEST:
                return error
            else:
                far /= 4
                self._count_in(*near[1:])
                self._restore(near[0])
            self._raise(far)
        return np.inf

    def descend(self, enough: float) -> float:
        """Predictor and corrector until nothing more is gained; keeps the best state."""
        best, least, since = self._state(), np.inf, 0
        for iteration in range(MOST):
            left = Left(self)
            if not np.isfinite(left.error):
                break
            if left.error < least:
                since = iteration if left.error < 0.5 * least else since
                best, least = self._state(), left.error
            stall = STALL if least < BEGUN else MOST_FAR
            if least <= enough or iteration - since > stall:
                break
            if not self._step(left):
                break
        self._restore(best)
        return least

    def _raise(self, far: float) -> None:
        """A larger alpha, no worth changed by more than e^far, prices moved as those who pay."""
        level, paying = self.a @ self.ground.levels, self.v
        before = self.of_user @ paying
        low = float(level.min())
        spread = float(np.log(level.max() / low))
        alpha = min(self.terms.alpha, STRIDE * self.alpha, self.alpha + far / max(spread, 1e-9))
        mean = float(self.phi @ (level / low) ** (1 - alpha))
        self._count_in(low * mean ** (1 / (1 - alpha)), alpha)
        level = self.a @ self.of_user
        self.v = self.phi * level**-alpha
        moved = (self.of_user @ self.v) / before
        paid = self.a * before
        self.price = self.price * (((paid * moved) @ self.use) / (paid @ self.use))
        self.nu = self.nu * moved
        self._means()
        across, within = self.forces
        # a strong pull has its digits in the worths, not in what is left of the differences
        self.p = np.where(
            across < self.alpha * self.v / level, across * (level - self.mean[0]),
            self.p * (self.v / paying),
        )  # fmt: skip
        stiff = self.of_user**2 @ (self.alpha * self.v / level)
        self.e = np.where(
            within < stiff, within * (self.a - self.group @ self.mean[1:]), self.e * moved
        )

    def _state(self) -> tuple[Floats, ...]:
        return (
            self.a.copy(), self.s.copy(), self.nu.copy(), self.price.copy(), self.v.copy(),
            self.p.copy(), self.e.copy(), self.mean.copy(),
        )  # fmt: skip

    def _restore(self, state: tuple[Floats, ...]) -> None:
        self.a, self.s, self.nu, self.price, self.v, self.p, self.e, self.mean = state

    def _step(self, left: Left) -> bool:
        """One predictor and corrector; whether there was a way on."""
        try:
            return self._moved(left, System(self, left))
        except np.linalg.LinAlgError:
            return False

    def _moved(self, left: Left, system: System) -> bool:
        tau = left.tau
        aim = system.solve(-np.ones(self.pairs), -np.ones(self.rows), left.curve)
        length = self._reach(aim)
        after = (1 - length) + length**2 * np.concatenate([
            left.of_pairs * aim.a * aim.nu, left.of_rows * aim.s * aim.price,
        ]).mean() / tau  # fmt: skip
        centre = max(min(1.0, max(after, 1e-4) ** 3), 1e-4)
        if left.off > 10 * tau:
            # prices must not run away from conditions that are not yet kept
            centre = max(centre, 0.1 if left.off < 1e3 * tau else 0.5)
        goal = max(centre * tau, LAST)
        of_pairs, of_rows = (
            goal / kind - 1 - np.clip(x * y, -10 * tau / kind, 10 * tau / kind)
            for kind, x, y in (
                (left.of_pairs, aim.a, aim.nu), (left.of_rows, aim.s, aim.price),
            )
        )  # fmt: skip
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
        # the worth may not leave its curve far behind
        self.v = self.v * np.clip(1 + length * go.v, 0.1, 10.0)
        self.p = self.p + length * go.p
        self.e = self.e + length * go.e
        self.mean = self.mean + length * go.mean
        return True

    @staticmethod
    def _reach(step: Any, most: float = 1.0) -> float:
        least = min(float(x.min(initial=0.0)) for x in (step.a, step.s, step.nu, step.price))
        return min(most, 1.0 / max(-least, 1e-300))

    # -- the end ------------------------------------------------------------------------------

    def polish(self) -> list[Point]:
        """Newton on what is held and full alone, which is mended until nothing asks for it.

        The last points: where Newton came nearest, and where it came to rest. Rounding decides
        which is better, and the judge knows.
        """
        found: list[Point] = []
        left = Left(self)
        part = self._parts(left)
        self.held = (part > self.nu / left.worth) | self._largest()
        self.full = self.price / left.paid > self.s
        seen: set[bytes] = set()
        for _ in range(ROUNDS):
            self.a = np.where(self.held, self.a, 0.0)
            self.price = np.where(self.full, self.price, 0.0)
            points = self._newton()
            if not points:
                break
            found = points
            held, full = self._mended()
            key = np.packbits(np.concatenate([held, full])).tobytes()
            if key in seen or ((held == self.held).all() and (full == self.full).all()):
                break
            seen.add(key)
            self.held, self.full = held, full
        return found

    def _parts(self, left: Left) -> Floats:
        """(P,) largest part of anybody's level in each share."""
        found: Floats = self.a / left.alone
        return found

    def _largest(self) -> Any:
        """(P,) what holds most of each user's level."""
        found = np.zeros(self.pairs, bool)
        found[(self.a[:, None] * self.of_user).argmax(axis=0)] = True
        return found

    def _mended(self) -> tuple[Any, Any]:
        """Pairs held and rows full: cheap ones enter, those that came to nothing go."""
        self.nu, self.s = np.zeros(self.pairs), np.zeros(self.rows)
        left = Left(self)
        part = self._parts(left)
        cheap = ~self.held & (left.dual > CLEAR * left.worth)
        over = ~self.full & (left.primal < -ROUNDING)
        held = ((self.held & (part > CLEAR)) | cheap) | self._largest()
        full = (self.full & (self.price > CLEAR * left.paid)) | over
        self.a = np.where(cheap, ENTERING * left.alone, self.a)
        self.price = np.where(over, ENTERING * left.paid, self.price)
        return held, full

    def _newton(self) -> list[Point]:
        """Newton with everything else at 0: the last and the nearest point; none where numbers
        ended."""
        self.nu, self.s = np.where(self.held, 0.0, self.nu), np.where(self.full, 0.0, self.s)
        best, least, since = self._state(), np.inf, 0
        for iteration in range(MOST):
            level = self.a @ self.of_user
            self.v = self.phi * level**-self.alpha
            # what is out is balanced by definition
            left = Left(self)
            off = left.off_held(self)
            if not np.isfinite(off):
                break
            if off < least:
                since = iteration if off < 0.5 * least else since
                best, least = self._state(), off
            if least <= CLOSE or iteration - since > 5:
                break
            try:
                step = System(self, left).solve(
                    np.zeros(self.pairs), np.zeros(self.rows), left.curve
                )
            except np.linalg.LinAlgError:
                break
            size = max(float(np.abs(x).max(initial=0.0)) for x in (step.a, step.price))
            length = min(1.0, FARTHEST / max(size, 1e-300))
            self.a = self.a * np.exp(length * step.a)
            self.price = self.price * np.exp(length * step.price)
            self.p, self.e = self.p + length * step.p, self.e + length * step.e
            self.mean = self.mean + length * step.mean
        found = [] if not np.isfinite(least) else [self.point()]
        self._restore(best)
        return [*found, self.point()] if found else found

    def point(self) -> Point:
        """In tasks and money of rows."""
        ground, rows = self.ground, len(self.ground.rows)
        servers, resources, users = ground.shape
        money = np.zeros(servers * resources)
        money[ground.rows] = self.price[:rows]
        limits = np.zeros(users)
        limits[ground.limited] = self.price[rows:]
        return Point(self.a[ground.pair] / ground.u, money.reshape(servers, resources), limits)
