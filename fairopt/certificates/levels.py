r"""The judge of lexicographic max-min answers (SYSTEMS A2.4).

With the prices of one level, q_n the cheapest price of a unit of share and B the value of all
capacity, a user n can rise by at most

.. math:: room_n = \frac{B - \sum_{m:\, U_m \le U_n} q_m s_m}{q_n s_n}

of its share while nobody at or below its level falls, whatever happens to users above. A room of
at most 1e-6 for every user, each at the prices of some level, proves the whole order.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.words import notes
from fairopt.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.instance import Floats

TOLERANCE = 1e-6
TIE = 1e-9
"""levels this close, relative, are one level"""


def rooms(alloc: Allocation) -> Floats:
    """(N,) smallest proved room of each user over all levels' prices; inf where nothing is proved,
    0 for a user at its own limit."""
    inst = alloc.instance
    users = inst.shape[0]
    factor = shrink(alloc)
    share = np.maximum(alloc.shares, 0.0) * factor
    level = share / inst.weight
    best = np.full(users, np.inf)
    capped = alloc.totals >= inst.limit * (1 - 1e-9)
    best[capped] = 0.0
    if alloc.level_prices is None:
        return best
    n, i = inst.pairs
    u = alloc.score[n, i]
    order = np.argsort(level, kind="stable")
    # users up to and with the ties of each position
    last = np.searchsorted(level[order], level[order] * (1 + TIE), side="right")
    for prices in alloc.level_prices:
        cost = np.einsum("pr,pr->p", prices[i], inst.pair_demand)
        q = np.full(users, np.inf)
        np.minimum.at(q, n, cost / u)
        paid = q * share
        for user in np.flatnonzero(capped):
            paid[user] = _credit(
                cost[n == user], u[n == user], float(share[user]), float(inst.limit[user])
            )
        budget = float((prices * inst.pool).sum())
        below = np.cumsum(paid[order])[last - 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(paid[order] > 0, (budget - below) / paid[order], np.inf)
        best[order] = np.fmin(best[order], np.maximum(room, 0.0))
    best[capped] = 0.0
    return best


def _credit(cost: Floats, u: Floats, share: float, limit: float) -> float:
    """Largest q(mu) s - mu limit over prices mu >= 0 of the user's limit: what it surely pays."""
    best = float((cost / u).min()) * share
    for a in range(len(u)):
        for b in range(a):
            if u[a] != u[b]:
                mu = (cost[a] * u[b] - cost[b] * u[a]) / (u[a] - u[b])
                if mu > 0:
                    best = max(best, float(((cost + mu) / u).min()) * share - mu * limit)
    return best


def judge(alloc: Allocation) -> Certificate:
    """Certified: feasible, and room at most 1e-6 for every user at the prices of some level.

    `gap` is the room of the lowest level, `residual` the largest room of any user.
    """
    feasible = feasibility(alloc)
    room = rooms(alloc)
    users = alloc.instance.users
    worst, lowest = int(np.argmax(room)), int(np.argmin(alloc.levels))
    checks = (
        *feasible,
        Check.of("room of the lowest", room[lowest], TOLERANCE, users[lowest]),
        Check.of("room of every user", room[worst], TOLERANCE, users[worst]),
    )
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    if not all(c.holds for c in feasible):
        verdict = REFUTED
    loose = tuple(name for name, r in zip(users, room, strict=True) if not r <= TOLERANCE)
    spans = tuple(
        (float(s), float(s * (1 + r)))
        for s, r in zip(np.maximum(alloc.shares, 0), room, strict=True)
    )
    return Certificate(
        verdict, float(room[lowest]), float(room[worst]), loose, checks, spans, tuple(notes(alloc))
    )
