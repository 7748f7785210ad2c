"""No justified complaints: every user has its due part of a full resource that it demands."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.compared import at_the_door, demanded, parts, wanting

TOLERANCE = 1e-6


@at_the_door
def no_justified_complaints(alloc: Allocation) -> Check:
    r"""Every user holds at least phi_n / sum phi of some full resource that it demands.

    .. math:: \forall n \ \exists i, r: \quad d_{n,r} > 0, \quad \sum_m x_{m,i} d_{m,r} = c_{i,r},
              \quad x_{n,i} d_{n,r} \ge \frac{\phi_n}{\sum_m \phi_m} c_{i,r}

    Dolev et al. (2012), No justified complaints: on fair sharing of multiple resources, state it
    for one pool. Here the resources of each server where the user is eligible are taken one by one,
    so on several servers the property is weak. A user at its limit does not complain. With groups a
    user is due its part of its group's part; with modes it demands what any of them demands.

    Returns
    -------
    Check : residual is the largest over users of the least, over the resources a user demands, of
        max(part of the resource that is free, part of its due that the user lacks); tolerance 1e-6.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.no_justified_complaints(answer).holds
    False
    """
    inst = alloc.instance
    entitled = parts(inst)
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    free = 1.0 - alloc.utilisation
    held, wants = alloc.taken(), wanting(alloc)
    worst, witness = 0.0, ""
    for n, name in enumerate(inst.users):
        mine = wants[n]
        if not mine.any():
            continue
        part = held[n, mine] / pool[mine]
        off = np.where(
            demanded(inst, n)[mine], np.maximum(free[mine], 1.0 - part / entitled[n]), np.inf
        )
        least = float(off.min())
        if least > worst:
            worst = least
            i, r = np.unravel_index(int(off.argmin()), off.shape)
            server = inst.servers[int(np.flatnonzero(mine)[i])]
            witness = (
                f"{name} is entitled to {entitled[n]:.4g} of a full resource; the nearest is "
                f"{inst.resources[r]} on {server}, of which it holds {part[i, r]:.4g} while "
                f"{max(float(free[mine][i, r]), 0.0):.4g} is free"
            )
    return Check.of("no-justified-complaints", worst, TOLERANCE, witness)
