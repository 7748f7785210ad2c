"""The first point: everybody a part by weight, rows half full, prices that divide users' money."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines.path.weights import Weights

LIGHT = 1e-12
"""least weight with which anybody begins, in the heaviest"""
HALF, LITTLE = 0.5, 0.1
"""how full the fullest row is; least of what is not negative"""
BUSY = 0.25
"""part of a limit from which its user is not free"""


def start(of: Weights) -> Floats:
    """A state with all parts positive; sets the weights of the first descent."""
    frame = of.frame
    z = _columns(of)
    share = frame.of(z)
    held = np.maximum(share - of.base, 0.05 * share)
    of.free = ~frame.limited | (frame.of(frame.g * z) < BUSY)
    if not (of.free & of.active).any():
        of.free = ~of.free
    value = _values(of, held)
    everybody = np.where(of.active, value, np.median(value[of.active]))
    price = _prices(of, z, everybody)
    cost = np.asarray(frame.at @ price)
    pays = np.where(of.free, everybody, np.minimum(everybody, frame.cheapest(cost)))
    gain = frame.to(pays)
    gain[frame.count :] = np.abs(cost[frame.count :])
    rent = np.maximum(everybody - pays, LITTLE * pays) / np.where(frame.limited, frame.most, 1.0)
    return np.concatenate(
        [
            z,
            np.maximum(frame.rhs - frame.a @ z, LITTLE),
            np.maximum(1 - frame.of(frame.g * z), LITTLE)[of.limited],
            np.maximum(1 - frame.by * z[frame.place], LITTLE),
            np.maximum(share - of.floor, LITTLE * of.floor)[of.floored],
            np.maximum(cost - gain, 0.2 * gain),
            price,
            rent[of.limited],
            LITTLE * gain[frame.place] / frame.by,
            (LITTLE * everybody)[of.floored],
            held,
            np.where(of.active, value, 1.0),
        ]
    )


def _columns(of: Weights) -> Floats:
    """(columns,) each by its user's weight, until its fullest row, or bound, is half full."""
    frame = of.frame
    light = of.log_phi - of.log_phi[of.active].max()
    weight = np.exp(np.clip(light, np.log(LIGHT), 0.0))
    room = np.where(frame.rhs > 1e-9, frame.rhs, 1.0)
    fill = np.zeros(frame.columns)
    np.maximum.at(fill, frame.column, np.abs(frame.value) / room[frame.row])
    begin = frame.to(weight) / np.where(fill > 0, fill, 1.0)
    begin[frame.count :] = LITTLE
    tasks = np.where(frame.column < frame.count, frame.value, 0.0)
    used = np.bincount(frame.row, tasks * begin[frame.column], frame.m) / room
    over = np.zeros(frame.columns)
    np.maximum.at(over, frame.column, np.where(tasks > 0, used[frame.row], 0.0))
    z = HALF * begin / np.where(over > 0, over, 1.0)
    z[frame.count :] = LITTLE
    z[frame.place] = np.minimum(z[frame.place], HALF / frame.by)
    cut = np.minimum(1.0, HALF / np.maximum(frame.of(frame.g * z), 1e-300))
    z[: frame.count] *= cut[frame.owner]
    return z


def _prices(of: Weights, z: Floats, value: Floats) -> Floats:
    """(m,) twice what users would pay that spread their money evenly over the rows they use."""
    frame = of.frame
    takes = (frame.column < frame.count) & (frame.value > 0)
    rows = np.bincount(frame.column, takes, frame.columns)
    paid = frame.to(np.where(of.free, value, 0.0)) * z / np.maximum(rows, 1.0)
    sums = np.bincount(frame.row, np.where(takes, paid[frame.column], 0.0), frame.m)
    price = 2.0 * sums / np.maximum(frame.rhs, LITTLE)
    return np.asarray(np.maximum(price, 1e-3 * price.mean()))


def _values(of: Weights, held: Floats) -> Floats:
    """(N,) marginal values at shares `held`, money of free users being 1; of users at their limits
    not far above the others'."""
    of.set_alpha(of.first, held)
    active = of.active
    value = np.where(active, np.exp(of.log_w - of.alpha * np.log(held)), 0.0)
    free = of.free & active
    top = of.beyond * float((value * held)[free].sum()) / (max(int(free.sum()), 1) * held)
    high = of.frame.limited & active & (value > top)
    ratio = np.where(high, top / np.where(high, value, 1.0), 1.0)
    of.log_w = of.log_w + np.log(ratio)
    return np.asarray(value * ratio)


__all__ = ["start"]
