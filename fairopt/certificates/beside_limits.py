r"""Users at their own limits beside one level that resources stop: one round, whoever is in it.

A max-min optimum gives nobody less than a feasible division does in which every user is either at
its limit, below the level t, or has at least t: whoever had less would have it for somebody of a
lower level, and those can have no more than their limits (docs/maths/prices.md, "Users at their
limits"). So with q the cheapest price of a unit of share and B the value of all that is priced,

.. math:: \phi_n t \le s^*_n \le \phi_n t + \frac{1}{q_n} \Big( B - \sum_{m} q_m \check s_m \Big),

with :math:`\check s_m` the limit's share of whoever is at it and :math:`\phi_m t` of all others.
Nothing of this is carried on from a round to a later one. Users that no server connects are apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.bounds import Bounds
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.instance import Bools, Floats, Ints

NEARLY_FULL = 1e-9
"""rows of which a smaller part is left are summed exactly; limits that are reached by a smaller
part below the level count as reached at it"""
ROOM = 1e-3
"""part of each row that others leave on servers to which a little can be moved"""
LITTLE = 64 * ROUNDING
"""part of their tasks that users at their limits may run elsewhere"""
ONE = 1e-6
"""part by which users that no limit stops may be above the lowest of them, to be asked at all"""


def beside_limits(
    alloc: Allocation,
    share: Floats,
    factor: float,
    best: Ints,
    room: Floats,
    money: Mapping[int, Floats],
) -> Bounds | None:
    """The bounds of all users of a plain answer; None where more than one level is stopped by
    resources, or limits alone fill a row.

    Parameters
    ----------
    share : (N,) of tasks times `factor`, so that all fit. best : (N,) the prices that prove most of
        each user, -1 where none does. room : (N,) what these leave open of its share. money : (N,)
        of some prices the least that everybody's share costs.
    """
    inst = alloc.instance
    weight = inst.weight
    part = _parts(alloc)
    level = share / weight
    full = _at_limit(alloc, factor)
    low = np.full(int(part.max()) + 1, np.inf)
    np.minimum.at(low, part[~full], level[~full])
    free = ~full | (level >= low[part] * (1 - NEARLY_FULL))
    np.minimum.at(low, part[free], level[free])
    if not full.any() or (level[free] > low[part[free]] * (1 + ONE)).any():
        return None
    less = _less(alloc, free, factor)
    if less is None:
        return None
    # a level that everybody who is not at its limit has, once tasks are so much less that all fit
    floor = (low * less * (1 - ROUNDING))[part]
    if not (level[~free] * (1 + 2 * ROUNDING) <= floor[~free]).all():
        return None
    down, up = np.zeros(len(share)), room.copy()
    down[free] = np.maximum(1 - floor[free] / level[free], 0.0)
    rounding = np.full(len(share), ROUNDING)
    for k, own in money.items():
        mine = np.flatnonzero(free & (best == k))
        if not len(mine):
            continue
        given = np.bincount(part, own * down)[part[mine]]
        with np.errstate(divide="ignore", invalid="ignore"):
            up[mine] += given / own[mine]
            rounding[mine] *= float(own.sum()) / own[mine]  # one may have all that it hides
    bounds = Bounds(np.where(np.isnan(up), np.inf, up), down, rounding)
    return bounds if float(bounds.residual.max()) <= TOLERANCE else None


def _parts(alloc: Allocation) -> Ints:
    """(N,) the part of users and servers that each is of, which nothing connects."""
    found = np.zeros(alloc.instance.shape[0], dtype=np.int64)
    for k, (users, _) in enumerate(alloc.instance.parts()):
        found[users] = k
    return found


def _at_limit(alloc: Allocation, factor: float) -> Bools:
    """(N,) who has all the tasks that its limit allows, within rounding, where each counts most."""
    inst = alloc.instance
    limit = np.where(np.isfinite(inst.limit), inst.limit, 0.0)
    found = (limit > 0) & (np.abs(alloc.totals * factor - limit) <= ROUNDING * limit)
    for users in inst.blocks():
        score = np.where(inst.eligible[users], alloc.score[users], 0.0)
        worse = score < score.max(axis=1, keepdims=True)
        found[users] &= ~(worse & (alloc.held[users] > 0)).any(axis=1)
    return found


def _less(alloc: Allocation, free: Bools, factor: float) -> float | None:
    """The part of their tasks that `free` (N,) users may keep so that all fit when all others have
    exactly what their limits allow; None where even nothing would be too much.

    What the others have may run anywhere: a little of what they have on rows that they fill alone
    runs where there is room, or tasks of `free`.
    """
    inst = alloc.instance
    rounded = len(free) * 2.0**-52 + 4 * ROUNDING  # of sums over all users
    use = alloc.utilisation * factor
    fixed = alloc.with_(tasks=np.where(free[:, None], 0.0, alloc.held)).utilisation
    away, to = _elsewhere(alloc, ~free, fixed.max(axis=1) * factor)
    room = to.used * (2 * LITTLE * factor)
    if (room > 0.5 * NEARLY_FULL * inst.pool).any():
        away, to = to, to  # it moves nothing: what is taken away comes back
    kept = 1.0
    for i, r in np.argwhere(use > 1 - NEARLY_FULL - rounded).tolist():
        demand = inst.demand[..., r] if inst.demand.ndim == 2 else inst.demand[:, i, r]
        part = demand / inst.pool[i, r] * factor
        held = alloc.held[:, i] - LITTLE * (away.tasks - to.tasks)[:, i]
        others, mine = (math.fsum((held * part)[who].tolist()) for who in (~free, free))
        left = 1.0 - others * (1 + 2 * ROUNDING)
        if left < 0:
            return None
        if mine > 0:
            kept = min(kept, left / mine * (1 - ROUNDING))
    return kept


def _elsewhere(alloc: Allocation, who: Bools, use: Floats) -> tuple[Allocation, Allocation]:
    """What these users (N,) run on servers without room, and as many tasks on one that has room and
    where a task counts as much; of users without such a server nothing.

    use : (I,) the largest part of a server's rows that they use.
    """
    inst, size = alloc.instance, alloc.instance.shape[:2]
    away, to = np.zeros(size), np.zeros(size)
    some = use < 1 - ROOM
    for users in inst.blocks():
        score = np.where(inst.eligible[users], alloc.score[users], 0.0)
        may = some & (score == score.max(axis=1, keepdims=True)) & who[users, None]
        target = np.argmin(np.where(may, use, np.inf), axis=1)
        goes = np.where(may.any(axis=1)[:, None] & ~some, alloc.held[users], 0.0)
        away[users] = goes
        np.put_along_axis(to[users], target[:, None], goes.sum(axis=1)[:, None], axis=1)
    return alloc.with_(tasks=away), alloc.with_(tasks=to)


__all__ = ["beside_limits"]
