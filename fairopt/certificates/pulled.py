"""What rows with pulls add to a proof: their terms of the sum, and what they tell of the levels."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.pulls import FORCE, Pulls
from fairopt.instance import Floats

ROUND = 2.0**-50
"""relative error of an elasticity in the money of a place, by 1 + |log of its unit|"""
STEEP = 0.1
"""alpha times the part by which a point is made smaller, beyond which nothing is proved of it"""


def terms(pulls: Pulls, price: Floats, left: Floats, error: Floats, log_unit: float) -> Floats:
    """(K,) the term of each row: of a hard one what its pull would pay for what is not 0.

    Parameters
    ----------
    price, left, error : (K,) of these rows alone.
    """
    give = pulls.give(log_unit)
    away = np.abs(left) + error + ROUND * (1 + abs(log_unit)) * give * np.abs(price)
    void = pulls.void(log_unit)
    soft = away**2 / 2 / np.where(void, np.exp(FORCE), give)
    found = np.where(pulls.hard, np.abs(price) * away, soft)
    return np.where(void & (price != 0), np.inf, found)


def smaller(
    pulls: Pulls,
    price: Floats,
    left: Floats,
    error: Floats,
    flows: Floats,
    share: Floats,
    money: Floats,
    alpha: float,
    log_unit: float,
) -> tuple[Floats, Floats]:
    """(N,) and (K,) what it costs at most, by users and by rows, to make tasks smaller until the
    hard forms hold exactly.

    Users above the lowest level give up what they have more of (14), users of a server what they
    hold there above the least of it (15). So nobody loses more than a part theta of its share,
    which costs W g'(s) s theta, and what the other variances change by.

    Parameters
    ----------
    price, left, error : (K,) of these rows. flows : (F,) as they are. share : (N,) in the notion's
        unit. money : (N,) W s^(1 - alpha).
    """
    hard, rows = pulls.hard, np.zeros(len(price))
    if not hard.any():
        return np.zeros(len(share)), rows
    if pulls.even:
        # lowering levels would make shares on servers unequal again
        return np.full(len(share), np.inf), rows
    high, low = (-left + side * error for side in (1.0, -1.0))
    top, bottom = np.full(len(flows), -np.inf), np.full(len(flows), np.inf)
    np.maximum.at(top, pulls.flow[hard], (high / pulls.times)[hard])
    np.minimum.at(bottom, pulls.flow[hard], (low / pulls.times)[hard])
    apart = np.where(np.isfinite(top), top - bottom, 0.0)
    given_up = np.where(hard, apart[pulls.flow] * pulls.times * pulls.unit, 0.0)
    part = np.bincount(pulls.owner, given_up, len(share)) / share * (1 + 1e-9)
    worst = float(part.max())
    if not worst * max(alpha, 1.0) <= STEEP:
        return np.full(len(share), np.inf), rows
    soft = ~hard & ~pulls.void(log_unit)
    give = pulls.give(log_unit)[soft]
    z = give * price[soft] - left[soft]
    lose = worst * np.abs(z + pulls.times[soft] * flows[pulls.flow[soft]]) * (1 + 1e-9)
    rows[soft] = lose * (np.abs(z) + error[soft] + lose) / give
    return 1.2 * money * part, rows


def levels(
    pulls: Pulls,
    price: Floats,
    eps: float,
    low: Floats,
    high: Floats,
    log_unit: float,
    share_unit: Floats,
) -> tuple[Floats, Floats]:
    """(N,) ends of shares at any optimum, nearer where the variance of levels ties them together.

    At an optimum z* is 0, or within sqrt(2 e eps) of e q, and one m* is below all levels: so it is
    known from every single user, and every level from it.

    Parameters
    ----------
    price : (K,) of these rows. low, high : (N,) ends that are known, of shares.
    """
    on = pulls.across & ~pulls.void(log_unit)
    if not on.any() or not np.isfinite(eps):
        return low, high
    n, give = pulls.owner[on], pulls.give(log_unit)[on]
    scale = share_unit[n] / pulls.unit[on] / pulls.times[on]  # of a share, what it is of m
    z = give * price[on] / pulls.times[on]
    width = np.sqrt(2.05 * give * eps) / pulls.times[on]
    width += 2 * ROUND * (1 + abs(log_unit)) * np.abs(z)
    least = float((low[n] * scale - z - width).max())
    most = float((high[n] * scale - z + width).min())
    size = ROUND * (max(abs(least), abs(most)) + np.abs(z))
    low, high = low.copy(), high.copy()
    low[n] = np.maximum(low[n], (least + z - width - size) / scale)
    high[n] = np.minimum(high[n], (most + z + width + size) / scale)
    return low, high


__all__ = ["levels", "smaller", "terms"]
