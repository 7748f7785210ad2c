r"""Newton in prices along falling tau.

Unknown are prices lam (I, R) and the free part s of capacity c, with

.. math:: use(\lambda, \tau) + s = c, \qquad \lambda s \to \tau M,

M a small part of the money of the row's server divided by R, so that the price of a row of which
little is left is not many windows of its users. A step solves

.. math:: (H + s / \lambda)\, d\lambda = -(c - use - s) + \frac{d use}{d \tau} (\tau^+ - \tau)
          + (\tau^+ M - \lambda s) / \lambda,

H the curvature of all kinds of users (`smooth`, `single`, `sharp`). The derivative by tau makes two
passes over the users suffice for a decade of tau: prices are good to the second order there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairopt import clock
from fairopt.instance import Floats
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.sharp import Sharp, SharpStep, longest
from fairopt.solving.engines.smoothed.smooth import Sums

ROW = 0.1
"""part of a row's money in M"""
AGAIN = 0.2
"""users are told apart again when tau has fallen by this factor"""
SLOW = 5
"""and after so many iterations, for a user may have come to a tie that it sways; both wait longer
where the last tellings changed nobody"""
CALM, WILD = 0.7, 5.0
"""changes of log costs, in windows, below which tau falls, and beyond which a step is cut"""
ROUGH = 0.3
"""part of a change by which prices may be wrong, for a part of the users to be enough"""
CLOSE = 1e-10
"""miss of a capacity at the end"""
EQUAL = 1e-5
"""tau below which servers of a group are equally dear in the end"""
CORRECTIONS, LONGER, AHEAD = 3, 1.1, 0.3
"""how often a step is corrected for users who stop it, while that makes it longer by this factor;
by how much further it is tried"""
FAR, NEARER = 10.0, 5.0
"""windows by which prices of the sample may be wrong, and to how many they are brought by a larger
tau"""
STUCK = 1e-9
"""length of a step that leads nowhere"""
MOST_ITERATIONS = 120
"""iterations"""


class Everybody(Protocol):
    """All users, told apart: `kinds.Kinds`, or users in partitions. `same`: how often they were
    told apart since anybody became of another kind."""

    prices: ServerPrices
    tau: float
    sharp: Sharp
    same: int

    def sums(self, prices: ServerPrices, tau: float) -> Sums:
        """Sums over all users that are not sharp."""

    def roughly(self, prices: ServerPrices, tau: float) -> tuple[Sums, Floats] | None:
        """The same nearly, and (I, R) how wrong use may be; None if there is nothing to go by."""

    def change(self, prices: Floats, tau: float, step: Floats) -> float:
        """Largest change of differences of log costs, in windows."""

    def again(self, prices: ServerPrices, tau: float, inverse: Floats) -> Everybody:
        """Users told apart at new prices."""

    @property
    def smooth_users(self) -> int:
        """How many are smooth."""


@dataclass
class Where:
    """A place on the path: prices and free capacity (I, R) at tau, with the users told apart."""

    told: Everybody
    prices: ServerPrices
    free: Floats
    tau: float
    iterations: int = 0
    passes: float = 0.0
    miss: float = np.inf
    fell: bool = False
    drop: float = 0.2
    best: float = np.inf
    since: int = 0
    inverse: Floats | None = None


def follow(
    now: Where,
    capacity: Floats,
    last: float,
    close: float = CLOSE,
    most: int | None = None,
    keep: Callable[[Where], None] | None = None,
) -> Where:
    """The place at tau = `last`, or the furthest reached within `most` iterations.

    keep : called after every iteration, with the place from which `follow` would go on.
    """
    most = MOST_ITERATIONS if most is None else most
    while now.iterations < most and not clock.over():
        if not _go_on(now, capacity, last, close, most):
            break
        now.iterations += 1
        if keep is not None:
            keep(now)
    return now


