"""What an answer gives one user, what stops it and who holds that; nothing is solved here."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.allocation.explained import Due, Held, Stop
from fairopt.allocation.frames import clean
from fairopt.formulas import welfare
from fairopt.instance import Floats

HOLDERS = 3
"""most users named that hold what stops a user"""
NEAR = 1e-9
"""users whose numbers differ by less, relative, are equal"""


def held(alloc: Allocation, n: int) -> list[Held]:
    """What user n holds of each resource that it demands."""
    inst = alloc.instance
    amount = _taken(alloc, n).sum(axis=0)
    there = inst.pool.sum(axis=0)
    return [
        Held(name, float(amount[r]), float(amount[r] / there[r]))
        for r, name in enumerate(inst.resources)
        if amount[r] > 0
    ]


def places(alloc: Allocation, n: int) -> list[tuple[str, float]]:
    """(server, tasks) of user n, the largest first."""
    row = clean(alloc)[n]
    order = np.argsort(-row, kind="stable")
    return [(alloc.instance.servers[i], float(row[i])) for i in order if row[i] != 0]


def stops(alloc: Allocation, n: int) -> list[Stop]:
    """What stops user n, the dearest first: its limit, full resources, rules of its groups."""
    inst = alloc.instance
    found: list[Stop] = []
    demand, tasks = inst.demand_by_server, clean(alloc)
    for blocked in alloc.each_blocked():
        if blocked.user != inst.users[n]:
            continue
        if blocked.resource is None or blocked.server is None:
            return [Stop(None, None, blocked.price, 1.0, (), 0)]
        if blocked.server not in inst.servers:  # a ceiling or a quota
            found.append(Stop(blocked.resource, blocked.server, blocked.price, 0.0, (), 0))
            continue
        i, r = inst.servers.index(blocked.server), inst.resources.index(blocked.resource)
        taken = tasks[:, i] * demand[:, i, r] if inst.linear else _curved(alloc)[:, r]
        part = np.maximum(taken, 0.0) / inst.pool[i, r]
        order = [m for m in np.argsort(-part, kind="stable").tolist() if m != n and part[m] > 0]
        first = tuple((inst.users[m], float(part[m])) for m in order[:HOLDERS])
        found.append(
            Stop(
                blocked.resource,
                blocked.server,
                blocked.price,
                float(part[n]),
                first,
                len(order) - len(first),
            )
        )
    return sorted(found, key=lambda stop: -(stop.price or 0.0))


def due(alloc: Allocation, n: int) -> Due:
    """What user n may expect, from the prices, the weights and the certificate."""
    inst = alloc.instance
    worth = best = None
    if alloc.prices is not None and alloc.instance.linear:
        money = float((alloc.prices * inst.pool).sum())
        mine = float((_taken(alloc, n) * alloc.prices).sum())
        worth = mine / money if money > 0 else None
        best = _best(alloc, n)
    lowest = highest = None
    if alloc.certificate is not None and len(alloc.certificate.intervals):
        lowest, highest = alloc.certificate.intervals[n]
    level = alloc.levels
    rank = int((level < level[n] * (1 - 1e-6)).sum())
    weight = float(inst.weight[n] / inst.weight.sum())
    limited = int((alloc.totals >= inst.limit * (1 - 1e-6)).sum())
    return Due(worth, weight, best, lowest, highest, rank, len(inst.users), limited)


def peers(alloc: Allocation, n: int) -> list[int]:
    """Other users with the same demand, weight, limit and servers."""
    inst = alloc.instance
    alike = np.isclose(inst.weight, inst.weight[n], rtol=NEAR, atol=0)
    alike &= (inst.limit == inst.limit[n]) & (inst.eligible == inst.eligible[n]).all(axis=1)
    for values in (inst.demand, inst.demand_fixed, inst.demand_power):
        same = np.isclose(values, values[n], rtol=NEAR, atol=0)
        alike &= same.reshape(len(inst.users), -1).all(axis=1)
    if inst.quotas is not None:
        for table in (inst.quotas.group, inst.quotas.priority):
            alike &= np.array([table.get(m) == table.get(inst.users[n]) for m in inst.users])
    alike[n] = False
    return [int(m) for m in np.flatnonzero(alike)]


def _best(alloc: Allocation, n: int) -> float | None:
    r"""The share s0 = (W_n / (\lambda q_n))^{1/alpha} that is best for user n at the prices.

    q_n is the least price of a unit of its share, and \lambda the scale of the prices at which all
    shares together cost what they are worth.
    """
    inst, alpha = alloc.instance, welfare.alpha_of(alloc.notion)
    if not alpha or alloc.prices is None:
        return None
    inside = bool(alloc.kind["parameters"].get("weight_inside", False))
    log_w = welfare.log_weight(inst.weight, alpha, inside)
    q = np.empty(len(inst.users))
    for users in inst.blocks():
        # without the price of its limit: what it would want if it had none
        cost = task_cost(inst, alloc.prices, users)
        u = np.where(inst.eligible[users], alloc.score[users], 1.0)
        q[users] = np.where(inst.eligible[users], cost / u, np.inf).min(axis=1)
    free = (alloc.totals < inst.limit * (1 - 1e-6)) & (q > 0) & (alloc.shares > 0)
    if not free[n]:
        return None
    with np.errstate(all="ignore"):
        scale = welfare.log_sum_exp((log_w + (1 - alpha) * np.log(alloc.shares))[free])
        scale -= np.log((q * alloc.shares)[free].sum())
        found = float(np.exp((log_w[n] - scale - np.log(q[n])) / alpha))
    return found if np.isfinite(found) else None


def _taken(alloc: Allocation, n: int) -> Floats:
    """(I, R) what user n takes on every server."""
    if not alloc.instance.linear:
        curved: Floats = _curved(alloc)[n][None]
        return curved
    tasks = np.maximum(clean(alloc)[n], 0.0)
    taken: Floats = alloc.instance.demand_by_server[n] * tasks[:, None]
    return taken


def _curved(alloc: Allocation) -> Floats:
    """(N, R) what users take of a pool where demand is not linear."""
    taken: Floats = alloc.instance.taken(alloc.tasks[:, 0])
    return taken
