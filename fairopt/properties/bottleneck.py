"""Bottleneck fairness and single-resource fairness: one resource is divided max-min fairly."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Instance
from fairopt.properties.compared import at_the_door, circles, wanting

TOLERANCE = 1e-6
_TIE = 1e-12
"""relative difference of two shares that still counts as a tie for dominance"""


@at_the_door
def bottleneck_fair(alloc: Allocation) -> Check:
    r"""Where one resource is dominant for everybody, it is divided max-min fairly by weight.

    If some r has the largest d[n,r]/c[i,r] for every user on every server where it is eligible,
    the levels x_n d[n,r]/phi_n must be lexicographic max-min (khamse2016). The other resources
    then never bind. So it is enough to check that on every server where a user below its limit is
    eligible, r is full and held only by users whose level is not above this user's. With modes r
    has to be dominant in all of them. In groups users of one group and one priority are compared.

    Returns
    -------
    Check : residual as in `divided_fairly`; tolerance 1e-6. Holds where no such r exists, which
        the witness then says.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.bottleneck_fair(answer).holds
    True
    """
    r = common_dominant(alloc.instance)
    if r is None:
        return Check.of("bottleneck-fair", 0.0, TOLERANCE, "no resource is dominant for everybody")
    return Check.of("bottleneck-fair", *divided_fairly(alloc, r))


@at_the_door
def single_resource_fair(alloc: Allocation) -> Check:
    """With a single resource, it is divided max-min fairly by weight (khamse2016).

    Returns
    -------
    Check : residual as in `divided_fairly`; tolerance 1e-6. Holds where there are several
        resources, which the witness then says.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.single_resource_fair(answer).holds
    True
    """
    size = alloc.instance.shape[2]
    if size > 1:
        return Check.of("single-resource-fair", 0.0, TOLERANCE, f"there are {size} resources")
    return Check.of("single-resource-fair", *divided_fairly(alloc, 0))


def common_dominant(inst: Instance) -> int | None:
    """The first resource that is dominant for every user on every server it may use, or None."""
    ways = inst.ways
    k, i = np.nonzero(ways.eligible)
    capacity = np.where(inst.capacity > 0, inst.capacity, 1.0)
    demand = ways.demand[k] if ways.demand.ndim == 2 else ways.demand[k, i]
    share = demand / capacity[i]  # a demanded resource is there
    common = (share >= share.max(axis=1, keepdims=True) * (1 - _TIE)).all(axis=0)
    return int(common.argmax()) if common.any() else None


def divided_fairly(alloc: Allocation, r: int) -> tuple[float, float, str]:
    """(residual, tolerance, witness) of max-min fairness of what users hold of r by weight.

    For a user below its limit and a server where it is eligible, the residual is the larger of
    the part of r that is free and, over holders of a higher level, the least of two numbers: the
    relative distance of the two levels, and what the holder has there as a part of its own total or
    of the user's total, whichever part is larger.
    """
    inst = alloc.instance
    held = alloc.taken(np.maximum(alloc.by_way, 0.0))[:, :, r]
    total = held.sum(axis=1)
    level = total / inst.weight
    free = 1.0 - alloc.utilisation[:, r]
    name = inst.resources[r]
    wants, circle = wanting(alloc), circles(inst)
    worst, witness = 0.0, ""
    for n, user in enumerate(inst.users):
        mine = np.flatnonzero(wants[n])
        if not mine.size:
            continue
        i = mine[int(free[mine].argmax())]
        if free[i] > worst:
            worst = float(free[i])
            witness = f"{worst:.4g} of {name} on {inst.servers[i]} is free, and {user} wants it"
        above = np.flatnonzero((level > level[n]) & (total > 0) & (circle == circle[n]))
        if not above.size:
            continue
        apart = (level[above] - level[n]) / level[above]
        here = held[np.ix_(above, mine)]
        least = np.minimum(total[above], total[n])[:, None]
        moved = np.minimum(np.divide(here, least, out=np.ones_like(here), where=least > 0), 1.0)
        off = np.where(here > 0, np.minimum(apart[:, None], moved), 0.0)
        m, k = np.unravel_index(int(off.argmax()), off.shape)
        if off[m, k] > worst:
            worst = float(off[m, k])
            witness = (
                f"{inst.users[above[m]]} holds {name} on {inst.servers[mine[k]]} at level "
                f"{level[above[m]]:.6g}, above {user} at {level[n]:.6g}"
            )
    return worst, TOLERANCE, witness
