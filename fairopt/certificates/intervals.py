r"""Where the share of each user lies at ANY optimum, proved by prices and gap together.

With s0 the shares that are best at the prices and s* those of any optimum, each user has a loss
W (g(s0) + g'(s0)(s* - s0) - g(s*)) >= 0, and all losses together are at most the absolute gap. The
same holds with the answer s in the tangent at s* (proof: docs/maths/prices.md, "The interval of one
user"). The interval of a user is where both of its losses are at most the gap.

In units of W s^(1-alpha), a loss depends only on alpha and on the ratio t of the two shares, and is
compared with eps_n, the absolute gap in the same unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Intervals
from fairopt.certificates.prices import Duality, log_scale
from fairopt.formulas import welfare
from fairopt.instance import Bools, Floats

PINNED = 1e-2
"""a share is determined if its interval is at most this wide, relative"""
FAR = 600.0
"""an end of an interval at this log t or beyond counts as infinite"""
CLOSE = 1e-13
"""relative width, in log t, to which an end is found; it is rounded outwards"""
SMALL = 1e-17
"""the same, absolute: log t is the relative distance from t = 1"""
FLOOR = 1e-14
"""smallest eps used; below this it would be rounding"""

Loss = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Spans:
    """The numbers from which the interval of each user is computed.

    Parameters
    ----------
    alpha : > 0. share : (N,) s of the answer. best : (N,) s0, the share at the prices.
    eps0, eps1 : (N,) the absolute gap in units of W s0^(1-alpha) and of W s^(1-alpha).
    """

    alpha: float
    share: Floats
    best: Floats
    eps0: Floats
    eps1: Floats

    @classmethod
    def of(cls, dual: Duality, bound: float) -> Spans:
        """The spans that follow from prices that prove the gap `bound`."""
        alpha, log_w, log_s = dual.alpha, dual.log_w, dual.log_share
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            # absolute gap = value (expm1((1-alpha) log(1+gap)) / (1-alpha)), in logarithms
            rise = np.log1p(bound)
            factor = rise if alpha == 1 else np.expm1((1 - alpha) * rise) / (1 - alpha)
            value = log_w if alpha == 1 else log_w + (1 - alpha) * log_s
            log_gap = np.log(factor) + welfare.log_sum_exp(value)
            log_s0 = (log_w - dual.log_cheapest - log_scale(dual)) / alpha
            eps0 = np.maximum(np.exp(log_gap - log_w - (1 - alpha) * log_s0), FLOOR)
            eps1 = np.maximum(np.exp(log_gap - log_w - (1 - alpha) * log_s), FLOOR)
            return cls(alpha, dual.share, np.exp(log_s0), eps0, eps1)

    def at(self, users: Bools) -> Spans:
        """The spans of some users."""
        return Spans(
            self.alpha, self.share[users], self.best[users], self.eps0[users], self.eps1[users]
        )

    def ends(self) -> tuple[Floats, Floats]:
        """(N,) lowest and (N,) highest share at any optimum."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            low0, high0 = bracket(self._loss, self.eps0)
            # around the answer: tau = s/s*
            low1, high1 = bracket(self._loss_from, self.eps1)
            lowest = np.fmax(self.best * low0, self.share / high1)
            highest = np.fmin(self.best * high0, self.share / low1)
        return lowest, np.maximum(lowest, highest)

    def pinned(self) -> Bools:
        """(N,) whether the interval is at most PINNED wide, relative.

        For most users one comparison decides: if eps is less than the loss at half that width on
        either side, the ends are nearer. For the others the ends are computed.
        """
        half = np.array([-1.0, 1.0]) * 0.499 * np.log1p(PINNED)
        known: Bools = self.eps0 < self._loss(half).min()
        known |= self.eps1 < self._loss_from(half).min()
        if not known.all():
            low, high = self.at(~known).ends()
            known[~known] = high <= low * (1 + PINNED)
        return known

    def _loss(self, log_t: Floats) -> Floats:
        return loss(log_t, self.alpha)

    def _loss_from(self, log_t: Floats) -> Floats:
        return loss_from(log_t, self.alpha)