def _go_on(now: Where, capacity: Floats, last: float, close: float, most: int) -> bool:
    """One iteration; False at the end."""
    at_end = now.tau <= last
    newton, pure, change = _newton(now, capacity, at_end)
    now.miss, now.inverse = newton.miss, newton.of_prices
    if (
        at_end
        and newton.dual < 1e-9
        and max(newton.uncentred, newton.sharp_uncentred) < 3
        and (newton.miss < close or (newton.miss < 1e-8 and newton.miss > 0.5 * now.best))
    ):
        return False
    now.best = min(now.best, newton.miss) if at_end else np.inf
    sharp = now.told.sharp
    few = len(sharp.k) > 0
    if now.iterations == 0 and change > FAR and now.tau < 0.1:
        # the prices of the sample are less good than tau
        now.tau = min(0.2, now.tau * change / NEARER)
        now.told = now.told.again(now.prices, now.tau, newton.of_prices)
        now.prices = now.told.prices
        now.free = np.maximum(now.free, now.tau * newton.row / newton.lam)
        return True
    affine = newton.step(max(1e-3 * now.tau, last))
    length = min(1.0, newton.length(affine)) if few else 1.0
    sigma = max((1 - length) ** 3, 1e-3)
    if now.told.smooth_users:
        if now.fell:
            now.drop = _adapted(now.drop, change)
        calm = change < CALM and newton.uncentred < 3
        sigma = max(sigma, now.drop) if calm else 1.0
    aim = max(min(1.0, sigma) * now.tau, last)
    now.fell = aim < now.tau
    # terms of second order only where the target moves
    second = length**2 if few and sigma < 0.95 else 0.0
    step = newton.corrected(aim, affine, second)
    if aim < now.tau < EQUAL and now.told.smooth_users:
        # differences in a group are so many windows: what corrects them shrinks with tau as they do
        less = (1 - aim / now.tau) * now.prices.within(pure)
        shorter = newton.step(aim, affine, second, less)
        if newton.length(shorter) > 0.5 * min(1.0, newton.length(step)):  # for sharp users too
            step = shorter
    most_of = 0.9 if now.tau > 1e-3 else 0.98 if now.tau > 1e-6 else 0.999
    go = min(1.0, most_of * newton.length(step))
    if not go > STUCK:  # also where it is not a number
        return False
    if change > WILD:
        go = min(go, WILD / change)
    now.prices = now.prices.moved(go * step[0])
    now.free = now.free + go * step[1]
    sharp.move(step[2], go)
    now.tau = now.tau + go * (aim - now.tau)
    now.since += 1
    wait = 1 + now.told.same
    slow = now.since >= SLOW * wait and now.tau < 0.01
    if (now.tau < AGAIN**wait * now.told.tau or slow) and now.iterations < most - 1:
        now.told = now.told.again(now.prices, now.tau, newton.of_prices)
        now.prices, now.since = now.told.prices, 0
    return True


def _newton(now: Where, capacity: Floats, at_end: bool) -> tuple[_Newton, Floats, float]:
    """The linear system here, its step (I, R) at the same tau and by how many windows that changes
    prices: from a part of the users where that is right to a part of the change, or of what counts
    as calm."""
    told, prices, tau = now.told, now.prices, now.tau
    rough = None if at_end else told.roughly(prices, tau)
    if rough is not None:
        newton = _Newton(now, capacity, rough[0])
        pure = newton.step(tau)[0]
        change = told.change(prices.all, tau, pure)
        wrong = (newton.of_prices @ rough[1].ravel()).reshape(pure.shape)
        off = told.change(prices.all, tau, wrong)
        if off < ROUGH * max(change, CALM):
            return newton, pure, change
    now.passes += told.smooth_users
    newton = _Newton(now, capacity, told.sums(prices, tau))
    pure = newton.step(tau)[0]
    return newton, pure, told.change(prices.all, tau, pure)


