"""What an answer gives one user, what stops it and who holds that; nothing is solved here."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import listed_prices
from fairopt.allocation.explained import Due, Held, Stop
from fairopt.allocation.frames import clean_by_way
from fairopt.errors import UsageError
from fairopt.formulas import welfare
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import LIMIT, PLACE, lower
from fairopt.instance import Floats
from fairopt.instance.alike import users_alike

HOLDERS = 3
"""most users named that hold what stops a user"""
SAME_NUMBER = 1e-9
"""users whose numbers differ by less, relative, are equal"""


def held(alloc: Allocation, n: int) -> list[Held]:
    """What user n holds of each resource that it demands."""
    inst = alloc.instance
    amount = np.maximum(_of(alloc, n), 0.0).sum(axis=0)
    there = inst.pool.sum(axis=0)
    return [
        Held(name, float(amount[r]), float(amount[r] / there[r]))
        for r, name in enumerate(inst.resources)
        if amount[r] > 0
    ]


def places(alloc: Allocation, n: int) -> list[tuple[str, float]]:
    """(server, tasks) of user n, the largest first; with modes ("server (mode)", tasks)."""
    inst, ways = alloc.instance, alloc.instance.ways
    own = ways.of(n)
    tasks = clean_by_way(alloc)[own]
    order = np.argsort(-tasks, axis=None, kind="stable")
    found = []
    for k, i in zip(*np.unravel_index(order, tasks.shape), strict=True):
        if tasks[k, i] != 0:
            mode = ways.name[own.start + int(k)]
            found.append((inst.servers[i] + (f" ({mode})" if mode else ""), float(tasks[k, i])))
    return found


def stops(alloc: Allocation, n: int) -> list[Stop]:
    """What stops user n, the dearest first: its limits, full resources, rules of its groups."""
    inst = alloc.instance
    found: list[Stop] = []
    clean = clean_by_way(alloc)
    for blocked in alloc.each_blocked():
        if blocked.user != inst.users[n]:
            continue
        if blocked.server is None:
            return [Stop(None, None, blocked.price, 1.0, (), 0)]
        if blocked.resource is None:  # its limit on that server
            found.append(Stop(None, blocked.server, blocked.price, 1.0, (), 0))
            continue
        if blocked.server not in inst.servers:  # a ceiling or a quota
            found.append(Stop(blocked.resource, blocked.server, blocked.price, 0.0, (), 0))
            continue
        i, r = inst.servers.index(blocked.server), inst.resources.index(blocked.resource)
        taken = alloc.taken(clean, servers=slice(i, i + 1))[:, 0, r]
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
        mine = float((np.maximum(_of(alloc, n), 0.0) * alloc.prices).sum())
        worth = mine / money if money > 0 else None
        best = _best(alloc, n)
    lowest = highest = None
    if alloc.certificate is not None and len(alloc.certificate.intervals):
        had = 0.0 if inst.start is None else float(inst.start[n])
        lowest, highest = (end - had for end in alloc.certificate.intervals[n])
    level = alloc.levels
    rank = int((level < level[n] * (1 - 1e-6)).sum())
    part = inst.weight / inst.weight.sum() if inst.quotas is None else inst.tree.normalised
    limited = int((alloc.totals >= inst.limit * (1 - 1e-6)).sum())
    return Due(worth, float(part[n]), best, lowest, highest, rank, len(inst.users), limited)


def peers(alloc: Allocation, n: int) -> list[int]:
    """Other users with the same demand, weight, limits and servers, whom rules treat alike."""
    inst = alloc.instance
    number = users_alike(inst)
    alike = np.isclose(inst.weight, inst.weight[n], rtol=SAME_NUMBER, atol=0) & (
        number == number[n]
    )
    alike &= (inst.limit == inst.limit[n]) & (inst.eligible == inst.eligible[n]).all(axis=1)
    for values in (inst.demand, inst.demand_fixed, inst.demand_power):
        same = np.isclose(values, values[n], rtol=SAME_NUMBER, atol=0)
        alike &= same.reshape(len(inst.users), -1).all(axis=1)
    alike[n] = False
    return [int(m) for m in np.flatnonzero(alike)]


def _of(alloc: Allocation, n: int) -> Floats:
    """(I, R) what user n takes on every server."""
    found: Floats = alloc.taken(clean_by_way(alloc), slice(n, n + 1))[0]
    return found


def _best(alloc: Allocation, n: int) -> float | None:
    r"""The share s0 = b_n + (W_n / (\lambda q_n))^{1/alpha} that is best for user n at the prices.

    q_n is the least price of a unit of its share, of resources, ceilings, quotas and own rules; b_n
    what it has before shares are compared; and \lambda the scale of the prices at which all shares
    together cost what they are worth. Whoever is at a limit, or held up by a guarantee, has none.
    """
    inst, alpha = alloc.instance, welfare.alpha_of(alloc.notion)
    if not alpha:
        return None
    try:
        asked = entitled(inst, alloc.score, alloc.kind)
    except UsageError:
        return None
    inside = bool(alloc.kind["parameters"].get("weight_inside", False))
    log_w = welfare.log_weight(asked.weight, alpha, inside)
    low = lower(inst, alloc.score)
    # without the prices of its limits: what it would want if it had none
    price = np.where(np.isin(low.kind, (LIMIT, PLACE)), 0.0, listed_prices(alloc, low))
    q = np.full(len(inst.users), np.inf)
    np.minimum.at(q, low.owner, low.cost(price) / low.score)
    counted = alloc.counted - asked.base
    free = (alloc.totals < inst.limit * (1 - 1e-6)) & (q > 0) & (counted > 0)
    if inst.limit_on is not None:
        free &= ~(alloc.tasks >= inst.limit_on * (1 - 1e-6)).any(axis=1)
    if alloc.floor_prices is not None:
        free &= alloc.floor_prices == 0
    if not free[n]:
        return None
    with np.errstate(all="ignore"):
        scale = welfare.log_sum_exp((log_w + (1 - alpha) * np.log(counted))[free])
        scale -= np.log((q * counted)[free].sum())
        found = float(np.exp((log_w[n] - scale - np.log(q[n])) / alpha))
    had = 0.0 if inst.start is None else float(inst.start[n])
    found += float(asked.base[n]) - had
    return found if np.isfinite(found) else None
