"""Properties stated for one pool: its sharing incentive, and single-bottleneck fairness."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.compared import at_the_door, circles, demanded, parts, wanting

TOLERANCE = 1e-6


@at_the_door
def pool_sharing_incentive(alloc: Allocation) -> Check:
    r"""Everybody's dominant share of the pool is at least its part by weight.

    .. math:: \max_r \frac{x_n d_{n,r}}{c_r} \ge \frac{\phi_n}{\sum_m \phi_m}
              \quad \text{or } x_n = \ell_n

    (bonald2015 section 2.2, with weights and limits.) On one pool it is the same as
    `sharing_incentive`, but with modes: there the dominant share is of what is held, in whatever
    modes. On several servers it does not apply: a user that is eligible on a few may be unable to
    reach such a share of all of them.

    Returns
    -------
    Check : residual is the largest part of its due that a user lacks; tolerance 1e-6. Holds where
        there are several servers, which the witness then says.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.pool_sharing_incentive(answer).holds
    True
    """
    name = "pool-sharing-incentive"
    inst = alloc.instance
    servers = len(inst.servers)
    if servers > 1:
        return Check.of(name, 0.0, TOLERANCE, f"there are {servers} servers")
    pool = np.where(inst.pool[0] > 0, inst.pool[0], 1.0)
    entitled = parts(inst)
    has = (alloc.taken(np.maximum(alloc.by_way, 0.0))[:, 0] / pool).max(axis=1)
    limit = inst.limit if inst.limit_on is None else np.minimum(inst.limit, inst.limit_on[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        # what a user holds, in proportion, when it is at its limit is all that it can use
        usable = np.where(has > 0, has * limit / alloc.totals, np.inf)
    lack = 1.0 - has / np.minimum(entitled, usable)
    worst = int(lack.argmax())
    witness = ""
    if lack[worst] > 0:
        witness = (
            f"{inst.users[worst]} has a dominant share of {has[worst]:.6g}; "
            f"it is entitled to {entitled[worst]:.6g} of the pool"
        )
    return Check.of(name, max(float(lack[worst]), 0.0), TOLERANCE, witness)


@at_the_door
def single_bottleneck_fair(alloc: Allocation) -> Check:
    r"""Where one resource of the pool is full and no other, it is divided by weight.

    .. math:: \frac{x_n d_{n,r}}{\phi_n} \text{ equal for all } n \text{ with } d_{n,r} > 0
              \text{ below their limit, and no higher for those at it}

    (bonald2015 section 2.2, with weights and limits.) It applies to one pool, as each of several
    servers has a bottleneck of its own. In groups users of one group and one priority are compared.
    Of users with modes those count who can do nothing without r: another may be better off so.

    Returns
    -------
    Check : residual is (high - low) / high, for high the largest level and low the smallest of a
        user below its limit; tolerance 1e-6. Holds where there are several servers, or not exactly
        one full resource, which the witness then says.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.single_bottleneck_fair(answer).holds
    False
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
    level = alloc.taken(np.maximum(alloc.by_way, 0.0))[:, 0, r] / inst.weight
    needs = np.array([demanded(inst, n, always=True)[0, r] for n in range(len(inst.users))])
    below = wanting(alloc)[:, 0] & needs
    if not below.any():
        return Check.of(name, 0.0, TOLERANCE, "every user of the full resource is at its limit")
    apart, witness = 0.0, ""
    circle = circles(inst)
    for one in np.unique(circle[below]):
        high = int(np.where(circle == one, level, -np.inf).argmax())
        low = int(np.where(below & (circle == one), level, np.inf).argmin())
        off = float((level[high] - level[low]) / level[high]) if level[high] > 0 else 0.0
        if off <= apart:
            continue
        apart = off
        witness = (
            f"only {inst.resources[r]} is full; {inst.users[high]} holds {level[high]:.6g} of it "
            f"by weight, {inst.users[low]} holds {level[low]:.6g}"
        )
    return Check.of(name, apart, TOLERANCE, witness)