def _adapted(drop: float, change: float) -> float:
    """The next factor of tau: smaller where prices were nearly right after the last."""
    times = 0.3 if change < 0.3 else 0.6 if change < 1 else 1.0 if change < 4 else 2.0
    return min(0.4, max(0.003, drop * times))


class _Newton:
    """The linear system of one iteration."""

    def __init__(self, now: Where, capacity: Floats, sums: Sums) -> None:
        self.now, self.sharp = now, now.told.sharp
        self.lam = now.prices.all
        self.drift = sums.drift.copy()
        sums.add(self.sharp.sums(self.lam))
        resources = capacity.shape[1]
        least = max(1e-9 * sums.spent.sum(), 1e-6 * sums.of_limits / len(capacity))
        spent = np.maximum(sums.spent, least)
        self.row = np.repeat(ROW * spent[:, None] / resources, resources, axis=1)
        self.short = capacity - sums.use - now.free
        self.product = self.lam * now.free
        self.miss = float(np.abs(self.short / capacity).max())
        self.uncentred = float(np.abs(self.product / self.row - now.tau).max() / now.tau)
        self.dual = self.sharp.miss() if len(self.sharp.k) else 0.0
        self.sharp_uncentred = self.sharp.uncentred(now.tau) if len(self.sharp.k) else 0.0
        matrix = sums.curvature
        matrix[np.diag_indices_from(matrix)] += (now.free / self.lam).ravel()
        self.scale = 1 / np.sqrt(np.diag(matrix))
        matrix *= self.scale[:, None] * self.scale
        matrix[np.diag_indices_from(matrix)] += 1e-15
        self.matrix, self.inverse = matrix, np.linalg.inv(matrix)

    @property
    def of_prices(self) -> Floats:
        """(I R, I R) inverse of the curvature."""
        found: Floats = self.inverse * self.scale[:, None] * self.scale
        return found

    def step(
        self,
        aim: float,
        first: tuple[Floats, Floats, SharpStep] | None = None,
        second: float = 0.0,
        less: Floats | None = None,
        more: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats, SharpStep]:
        """Changes of prices, of free capacity and of sharp users towards tau = aim."""
        target = aim * self.row - self.product
        bend = None
        if first is not None and second:
            target = target - second * first[0] * first[1]
            bend = SharpStep(*(second**0.5 * part for part in first[2]))
        to = self.sharp.targets(aim, bend)
        if more is not None:
            to = to[0] + more[0], to[1] + more[1]
        right = -self.short + self.drift * (aim - self.now.tau) + target / self.lam
        right = (right + self.sharp.change(to)).ravel() * self.scale
        found = self.inverse @ right
        found += self.inverse @ (right - self.matrix @ found)
        prices = (found * self.scale).reshape(self.lam.shape)
        free = (target - self.now.free * prices) / self.lam
        if less is not None:
            prices = prices - less
        return prices, free, self.sharp.step(to, prices)

    def corrected(
        self, aim: float, first: tuple[Floats, Floats, SharpStep], second: float
    ) -> tuple[Floats, Floats, SharpStep]:
        """The step towards tau = aim, corrected (Gondzio): a few sharp users would stop it early,
        and with other targets for their products it goes further, at the cost of a solution."""
        step, more = self.step(aim, first, second), None
        length = self.length(step)
        for _ in range(CORRECTIONS if len(self.sharp.k) else 0):
            if length >= 1:
                break
            add = self.sharp.corrections(aim, step[2], min(1.0, length + AHEAD))
            added = add if more is None else (more[0] + add[0], more[1] + add[1])
            other = self.step(aim, first, second, more=added)
            longer = self.length(other)
            if longer < LONGER * length:
                break
            step, length, more = other, longer, added
        return step

    def length(self, step: tuple[Floats, Floats, SharpStep]) -> float:
        """The longest step that keeps prices, free capacity and sharp users positive."""
        return min(
            longest(self.lam, step[0]), longest(self.now.free, step[1]), self.sharp.length(step[2])
        )
