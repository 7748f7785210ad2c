"""Users at their limits, whose value of share may be far above all prices: they count with less.

Whatever is above the price is the rent of the limit. With a smaller weight, under which the limit
still binds, the answer is the same, and no price is the difference of two large numbers.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.basis import Basis

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
