"""Properties stated for one pool: its sharing incentive, and single-bottleneck fairness."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.linear import of_linear_demand

TOLERANCE = 1e-6


@of_linear_demand
def pool_sharing_incentive(alloc: Allocation) -> Check:
    r"""Everybody's dominant share of the pool is at least its part by weight.

    .. math:: \max_r \frac{x_n d_{n,r}}{c_r} \ge \frac{\phi_n}{\sum_m \phi_m}
              \quad \text{or } x_n = \ell_n

    (bonald2015 section 2.2, with weights and limits.) On one pool it is the same as
    `sharing_incentive`. On several servers it does not apply: a user that is eligible on a few may
    be unable to reach such a share of all of them.

    Returns
    -------
    Check : residual is the largest part of its due that a user lacks; tolerance 1e-6. Holds where
        there are several servers, which the witness then says.
    """
    name = "pool-sharing-incentive"
    inst = alloc.instance
    servers = len(inst.servers)
    if servers > 1:
        return Check.of(name, 0.0, TOLERANCE, f"there are {servers} servers")
    pool = np.where(inst.pool[0] > 0, inst.pool[0], 1.0)
    one = (inst.demand_by_server[:, 0] / pool).max(axis=1)
    entitled = inst.weight / inst.weight.sum()
    lack = 1.0 - np.maximum(alloc.totals, 0.0) * one / np.minimum(entitled, inst.limit * one)
    worst = int(lack.argmax())
    witness = ""
    if lack[worst] > 0:
        witness = (
            f"{inst.users[worst]} has a dominant share of {alloc.totals[worst] * one[worst]:.6g}; "
            f"it is entitled to {entitled[worst]:.6g} of the pool"
        )
    return Check.of(name, max(float(lack[worst]), 0.0), TOLERANCE, witness)


@of_linear_demand
def single_bottleneck_fair(alloc: Allocation) -> Check:
    r"""Where one resource of the pool is full and no other, it is divided by weight.

    .. math:: \frac{x_n d_{n,r}}{\phi_n} \text{ equal for all } n \text{ with } d_{n,r} > 0
              \text{ below their limit, and no higher for those at it}

    (bonald2015 section 2.2, with weights and limits.) It applies to one pool, as each of several
    servers has a bottleneck of its own.

    Returns
    -------
    Check : residual is (high - low) / high, for high the largest level and low the smallest of a
        user below its limit; tolerance 1e-6. Holds where there are several servers, or not exactly
        one full resource, which the witness then says.
    """
    name = "single-bottleneck-fair"
    inst = alloc.instance
    servers = len(inst.servers)
    if servers > 1:
        return Check.of(name, 0.0, TOLERANCE, f"there are {servers} servers")
    full = np.flatnonzero(alloc.utilisation[0] >= 1.0 - TOLERANCE)
    if len(full) != 1:
        return Check.of(name, 0.0, TOLERANCE, f"{len(full)} resources are full")
    r = int(full[0])
    demand = inst.demand_by_server[:, 0, r]
    level = np.maximum(alloc.totals, 0.0) * demand / inst.weight
    below = inst.eligible[:, 0] & (demand > 0) & (alloc.totals < inst.limit * (1.0 - TOLERANCE))
    if not below.any():
        return Check.of(name, 0.0, TOLERANCE, "every user of the full resource is at its limit")
    high, low = int(level.argmax()), int(np.where(below, level, np.inf).argmin())
    apart = float((level[high] - level[low]) / level[high])
    witness = ""
    if apart > 0:
        witness = (
            f"only {inst.resources[r]} is full; {inst.users[high]} holds {level[high]:.6g} of it "
            f"by weight, {inst.users[low]} holds {level[low]:.6g}"
        )
    return Check.of(name, max(apart, 0.0), TOLERANCE, witness)
