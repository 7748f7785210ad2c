r"""Resources that can never bind, each with a proof from the resources that stay.

Row r of server i is implied by row r' if the server has some of r' and every user eligible there
needs r' at least as much,

.. math:: d_{n,r} / c_{i,r} \le d_{n,r'} / c_{i,r'},

and it can never be full if the most that each user could run alone on the other resources, or that
its limit allows, would fit all together:

.. math:: \sum_n \min\Big(L_n, \min_{r' \ne r} \frac{k_i c_{i,r'}}{d_{n,r'}}\Big) d_{n,r}
          < k_i c_{i,r}.

A proof uses only resources that were not left out before. So the last one left out is implied by
those that are kept, the one before it by these and the last, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.reduce.merging import at_most

SAMPLE = 64
"""users and servers tried first: they are enough to see of most resources that they may bind"""
ROOM = 1e-9
"""part by which the sum of all possible use must be below the capacity, to cover its rounding"""


@dataclass(frozen=True, eq=False)
class UsedRows:
    """Demand (N, R) or (N, I, R), capacity of whole rows (I, R), eligible (N, I), limit (N,)."""

    demand: Floats
    pool: Floats
    eligible: Bools
    limit: Floats

    def first(self, size: int) -> UsedRows:
        """The first users and servers."""
        demand = self.demand[:size] if self.demand.ndim == 2 else self.demand[:size, :size]
        return UsedRows(demand, self.pool[:size], self.eligible[:size, :size], self.limit[:size])

    def column(self, r: int) -> Floats:
        """Demand of one resource, (N, 1) or (N, I)."""
        return self.demand[..., r] if self.demand.ndim == 3 else self.demand[:, r, None]


def never_binding(rows: UsedRows, alone_matters: bool) -> Ints:
    """Positions of the resources that can be left out of every server, largest first.

    Parameters
    ----------
    alone_matters : whether the notion depends on what a user could run alone. That must then not
        change, so that limits cannot be used in a proof.
    """
    kept = list(range(rows.pool.shape[1]))
    few = rows.first(SAMPLE)
    perhaps = _perhaps(few)
    for r in reversed(np.flatnonzero(perhaps).tolist()):
        others = [k for k in kept if k != r]
        tried = (few, rows) if rows.eligible.size > few.eligible.size else (rows,)
        if all(_implied(part, r, others, alone_matters).all() for part in tried):
            kept = others
    return np.array([r for r in reversed(range(rows.pool.shape[1])) if r not in kept], np.int64)


def _perhaps(rows: UsedRows) -> Bools:
    """(R,) whether a resource may be left out, as far as these users on the first server tell.

    Neither test of `_implied` holds there of the others; rounding is given the benefit of doubt.
    """
    some = np.flatnonzero(rows.eligible[:, 0])
    resources = rows.pool.shape[1]
    if not len(some) or not (rows.pool[0] > 0).all():
        return np.ones(resources, bool)
    demand = rows.demand[some] if rows.demand.ndim == 2 else rows.demand[some, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        part = demand / rows.pool[0]
        below = (part[:, :, None] <= part[:, None, :] * (1 + ROOM)).all(axis=0)
        # tasks that fit by the other resources, and the use they make of this one
        most = np.where(np.eye(resources, dtype=bool), np.inf, 1 / part[:, None, :]).min(axis=2)
        most = np.minimum(most, rows.limit[some, None])
        use = np.where(demand > 0, most * part, 0.0).sum(axis=0)
    below[np.arange(resources), np.arange(resources)] = False
    found: Bools = below.any(axis=1) | np.logical_not(use >= 1 + ROOM)
    return found


def _implied(rows: UsedRows, r: int, others: list[int], alone_matters: bool) -> Bools:
    """(I,) whether row r of each server is implied by the rows of `others`."""
    demanded: Bools = rows.eligible & (rows.column(r) > 0)
    found: Bools = np.logical_not(demanded.any(axis=0))
    for other in others:
        if found.all():
            return found
        below = at_most(
            rows.column(r), rows.pool[None, :, other], rows.column(other), rows.pool[None, :, r]
        )
        # a resource that the server does not have implies nothing: 0 <= 0 would be no proof
        found |= (below | ~demanded).all(axis=0) & (rows.pool[:, other] > 0)
    return found if found.all() or not others else found | _fits(rows, r, others, alone_matters)


def _fits(rows: UsedRows, r: int, others: list[int], alone_matters: bool) -> Bools:
    """(I,) whether all that users could use of r together is less than the capacity."""
    demanded: Bools = rows.eligible & (rows.column(r) > 0)
    most = np.full(rows.eligible.shape, np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for other in others:
            d = rows.column(other)
            np.minimum(most, np.where(d > 0, rows.pool[None, :, other] / d, np.inf), out=most)
        # a user that demands no other resource is bounded by r alone
        bound = most if alone_matters else np.minimum(most, rows.limit[:, None])
        use = np.where(demanded, np.where(most < np.inf, bound, np.inf) * rows.column(r), 0.0)
        found: Bools = use.sum(axis=0) < rows.pool[:, r] * (1 - ROOM)
    return found
