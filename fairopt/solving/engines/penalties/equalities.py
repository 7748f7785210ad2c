r"""Which servers can be used under both hard forms, (14) and (15) of kesidis2016.

With the same share b_i for all eligible users of server i, and one level L, the conditions are
sum_{i in E(n)} b_i = phi_n L for every user. They form a cone; a server can be used if some point
of the cone has b_i > 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import Infeasible
from fairopt.instance import Bools, Floats, Instance

MOST_REDUCED = 60
"""most users for which a conflict is reduced to the fewest that contradict each other"""


def usable(instance: Instance) -> Bools:
    """(I,) whether tasks are possible on each server under both equalities.

    Raises
    ------
    Infeasible : no server; the message names the fewest users that exclude each other.
    """
    users = np.arange(instance.shape[0])
    found = _widest(instance, users)
    if found.any():
        return found
    conflict: list[int] = users.tolist()
    if len(conflict) <= MOST_REDUCED:
        for user in users.tolist():
            rest = [n for n in conflict if n != user]
            if rest and not _widest(instance, np.array(rest)).any():
                conflict = rest
    raise Infeasible(_told(instance, conflict))


def _widest(instance: Instance, users: Any) -> Bools:
    """(I,) the largest support of b >= 0 with sum_{i in E(n)} b_i = phi_n L for these users."""
    from scipy.optimize import linprog

    may: Floats = instance.eligible[users].astype(np.float64)
    open_ = np.flatnonzero(instance.eligible.any(axis=0)).tolist()
    _, servers = may.shape
    # unknowns b, 0 <= t <= 1 with t <= b, and L
    equal = np.hstack(
        [may / instance.weight[users, None], np.zeros_like(may), -np.ones((len(users), 1))]
    )
    equal /= np.abs(equal).max(axis=1, keepdims=True)
    below = np.hstack([-np.eye(servers), np.eye(servers), np.zeros((servers, 1))])
    goal = np.concatenate([np.zeros(servers), -np.ones(servers), [0.0]])
    shares = [(0, None if i in open_ else 0) for i in range(servers)]
    bounds = [*shares, *[(0, 1)] * servers, (0, None)]
    found = linprog(
        goal, below, np.zeros(servers), equal, np.zeros(len(users)), bounds, method="highs"
    )
    if found.x is None or not found.x[-1] > 1e-9:
        return np.zeros(servers, bool)
    return np.asarray(found.x[servers : 2 * servers] > 1e-6)


def _told(instance: Instance, conflict: list[int], most: int = 8) -> str:
    lines = []
    for n in conflict[:most]:
        where = ", ".join(instance.servers[i] for i in np.flatnonzero(instance.eligible[n]))
        lines.append(f"{instance.users[n]} (weight {instance.weight[n]:g}, on {where})")
    more = f"; and {len(conflict) - most} more users" if len(conflict) > most else ""
    return (
        "equal levels (14) with equal shares on each server (15) leave nothing but zero: no shares "
        f"of these servers give these users the same level: {'; '.join(lines)}{more}"
    )
