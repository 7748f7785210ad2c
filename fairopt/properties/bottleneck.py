"""Bottleneck fairness and single-resource fairness: one resource is divided max-min fairly."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Instance
from fairopt.properties.linear import of_linear_demand

TOLERANCE = 1e-6
_TIE = 1e-12
"""relative difference of two shares that still counts as a tie for dominance"""


@of_linear_demand
def bottleneck_fair(alloc: Allocation) -> Check:
    r"""Where one resource is dominant for everybody, it is divided max-min fairly by weight.

    If some r has the largest d[n,r]/c[i,r] for every user on every server where it is eligible,
    the levels x_n d[n,r]/phi_n must be lexicographic max-min (khamse2016). The other resources
    then never bind. So it is enough to check that on every server where a user below its limit is
    eligible, r is full and held only by users whose level is not above this user's.

    Returns
    -------
    Check : residual as in `divided_fairly`; tolerance 1e-6. Holds where no such r exists, which
        the witness then says.
    """
    r = common_dominant(alloc.instance)
    if r is None:
        return Check.of("bottleneck-fair", 0.0, TOLERANCE, "no resource is dominant for everybody")
    return Check.of("bottleneck-fair", *divided_fairly(alloc, r))


@of_linear_demand
def single_resource_fair(alloc: Allocation) -> Check:
    """With a single resource, it is divided max-min fairly by weight (khamse2016).

    Returns
    -------
    Check : residual as in `divided_fairly`; tolerance 1e-6. Holds where there are several
        resources, which the witness then says.
    """
    size = alloc.instance.shape[2]
    if size > 1:
        return Check.of("single-resource-fair", 0.0, TOLERANCE, f"there are {size} resources")
    return Check.of("single-resource-fair", *divided_fairly(alloc, 0))


def common_dominant(inst: Instance) -> int | None:
    """The first resource that is dominant for every user on every server it may use, or None."""
    _, i = inst.pairs
    capacity = np.where(inst.capacity > 0, inst.capacity, 1.0)
    share = inst.pair_demand / capacity[i]  # a demanded resource is there
    common = (share >= share.max(axis=1, keepdims=True) * (1 - _TIE)).all(axis=0)
    return int(common.argmax()) if common.any() else None


def divided_fairly(alloc: Allocation, r: int) -> tuple[float, float, str]:
    """(residual, tolerance, witness) of max-min fairness of the levels x_n d[n,r] / phi_n.

    For a user below its limit and a server where it is eligible, the residual is the larger of
    the part of r that is free and, over holders of a higher level, the least of two numbers: the
    relative distance of the two levels, and what the holder has there as a part of its own total or
    of the user's total, whichever part is larger.
    """
    inst = alloc.instance
    held = np.maximum(alloc.tasks, 0.0) * inst.demand_by_server[:, :, r]
    total = held.sum(axis=1)
    level = total / inst.weight
    free = 1.0 - alloc.utilisation[:, r]
    name = inst.resources[r]
    worst, witness = 0.0, ""
    for n, user in enumerate(inst.users):
        if alloc.totals[n] >= inst.limit[n] * (1 - TOLERANCE):
            continue
        mine = np.flatnonzero(inst.eligible[n])
        if not mine.size:
            continue
        i = mine[int(free[mine].argmax())]
        if free[i] > worst:
            worst = float(free[i])
            witness = f"{worst:.4g} of {name} on {inst.servers[i]} is free, and {user} wants it"
        above = np.flatnonzero((level > level[n]) & (total > 0))
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
