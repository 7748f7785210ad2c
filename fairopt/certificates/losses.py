r"""The loss of a share beside the best one, and where it is at most a given number.

In units of W s^(1-alpha), the loss depends only on alpha and on the ratio t of the two shares
(docs/maths/prices.md, "The interval of one user").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.instance import Floats

FAR = 600.0
"""an end of an interval at this log t or beyond counts as infinite"""
CLOSE = 1e-13
"""relative width, in log t, to which an end is found; it is rounded outwards"""
FLAT = 1e-2
"""(1 + alpha) |z| up to which loss(z) is alpha z^2 / 2 within a fiftieth, from both sides"""
SMALL = 1e-17
"""the same, absolute: log t is the relative distance from t = 1"""

Loss = Callable[[Floats], Floats]


def loss(log_t: Floats, alpha: float) -> Floats:
    """g(1) + g'(1)(t - 1) - g(t) >= 0: the loss at s* = t s0 in the tangent at s0."""
    if alpha == 1:
        return np.expm1(log_t) - log_t
    return np.expm1(log_t) - np.expm1((1 - alpha) * log_t) / (1 - alpha)


def loss_above(z: Floats, alpha: float) -> Floats:
    """A number above loss(+-z)."""
    near = 0.51 * alpha * z**2
    far = z * (1 + alpha) > FLAT
    if far.any():
        side = np.where(far, z, 0.0)
        most = np.maximum(loss(side, alpha), loss(-side, alpha)) * (1 + 1e-9)
        near = np.where(far, most, near)
    return near


def ends(eps: Floats, alpha: float) -> tuple[Floats, Floats]:
    """(N,) how far below and above 0 the z with loss(z) <= eps may be."""
    near = np.sqrt(2.05 * eps / alpha)
    below, above = near.copy(), near.copy()
    far = np.flatnonzero(~(near * (1 + alpha) <= FLAT))
    if len(far):
        sane = np.where(np.isfinite(eps[far]), eps[far], np.inf)
        low, high = bracket(lambda z: loss(z, alpha), sane)
        below[far], above[far] = -np.log(low), np.log(high)
    return below, above


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


__all__ = ["bracket", "ends", "loss", "loss_above"]
