"""Load: how much of the pool is asked for, and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fairopt.dynamics.stability import refuse_overload
from fairopt.errors import BadInput, Fault
from fairopt.instance import Floats, Instance


def pool_parts(instance: Instance) -> Floats:
    """(K, R) a_kj, the part of the pool that one task of class k holds of resource j.

    Raises
    ------
    BadInput : several servers, users that may not use the pool, unequal weights, limits.
    """
    instance.only_linear("random demand")
    instance.only_plain("random demand")
    faults = []
    if int(instance.count.sum()) != 1:
        faults.append(Fault("servers", f"{int(instance.count.sum())} machines", "one pool"))
    if not instance.eligible.all():
        faults.append(Fault("placement", "users that may not use the pool", "all may"))
    if np.ptp(instance.weight) > 0:
        faults.append(Fault("weight", "unequal weights", "equal ones: classes have none"))
    if np.isfinite(instance.limit).any():
        faults.append(Fault("limit", "limits", "none: jobs come and go instead"))
    if faults:
        raise BadInput(faults)
    capacity = instance.capacity[0]
    parts: Floats = instance.demand_by_server[:, 0] / np.where(capacity > 0, capacity, 1.0)
    return parts


def mix_of(instance: Instance, mix: Mapping[str, float] | None) -> Floats:
    """(K,) how the load is divided between the classes; all alike unless told otherwise.

    Raises
    ------
    BadInput : an unknown class, a part that is negative or not finite, or nothing at all.
    """
    if not mix:
        return np.ones(len(instance.users))
    faults = [
        Fault(f"mix.{name}", "an unknown user", "a user")
        for name in mix
        if name not in instance.users
    ]
    faults += [
        Fault(f"mix.{name}", f"{value}", "a finite number >= 0")
        for name, value in mix.items()
        if not 0 <= value < np.inf
    ]
    parts = np.array([float(mix.get(name, 0.0)) for name in instance.users])
    if not faults and not parts.any():
        faults.append(Fault("mix", "0 for all", "a class with a load"))
    if faults:
        raise BadInput(faults)
    return parts


def rho_of(parts: Floats, mix: Floats, load: float, resources: Sequence[str]) -> Floats:
    """(K,) rho_k in the proportions of `mix`, with max_j sum_k rho_k a_kj = load.

    Raises
    ------
    BadInput : a load that is not a finite number > 0.
    Infeasible : a load of 1 or more: (12) of bonald2015 fails, jobs pile up without end.
    """
    if not 0 < load < np.inf:
        raise BadInput([Fault("load", f"{load}", "a number > 0 and < 1")])
    rho: Floats = mix * (load / (mix @ parts).max())
    if load >= 1:  # also where the sums below come out a digit lower
        refuse_overload(parts, rho * (1 + 1e-12), resources)
    return rho
