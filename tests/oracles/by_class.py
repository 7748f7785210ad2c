"""Alpha-fair shares class by class, each by the path of decimals: what is due to whom, and when.

In the question of a class those before hold what they are due, less a part HELD so that there is a
point within, and others what they are guaranteed; the amounts of both are free, as flows are.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal as D

import numpy as np

import fairopt as fo

from .optimum import optimum
from .rows import Rows, of_instance

HELD = D("1e-25")
"""part of what they are due that those before are let go without"""
NOTHING = 1e-20
"""part of what a user could have alone that stands for nothing"""


def ranks(inst: fo.Instance) -> np.ndarray:
    """(N,) the class of each user, the first 0."""
    quotas = inst.quotas
    given = {} if quotas is None else quotas.priority
    own = -np.array([given.get(user, 0) for user in inst.users])
    return np.unique(own, return_inverse=True)[1]


def shares(
    inst: fo.Instance, score: np.ndarray, alpha: float, inside: bool, over: str = "floor"
) -> np.ndarray | None:
    """(N,) the shares of every optimum; None where one is not proved."""
    whole, rank = of_instance(inst, score, over), ranks(inst)
    alone = np.zeros(whole.users)
    for c, n in enumerate(whole.owner):
        rows = [k for k in range(len(whole.h)) if whole.g[k, c] > 0 and whole.h[k] > 0]
        most = min((whole.h[k] / whole.g[k, c] for k in rows), default=D(0))
        alone[n] = max(alone[n], float(most * whole.u[c]))
    if set(whole.owner) != set(range(whole.users)):
        return None
    least, found = whole.floor.copy(), np.zeros(whole.users)
    for one in range(int(rank.max()) + 1):
        mine = rank == one
        best = optimum(_of_class(whole, mine, least), alpha, inside)
        if best is None:
            return None
        found[mine] = best.share
        least[mine] = best.exact * (1 - HELD)
    return np.where(found <= NOTHING * alone, 0.0, found)


def _of_class(q: Rows, mine: np.ndarray, least: np.ndarray) -> Rows:
    """The rows in which some users count, and others hold at least what they do."""
    columns, flows = len(q.owner), len(q.low)
    own = mine[q.owner]
    free = ~own & np.array([least[n] > 0 for n in q.owner])
    order = [
        *np.flatnonzero(own),
        *(columns + np.arange(flows)),
        *np.flatnonzero(free),
    ]
    others = [n for n in range(q.users) if not mine[n] and least[n] > 0]
    floors = np.full((len(others), columns + flows), D(0), dtype=object)
    for row, n in zip(floors, others, strict=True):
        at = np.flatnonzero(q.owner == n)
        row[at] = -q.u[at]
    right = np.array([-least[n] for n in others], dtype=object)
    place = np.cumsum(mine) - 1
    extra = int(free.sum())
    return replace(
        q,
        owner=place[q.owner[own]],
        server=q.server[own],
        way=q.way[own],
        u=q.u[own],
        g=np.concatenate([q.g, floors])[:, order],
        h=np.concatenate([q.h, right]),
        low=[*q.low, *[D(0)] * extra],
        high=[*q.high, *[None] * extra],
        base=q.base[mine],
        floor=np.where(q.base[mine] == 0, q.floor[mine], D(0)),
        weight=q.weight[mine],
    )
