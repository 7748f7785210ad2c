"""The first point of the path: everybody has some of everything, rows are half full."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.path.basis import Basis

SPREAD = 1e12
"""largest ratio of parts of a row to begin with"""


def first(path: Basis) -> Floats:
    """The first state, at the exponent that the path begins at."""
    frame, layout = path.frame, path.layout
    z = _columns(path)
    held = frame.of(z)
    share = np.maximum(held - path.base, 0.05 * held)
    limited = len(layout.limited) > 0
    path.free = np.ones(frame.users, dtype=bool)
    if limited:
        path.free = ~frame.limited | (frame.of(frame.limit * z) < 0.25)
        if not (path.free & path.active).any():
            path.free = ~path.free
    path.at(path.begins)
    path.level(share)
    value = np.where(path.active, np.exp(path.log_w - path.alpha * np.log(share)), 0.0)
    if limited:
        value = started(path, share, value)
    slack = np.maximum(layout.rhs - layout.used(z), 0.1)
    idle = np.median(value[path.active])
    worth = np.where(path.active, value, idle)
    price = _prices(path, z, np.where(path.free, worth, 0.0))
    room = np.maximum(1 - frame.of(frame.limit * z), 0.1)[layout.limited]
    above = np.maximum(held - path.floor, 0.1 * path.floor)[layout.floored]
    cost = layout.cost(price)
    paying = np.where(
        path.free, worth, np.minimum(worth, np.abs(frame.smallest(cost[: frame.tasks])))
    )
    rent = np.maximum(worth - paying, 0.1 * paying) / np.where(frame.limited, frame.most_limit, 1.0)
    gain = np.where(frame.is_task, frame.to(paying), np.abs(cost))
    gain = np.maximum(gain, 1e-3 * float(gain.mean()))
    return np.concatenate(
        [
            z,
            slack,
            room,
            above,
            np.maximum(cost - gain, 0.2 * gain),
            price,
            rent[layout.limited],
            (0.1 * worth)[layout.floored],
            share,
            0.1 * share if path.steep else share[:0],
            np.where(path.active, value, 1.0),
        ]
    )


def _columns(path: Basis) -> Floats:
    """Columns by weight, scaled down until the fullest row of each is half full."""
    frame, layout = path.frame, path.layout
    due = path.log_phi - path.log_phi[path.active].max()
    weight = np.exp(np.clip(due, -np.log(SPREAD), 0.0))
    row, column, value = _entries(path)
    room = np.where(layout.rhs > 1e-9, layout.rhs, 1.0)
    fill = np.zeros(frame.columns)
    np.maximum.at(fill, column, np.abs(value) / room[row])
    y = np.full(frame.columns, 0.1)
    alone = 1.0 / np.where(fill > 0, fill, 1.0)
    y[: frame.tasks] = weight[frame.owner] * alone[: frame.tasks]
    taken = np.where(frame.is_task[column], value, 0.0)
    used = np.bincount(row, taken * y[column], len(room)) / room
    over = np.zeros(frame.columns)
    np.maximum.at(over, column, np.where(taken > 0, used[row], 0.0))
    z = 0.5 * y / np.where(over > 0, over, 1.0)
    z[frame.tasks :] = 0.1
    if len(layout.limited):
        part = np.maximum(frame.of(frame.limit * z), 1e-300)
        z *= np.where(frame.is_task, frame.to(np.minimum(1.0, 0.5 / part)), 1.0)
    return z


def _entries(path: Basis) -> tuple[Ints, Ints, Floats]:
    """Rows, columns and values of all entries but those of limits."""
    frame = path.frame
    return (
        np.concatenate([frame.row, frame.count + np.arange(len(frame.alone))]),
        np.concatenate([frame.column, frame.bounded]),
        np.concatenate([frame.value, frame.bound]),
    )


def _prices(path: Basis, z: Floats, worth: Floats) -> Floats:
    """What users would pay, evenly over the rows that they use."""
    frame, rhs = path.frame, path.layout.rhs
    row, column, value = _entries(path)
    takes = frame.is_task[column] & (value > 0)
    many = np.bincount(column, takes, frame.columns)
    paid = frame.to(worth) * z / np.maximum(many, 1)
    price = 2.0 * np.bincount(row, np.where(takes, paid[column], 0.0), len(rhs))
    price /= np.maximum(rhs, 0.1)
    return np.asarray(np.maximum(price, 1e-3 * price.mean()))


# Users at their limits, whose value of share may be far above all prices: they count with less.
#
# Whatever is above the price is the rent of the limit. With a smaller weight, under which the limit
# still binds, the answer is the same, and no price is the difference of two large numbers.


FAR = 30.0
"""times its price that a user at its limit values share, at most"""
AGAIN = 3.0
"""factor by which a weight has to change before it is changed"""


def started(path: Basis, share: Floats, value: Floats) -> Floats:
    """Values to begin with: of users at their limits not far above those of others."""
    frame = path.frame
    some = path.free & path.active
    money = float((value[some] * share[some]).sum()) / max(int(some.sum()), 1)
    top = money / share * FAR
    high = frame.limited & path.active & (value > top)
    path.log_w = np.where(high, path.log_w + np.log(top / value), path.log_w)
    return np.asarray(np.where(high, top, value))


def lowered(path: Basis, state: Floats) -> tuple[Floats, bool]:
    """The state with weights that follow the prices; whether any changed."""
    frame, layout = path.frame, path.layout
    if not len(layout.limited):
        return state, False
    here = layout.parts(state)
    rent = layout.of_limits(here.rent)
    cost = layout.cost(here.price)[: frame.tasks]
    least = np.where(frame.limited, frame.least_limit, 1.0)
    extra = np.where(
        frame.limited[frame.owner], frame.limit[: frame.tasks] - least[frame.owner], 0.0
    )
    price = frame.smallest(cost + extra * rent[frame.owner])
    far = FAR * (1 + _saved(path, cost, extra, least) / price) if frame.mixed else FAR
    price = np.maximum(price, 1e-7 * least / frame.users)
    cap = np.log(far * price) - path.alpha * np.log(least)
    mine = frame.limited & path.active
    change = mine & (np.abs(cap - path.log_w) > np.log(AGAIN))
    new = np.where(change, np.minimum(path.log_true, cap), path.log_w)
    by = new - path.log_w
    if not np.abs(by).max() > 0:
        return state, False
    state = state.copy()
    here = layout.parts(state)
    value = here.value * np.exp(by)
    raised = rent + (value - here.value) / least
    fits = (by != 0) & (raised > 0)
    here.rent[:] = np.where(fits, raised, rent)[layout.limited]
    here.value[:] = value
    path.log_w = new
    return state, True


def _saved(path: Basis, cost: Floats, extra: Floats, least: Floats) -> Floats:
    """(N,) what a user at its limit would pay to have its tasks where they count for less."""
    frame = path.frame
    dear = extra > 1e-9 * frame.most_limit[frame.owner]
    best = frame.smallest(np.where(dear, np.inf, cost))[frame.owner]
    saved = np.where(dear, (best - cost) / np.where(dear, extra, 1.0), 0.0)
    return np.maximum(frame.largest(saved * least[frame.owner]), 0.0)


def capped(path: Basis, price: Floats) -> Floats:
    """log W at the next exponent, no further above these prices (N,) of share than FAR."""
    frame = path.frame
    least = np.where(frame.limited, frame.least_limit, 1.0)
    cap = np.log(FAR * price) - path.alpha * np.log(least)
    mine: Bools = frame.limited & path.active
    return np.asarray(np.where(mine, np.minimum(path.log_true, cap), path.log_w))
