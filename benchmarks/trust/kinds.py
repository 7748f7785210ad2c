"""What is made of an instance: nearly parallel rows, rows just full, rules that bind or do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import fairopt as fo

SLACK = (0.0, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8)
FAR = 99.0
"""a ceiling of so many times all that there is"""


def hard(
    rng: np.random.Generator, inst: fo.Instance, kind: str, alpha: float, inside: bool
) -> fo.Instance:
    """One server. "parallel": rows at an angle of 1e-1.5 to 1e-7, both near to being full. "just
    full": r1 is used up to nothing, or up to 1e-8, at the answer of r0 alone, and has no price."""
    users = len(inst.users)
    demand = np.repeat(rng.uniform(0.1, 1.0, (users, 1)), 2, axis=1)
    demand *= inst.demand.max(axis=1, keepdims=True)
    if kind == "parallel" or rng.random() < 0.5:
        demand[:, 1] *= 1 + 10.0 ** rng.uniform(-7, -1.5) * rng.uniform(-1, 1, users)
    else:
        demand[:, 1] *= rng.uniform(0.1, 2.0, users)
    power = 1.0 if inside or np.isinf(alpha) else 1 / max(alpha, 0.1)
    paid = 0.0 if np.isinf(alpha) else 1 / max(alpha, 0.1)
    log_tasks = power * np.log(inst.weight) - paid * np.log(demand[:, 0])
    tasks = np.exp(log_tasks - log_tasks.max())
    tasks /= tasks @ demand[:, 0]
    used = float(tasks @ demand[:, 1])
    if kind == "parallel":
        # between what r1 must have to be free, and what makes r0 free
        ratio = demand[:, 1] / demand[:, 0]
        capacity = used + (ratio.mean() - used) * rng.uniform(-1, 2)
    else:
        capacity = used * (1 + float(rng.choice(SLACK)))
    return fo.Instance(demand, [[1.0, capacity]], weight=inst.weight, limit=inst.limit)


def bounding_nobody(rng: np.random.Generator, inst: fo.Instance, fair: bool) -> fo.Instance:
    """A ceiling far above everything; or, under alpha-fairness, a group that weighs what its
    members do, or a quota that may be lent and borrowed at will."""
    users, resources = inst.users, inst.resources
    how = int(rng.integers(3)) if fair else 0
    r = int(rng.integers(len(resources)))
    total = float(inst.pool[:, r].sum())
    if how == 0:
        most = FAR * max(total, 1.0)
        user = users[int(rng.integers(len(users)))]
        rules = fo.Quotas(bounds=[fo.Bound(user, resources[r], most)])
    elif how == 1:
        inside = [n for n in range(len(users)) if rng.random() < 0.6] or [0]
        weight = float(inst.weight[inside].sum())
        rules = fo.Quotas([fo.Group("g", weight=weight)], {users[n]: "g" for n in inside})
    else:
        rules = fo.Quotas(quotas=[fo.Quota(users[0], resources[r], total)])
    return inst.replace(quotas=rules)


def ruled(rng: np.random.Generator, inst: fo.Instance) -> fo.Instance:
    """Groups, ceilings that bind now and then, lending, guarantees in tasks that fit."""
    users, resources, total = inst.users, inst.resources, inst.pool.sum(axis=0)
    groups = [
        fo.Group(f"g{k}", weight=float(rng.uniform(0.5, 3))) for k in range(int(rng.integers(3)))
    ]
    inside = {
        user: f"g{int(rng.integers(len(groups)))}"
        for user in users
        if groups and rng.random() < 0.7
    }
    members = [*users, *(g.name for g in groups)]

    def part() -> float:
        return float(rng.uniform(0.05, 0.8))

    bounds = [
        fo.Bound(m, resources[r], part() * float(total[r]))
        for m in members
        for r in range(len(resources))
        if rng.random() < 0.2
    ]
    lent = []
    if rng.random() < 0.4:
        r = int(rng.integers(len(resources)))
        ends = lambda: part() * float(total[r]) if rng.random() < 0.4 else np.inf  # noqa: E731
        lent = [
            fo.Quota(m, resources[r], float(total[r]) / len(members), ends(), ends())
            for m in members
            if rng.random() < 0.8
        ]
    held = {}
    if rng.random() < 0.3 and not bounds and not lent:
        alone = np.minimum(inst.alone.max(axis=1), inst.limit)
        held = {
            user: part() * float(alone[n]) / len(users)
            for n, user in enumerate(users)
            if rng.random() < 0.5
        }
    rules = fo.Quotas(groups, inside, bounds=bounds, quotas=lent, guarantee_tasks=held)
    return inst.replace(quotas=rules or None)


def in_classes(rng: np.random.Generator, inst: fo.Instance) -> fo.Instance:
    """Users of two or three priority classes, whatever else is asked of them."""
    of = rng.integers(0, int(rng.integers(2, 4)), len(inst.users))
    of[: int(of.min() == of.max())] += 1
    given = inst.quotas or fo.Quotas()
    priority = {user: int(rank) for user, rank in zip(inst.users, of, strict=True) if rank}
    return inst.replace(quotas=replace(given, priority=priority))


