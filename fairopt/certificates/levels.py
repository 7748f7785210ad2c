r"""The judge of lexicographic max-min answers (SYSTEMS A2.4).

With the prices of one level, q_n the cheapest price of a unit of share and B the value of all
capacity, a user n can rise by at most

.. math:: room_n = \frac{B - \sum_{m:\, U_m \le U_n} q_m s_m}{q_n s_n}

of its share while nobody at or below its level falls, whatever happens to users above. A room of
at most 1e-6 for every user, each at the prices of some level, proves the whole order.
"""

from __future__ import annotations

import numpy as np

from fairopt import rows
from fairopt.allocation import Allocation
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.words import notes
from fairopt.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Intervals, Told
from fairopt.instance import Floats, Instance, Ints

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
    # servers alike in every way are looked at once
    i = _distinct(alloc)
    open_, u = inst.eligible[:, i], alloc.score[:, i]
    order = np.argsort(level, kind="stable")
    # users up to and with the ties of each position
    last = np.searchsorted(level[order], level[order] * (1 + TIE), side="right")
    for prices in alloc.level_prices:
        cost = _cost(inst, i, prices)
        price = np.divide(cost, u, out=np.full(u.shape, np.inf), where=open_)
        q = rows.least(price)
        paid = q * share
        for user in np.flatnonzero(capped):
            on = open_[user]
            paid[user] = _credit(
                cost[user, on], u[user, on], float(share[user]), float(inst.limit[user])
            )
        budget = float((prices * inst.pool).sum())
        below = np.cumsum(paid[order])[last - 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(paid[order] > 0, (budget - below) / paid[order], np.inf)
        best[order] = np.fmin(best[order], np.maximum(room, 0.0))
    best[capped] = 0.0
    return best


def _distinct(alloc: Allocation) -> Ints:
    """(H,) servers such that every other has the eligible users, scores, demand and prices of one
    of them; all servers where that cannot be seen at once."""
    inst = alloc.instance
    servers = np.arange(len(inst.servers))
    if inst.demand.ndim == 3 or alloc.level_prices is None:
        return servers
    by_server = np.moveaxis(alloc.level_prices, 1, 0)
    keys = [
        np.packbits(inst.eligible, axis=0).T,
        np.ascontiguousarray(by_server.reshape(len(servers), -1)).view(np.uint8),
    ]
    seen: dict[bytes, int] = {}
    like = np.array([
        seen.setdefault(key.tobytes(), k) for k, key in enumerate(np.hstack(keys))
    ])  # fmt: skip
    for users in inst.blocks():
        score = alloc.score[users]
        if not np.array_equal(score[:, like], score):
            return servers
    return np.unique(like)


def _cost(inst: Instance, servers: Ints, prices: Floats) -> Floats:
    """(N, H) price of a task on these servers."""
    demand = inst.demand[:, servers] if inst.demand.ndim == 3 else inst.demand[:, None, :]
    cost: Floats = demand[:, :, 0] * prices[servers, 0]
    for r in range(1, prices.shape[1]):
        cost += demand[:, :, r] * prices[servers, r]
    return cost


def _credit(cost: Floats, u: Floats, share: float, limit: float) -> float:
    """Largest q(mu) s - mu limit over prices mu >= 0 of the user's limit: what it surely pays.

    q(mu) = min (cost + mu) / u has its corners where two servers are as cheap as one another; of
    those with equal u the cheapest alone matters.
    """
    order = np.lexsort((cost, u))
    first = np.flatnonzero(np.diff(u[order], prepend=-1.0))
    cost, u = cost[order][first], u[order][first]
    best = float((cost / u).min()) * share
    for a in range(1, len(u)):
        mu = (cost[a] * u[:a] - cost[:a] * u[a]) / (u[a] - u[:a])
        mu = mu[mu > 0]
        if len(mu):
            q = ((cost + mu[:, None]) / u).min(axis=1)
            best = max(best, float((q * share - mu * limit).max()))
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
    loose = tuple([users[n] for n in np.flatnonzero(np.logical_not(room <= TOLERANCE)).tolist()])
    least = np.maximum(alloc.shares, 0.0)
    # where nothing is proved nothing bounds the share, not even one of 0
    most = np.multiply(least, 1 + room, out=np.full(len(users), np.inf), where=np.isfinite(room))
    spans = Intervals(len(users), lambda: (least, most))
    told = Told(lambda: tuple(notes(alloc)))
    return Certificate(
        verdict, float(room[lowest]), float(room[worst]), loose, checks, spans, told
    )
