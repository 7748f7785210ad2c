"""Sums of all users near the place of a pass over them, from a part of them.

A pass says what all use at one place of the path. By how much that changes on the way from there
a part of the smooth users says nearly, with an error that is a part of the change and not of the
whole; two halves of them say how large it is. Users of one server change smoothly with prices, and
need no part: their curvature says it.
"""

from __future__ import annotations

import copy

import numpy as np

from fairopt.instance import Floats, Ints
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.smooth import Smooth, Sums

REACH = 60.0
"""a server further than this from the cheapest, in windows of tau, is left out"""
HALF, LEAST_HALF = 0.05, 10_000
"""users of each half, as a part of all, and at least"""
TIMES = 6
"""users are sampled where they are more than as many times the least half"""


def smooth_sums(smooth: Smooth, prices: ServerPrices, tau: float) -> Sums:
    """The sums of smooth users, by compiled loops where they are (`passes`)."""
    users = smooth.users
    if not users.compiled or users.log_score is not None or smooth.mu is not None:
        return smooth.sums(prices, tau)
    from fairopt.solving.engines.smoothed import passes  # which loads the compiler

    return passes.summed(users, prices, tau, REACH, np.zeros(0, np.int64))


class Rough:
    """What was summed at prices and tau: `smooth` over users of several servers, `single` over
    those of one. Of the former, those of servers of several groups (`label`) are summed anew where
    they are few: a part of them says little of a tie that few share."""

    def __init__(
        self,
        users: Smooth,
        label: Ints,
        prices: ServerPrices,
        tau: float,
        smooth: Sums,
        single: Sums,
    ) -> None:
        self.prices, self.tau = prices, tau
        self.smooth, self.single = smooth, single
        near = users.users.eligible
        groups = sum(near[:, label == g].any(axis=1).astype(np.int8) for g in np.unique(label))
        across = np.flatnonzero(groups > 1)
        if len(across) > 2 * LEAST_HALF:
            across = across[:0]
        inside = np.delete(np.arange(len(near)), across)
        self.across = users.some(across)
        half = max(LEAST_HALF, int(HALF * len(inside)))
        self.weight = len(inside) / (2 * half)
        pick = np.random.default_rng(3).integers(0, len(inside), (2, half))
        self.halves = [users.some(inside[np.sort(one)]) for one in pick]
        self.before = self._parts(prices, tau)

    def _parts(self, prices: ServerPrices, tau: float) -> list[Sums]:
        return [smooth_sums(part, prices, tau) for part in (self.across, *self.halves)]

    def at(self, prices: ServerPrices, tau: float) -> tuple[Sums, Floats]:
        """The sums at other prices and tau, and (I, R) how wrong the use may be."""
        step, single = prices.all - self.prices.all, self.single
        less = (single.curvature @ step.ravel()).reshape(step.shape)
        total = copy.deepcopy(single)
        total.use -= less
        total.spent += (single.use * step - prices.all * less).sum(axis=1)
        total.add(self.smooth)
        total.drift[:], total.curvature[:] = 0.0, single.curvature
        now = self._parts(prices, tau)
        wrong = []
        for after, before, weight in zip(
            now, self.before, (1, self.weight, self.weight), strict=True
        ):
            total.drift += weight * after.drift
            total.curvature += weight * after.curvature
            total.use += weight * (after.use - before.use)
            total.spent += weight * (after.spent - before.spent)
            total.of_limits += weight * (after.of_limits - before.of_limits)
            wrong.append(weight * (after.use - before.use))
        return total, wrong[1] - wrong[2] + np.abs(step / prices.all).max() * less