def in_modes(rng: np.random.Generator, inst: fo.Instance) -> fo.Instance:
    """Some users may run a task in a second way, cheaper or dearer, slower or faster."""
    modes = {}
    for n, user in enumerate(inst.users):
        if rng.random() < 0.7:
            other = inst.demand[n] * rng.uniform(0.3, 2.0, len(inst.resources))
            speed = float(rng.uniform(0.3, 1.5))
            modes[user] = [fo.Mode("one"), fo.Mode("two", tuple(other.tolist()), speed)]
    return inst.replace(modes=modes) if modes else inst


def changed(rng: np.random.Generator, inst: fo.Instance) -> fo.Instance:
    """The instance before a change: another weight, demand or capacity."""
    n = int(rng.integers(len(inst.users)))
    factor = float(10.0 ** rng.uniform(-1, 1))
    what = int(rng.integers(3))
    if what == 0:
        weight = inst.weight.copy()
        weight[n] *= factor
        return inst.replace(weight=weight)
    if what == 1:
        demand = inst.demand.copy()
        demand[n] *= factor
        return inst.replace(demand=demand)
    return inst.replace(capacity=inst.capacity * factor)


def everything(rng: np.random.Generator, inst: fo.Instance) -> fo.Instance:
    """Whatever goes together: modes, limits on servers, shares already had, a tree with ceilings
    and lending, rules of one's own that a point within keeps, a user of next to no weight."""
    users, servers, resources = inst.shape
    if rng.random() < 0.4:
        inst = in_modes(rng, inst)
    if rng.random() < 0.5:
        inst = inst.replace(quotas=_tree(rng, inst))
    alone = np.where(inst.eligible, np.minimum(inst.alone, inst.limit[:, None]), 0.0)
    if rng.random() < 0.5:
        some = inst.eligible & (rng.random((users, servers)) < 0.4)
        most = alone * 10.0 ** rng.uniform(-4, 0.3, (users, servers))
        inst = inst.replace(limit_on=np.where(some, most, np.inf))
    if rng.random() < 0.5:
        had = alone.max(axis=1) * 10.0 ** rng.uniform(-8, 1, users)
        inst = inst.replace(start=np.where(rng.random(users) < 0.5, had, 0.0))
    if rng.random() < 0.5:
        inst = inst.replace(rules=_own(rng, inst, alone))
    if rng.random() < 0.3:
        weight = inst.weight.copy()
        weight[int(rng.integers(users))] *= 1e-12
        inst = inst.replace(weight=weight)
    return inst


def _tree(rng: np.random.Generator, inst: fo.Instance) -> fo.Quotas:
    """Groups within groups, ceilings of some and a quota lent among all, nobody guaranteed."""
    total, name = inst.pool.sum(axis=0), str(rng.choice(inst.resources))
    groups = [fo.Group("a", weight=float(rng.uniform(0.5, 3))), fo.Group("b", "a"), fo.Group("c")]
    inside = {user: str(rng.choice(["a", "b", "c"])) for user in inst.users if rng.random() < 0.8}
    members = [*inst.users, "a", "b", "c"]
    amount = float(total[inst.resources.index(name)])
    bounds = [
        fo.Bound(m, name, amount * rng.uniform(0.02, 1)) for m in members if rng.random() < 0.3
    ]
    lent = [
        fo.Quota(m, name, amount / len(members), float(rng.choice([0, amount / 9, np.inf])))
        for m in inst.users
        if rng.random() < 0.3 and bounds == []
    ]
    return fo.Quotas(groups, inside, bounds=bounds, quotas=lent)


def _own(rng: np.random.Generator, inst: fo.Instance, alone: np.ndarray) -> list[fo.Rule]:
    """Rules that hold at a point where everybody has a small part of what it could have alone."""
    most = np.inf if inst.limit_on is None else inst.limit_on
    point = np.minimum(alone, most) * 1e-3 / len(inst.users)
    found = []
    for k in range(int(rng.integers(1, 3))):
        times = rng.uniform(0.5, 3.0, point.shape) / np.where(alone > 0, alone, 1.0)
        times *= inst.eligible & (rng.random(point.shape) < 0.6)
        times *= rng.choice([-1.0, 1.0], point.shape) if rng.random() < 0.4 else 1.0
        here = float((times * point).sum())
        if not times.any():
            continue
        room = float(10.0 ** rng.uniform(-2, 0))
        if rng.random() < 0.7:
            found.append(fo.Rule.of(f"rule {k}", times, most=here + room))
        elif (times >= 0).all():
            found.append(fo.Rule.of(f"rule {k}", times, least=here / 2))
        else:
            found.append(fo.Rule.of(f"rule {k}", times, least=here - room))
    return found
