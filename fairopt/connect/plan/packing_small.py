"""Whole tasks on few machines by a mixed-integer program (HiGHS), where it is small enough.

max N t + sum_n y_n / w_n over whole numbers y[n,m] of tasks of user n on machine m, with
sum_m y[n,m] = y_n <= w_n wanted, every machine within its capacity, and t <= y_n / w_n for all n:
who gets the smallest part of what is wanted comes first. What the solver says is placed again in
integers by the caller, so that its tolerances decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.instance import Bools, Ints

MOST_VARIABLES = 400
"""most variables; with more, machines are not modelled one by one"""
NODES = 200
"""nodes of the search; a limit of time would make answers depend on the machine"""


def best(
    need: Any, offer: Any, count: Ints, allowed: Bools, wanted: Sequence[int]
) -> list[list[dict[int, int]]] | None:
    """For each shape, the tasks by user of each of its machines; None where it is too large.

    Parameters
    ----------
    need (N, R), offer (I, R) : exact amounts as integers.
    count : (I,) machines. allowed : (N, I). wanted : (N,) whole tasks, none gets more.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    some = [n for n, w in enumerate(wanted) if w > 0]
    fits = allowed & (need[:, None, :] <= offer[None, :, :]).all(axis=2)
    if not 0 < int(fits[some].sum(axis=0) @ count) <= MOST_VARIABLES:
        return None
    pairs = [
        (n, i, m)
        for i in range(len(count))
        for m in range(int(count[i]))
        for n in some
        if fits[n, i]
    ]
    size, resources = len(pairs), need.shape[1]
    start = np.concatenate([[0], np.cumsum(count)])
    user, machine = (
        np.array(x) for x in zip(*((n, start[i] + m) for n, i, m in pairs), strict=True)
    )
    amounts = (need / np.maximum(offer.max(axis=0), 1)).astype(float)
    room = np.repeat((offer / np.maximum(offer.max(axis=0), 1)).astype(float), count, axis=0)
    k, r = np.nonzero(amounts[user])
    use = coo_array(
        (amounts[user][k, r], (machine[k] * resources + r, k)), shape=(room.size, size + 1)
    )
    at = {n: k for k, n in enumerate(some)}
    own = np.array([at[n] for n in user.tolist()])
    part = 1 / np.array([wanted[n] for n in some])
    totals = coo_array((np.ones(size), (own, np.arange(size))), shape=(len(some), size + 1))
    least = coo_array(
        (
            np.concatenate([-part[own], np.ones(len(some))]),
            (
                np.concatenate([own, np.arange(len(some))]),
                np.concatenate([np.arange(size), np.full(len(some), size)]),
            ),
        ),
        shape=(len(some), size + 1),
    )
    high = [room.ravel(), np.array([wanted[n] for n in some], dtype=float), np.zeros(len(some))]
    found = milp(
        -np.concatenate([part[own], [float(len(some))]]),
        integrality=np.concatenate([np.ones(size), [0]]),
        bounds=Bounds(0, np.concatenate([[float(wanted[n]) for n in user.tolist()], [1.0]])),
        constraints=LinearConstraint(
            vstack([use, totals, least]).tocsr(), -np.inf, np.concatenate(high)
        ),
        options={"node_limit": NODES},
    )
    if found.x is None:
        return None
    machines: list[list[dict[int, int]]] = [[{} for _ in range(int(c))] for c in count]
    for (n, i, m), y in zip(pairs, np.rint(found.x[:size]).astype(int).tolist(), strict=True):
        if y > 0:
            machines[i][m][n] = y
    return machines