def intervals(dual: Duality, bound: float) -> tuple[Intervals, Bools]:
    """(lowest, highest) share of each user at any optimum, and (N,) whether that determines it.

    For alpha = 0, or without a finite bound, every interval is (0, inf).
    """
    users = len(dual.share)
    if dual.alpha == 0 or not np.isfinite(bound):
        nothing = np.zeros(users), np.full(users, np.inf)
        return Intervals(users, lambda: nothing), np.zeros(users, dtype=bool)
    spans = Spans.of(dual, bound)
    return Intervals(users, spans.ends), spans.pinned()


def loss(log_t: Floats, alpha: float) -> Floats:
    """g(1) + g'(1)(t - 1) - g(t) >= 0: the loss at s* = t s0 in the tangent at s0."""
    if alpha == 1:
        return np.expm1(log_t) - log_t
    return np.expm1(log_t) - np.expm1((1 - alpha) * log_t) / (1 - alpha)


def loss_from(log_t: Floats, alpha: float) -> Floats:
    """t^(alpha-1) loss(t) >= 0: the loss at s = t s* in the tangent at s*, in units of W s^(1-a).

    Not computed as that product, which is 0 times infinity for t far from 1.
    """
    if alpha == 1:
        return loss(log_t, 1.0)
    rise = np.exp((alpha - 1) * log_t) * np.expm1(log_t)
    found = rise - np.expm1((alpha - 1) * log_t) / (alpha - 1)
    # NaN only for very large t, where both terms overflow
    return np.where(np.isnan(found), np.inf, found)


def bracket(loss: Loss, eps: Floats) -> tuple[Floats, Floats]:
    """The ends t <= 1 <= t of {t : loss(log t) <= eps}, rounded outwards; 0 or inf if unbounded.

    `loss` grows from 0 on either side of log t = 0. Rounded outwards: at every finite end returned
    the computed loss is more than eps.
    """
    ends: list[Floats] = []
    # equal weights have equal eps: one end for all
    distinct = eps[:1] if len(eps) and (eps == eps[0]).all() else eps
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        for side in (lambda z: loss(-z), loss):
            ends.append(_edge(side, distinct))
    low, high = (np.broadcast_to(end, eps.shape) for end in ends)
    return np.exp(-low), np.exp(high)


def _edge(loss: Loss, eps: Floats) -> Floats:
    """The first z in (0, FAR] with loss(z) > eps, found to CLOSE from above; inf if there is none.

    The loss grows with z, so a grid brackets the place for all users at once. Then each round tries
    three points: the middle, and two around the zero of the chord of log loss, shifted by the
    error of linear interpolation. The bracket is at least halved, and usually squared.
    """
    found = np.full(eps.shape, np.inf)
    grid = np.geomspace(1e-12, FAR, 2048)
    height = loss(grid)
    cell = np.searchsorted(np.maximum.accumulate(height), eps, side="right")
    # NaN is sorted last; where a bounded loss ends in rounding, the end is infinite
    left = np.flatnonzero(np.append(height, np.nan)[cell] > eps)
    outside, inside = grid[cell[left]], grid[np.maximum(cell[left] - 1, 0)]
    eps = eps[left]
    while len(left):
        width = outside - inside
        done = width <= CLOSE * outside + SMALL
        found[left[done]] = outside[done]
        left, eps, width = left[~done], eps[~done], width[~done]
        inside, outside = inside[~done], outside[~done]
        under, over = np.log(loss(inside) / eps), np.log(loss(outside) / eps)
        zero = inside + width * np.clip(np.nan_to_num(under / (under - over), nan=0.5), 0.0, 1.0)
        aside = np.maximum(width * (width / outside), CLOSE * outside / 4)
        for probe in (zero + aside, zero - aside, (inside + outside) / 2):
            z = np.clip(probe, inside, outside)
            beyond = loss(z) > eps
            inside, outside = np.where(beyond, inside, z), np.where(beyond, z, outside)
    return found
