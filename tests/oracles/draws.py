"""Small random instances with trees, guarantees, ceilings, lending, priorities; whole numbers."""

from __future__ import annotations

import numpy as np

import fairopt as fo


def draw(rng: np.random.Generator, users: int = 5) -> fo.Instance:
    """An instance of 2 to `users` users on up to 3 servers; its guarantees may not fit."""
    n, i, r = int(rng.integers(2, users + 1)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    demand = rng.integers(0, 4, (n, r))
    demand[np.arange(n), rng.integers(0, r, n)] = rng.integers(1, 4, n)
    capacity = rng.integers(4, 25, (i, r))
    placement = rng.random((n, i)) < 0.75
    placement[np.arange(n), rng.integers(0, i, n)] = True
    limit = np.where(rng.random(n) < 0.25, rng.integers(1, 6, n), np.inf)
    names = [f"u{k}" for k in range(n)]
    return fo.Instance(
        demand,
        capacity,
        placement,
        rng.choice([1, 1, 1, 2, 3], n),
        limit,
        users=names,
        resources=["cpu", "gpu"][:r],
        quotas=quotas(rng, names, ["cpu", "gpu"][:r], i, capacity),
    )


def quotas(rng, users, resources, servers, capacity) -> fo.Quotas:
    """Groups, and each kind of rule now and then."""
    groups = []
    for k in range(int(rng.integers(0, 4))):
        above = [None, *(g.name for g in groups if g.parent is None)]
        groups.append(fo.Group(f"g{k}", above[rng.integers(len(above))], float(rng.integers(1, 4))))
    tops = [None, *(g.name for g in groups)]
    inside = {user: tops[rng.integers(len(tops))] for user in users}
    inside = {user: group for user, group in inside.items() if group}
    members = [*users, *(g.name for g in groups)]
    flavors = {"f": [f"s{k + 1}" for k in range(servers) if k % 2 == 0]}
    total = capacity.sum(axis=0)

    def some(part):
        return [(m, k) for m in members for k in range(len(resources)) if rng.random() < part]

    def flavor():
        return "f" if rng.random() < 0.3 else None

    guarantees = [
        fo.Guarantee(m, resources[k], float(rng.integers(0, 1 + total[k] // 4)))
        for m, k in some(0.2 * (rng.random() < 0.6))
    ]
    bounds = [
        fo.Bound(m, resources[k], float(rng.integers(1, 1 + total[k])), flavor())
        for m, k in some(0.2 * (rng.random() < 0.6))
    ]
    lent = []
    if rng.random() < 0.4:
        k, kind = int(rng.integers(len(resources))), flavor()
        for m in members:
            if rng.random() < 0.5:
                borrow, lend = (
                    float(rng.integers(0, 8)) if rng.random() < 0.5 else np.inf for _ in range(2)
                )
                nominal = float(rng.integers(0, 1 + total[k] // 2))
                lent.append(fo.Quota(m, resources[k], nominal, borrow, lend, kind))
    priority = {u: int(rng.integers(0, 2)) for u in users} if rng.random() < 0.25 else {}
    return fo.Quotas(groups, inside, guarantees, bounds, lent, flavors, priority=priority)


HONEST = (
    "no guarantees",
    "bundles",
    "bundles, above",
    "ceilings",
    "tree, dominant",
    "tree, sum",
    "tree, ceilings, dominant",
    "tree, bundles, dominant",
    "tree, bundles, sum",
)
KINDS = (
    *HONEST,
    "bundles of some resources",
    "bundles of some resources, above",
    "guarantees in tasks",
)
"""what `one_pool` draws; under those of HONEST no lie about demand is known to pay"""


def tree(rng: np.random.Generator) -> fo.Instance:
    """Up to seven users of one pool in a tree, with weights."""
    return _pool(rng, int(rng.integers(2, 8)), np.full(int(rng.integers(1, 4)), 60), groups=True)


def one_pool(rng: np.random.Generator, kind: str) -> fo.Instance:
    """Up to five users of one pool, with what the words of `kind` say."""
    users, resources = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    return _pool(rng, users, rng.integers(8, 40, resources), "tree" in kind, kind)


def _pool(rng, users, capacity, groups, kind="") -> fo.Instance:
    demand = rng.integers(0, 5, (users, len(capacity))).astype(float)
    demand[np.arange(users), rng.integers(0, len(capacity), users)] = rng.integers(1, 5, users)
    names, resources = [f"u{k}" for k in range(users)], [f"r{k}" for k in range(len(capacity))]
    inside, own = {}, []
    for k in range(int(rng.integers(1, 4)) if groups else 0):
        above = [None, *(g.name for g in own)]
        own.append(fo.Group(f"g{k}", above[rng.integers(len(above))], float(rng.integers(1, 4))))
    if own:
        inside = {u: f"g{rng.integers(len(own))}" for u in names if rng.random() < 0.8}
    members = [*names, *(g.name for g in own)]

    def some(part, least, most, whole=False):
        return [
            (m, resources[k], float(capacity[k] * rng.uniform(least, most)))
            for m in members
            for own in [rng.random() < part]
            for k in range(len(resources))
            if (own if whole else rng.random() < part)
        ]

    whole = "of some" not in kind
    bundles = some(0.4, 0, 0.5 / users, whole) if "bundles" in kind else []
    ceilings = some(0.25, 0.2, 0.8) if "ceilings" in kind else []
    tasks = {u: float(rng.integers(0, 3)) for u in names} if "in tasks" in kind else {}
    given = fo.Quotas(
        own,
        inside,
        [fo.Guarantee(*row) for row in bundles],
        [fo.Bound(*row) for row in ceilings],
        guarantee_tasks=tasks,
    )
    limit = np.where(rng.random(users) < 0.2, rng.integers(1, 5, users), np.inf)
    return fo.Instance(
        demand,
        capacity[None, :],
        weight=rng.choice([1, 1, 2, 3], users),
        limit=None if not kind else limit,
        users=names,
        resources=resources,
        quotas=given,
    )


def jumping(rng: np.random.Generator) -> fo.Instance:
    """A group in which some fill the GPUs and others, on CPUs, go on: their targets jump then."""
    few, more, out = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    users, inside, servers = few + more + out, few + more, int(rng.integers(1, 3))
    demand = np.zeros((users, 2))
    demand[:few, 0] = rng.integers(1, 4, few)
    demand[:few, 1] = rng.random(few) < 0.2
    demand[few:, 1] = rng.integers(1, 4, more + out)
    capacity = np.stack([rng.integers(4, 16, servers), rng.integers(20, 90, servers)], axis=1)
    limit = np.full(users, np.inf)
    limit[inside:] = rng.integers(3, 15, out)
    limit[:inside] = np.where(rng.random(inside) < 0.3, rng.integers(1, 6, inside), np.inf)
    placement = rng.random((users, servers)) < 0.8
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    names = [f"u{k}" for k in range(users)]
    groups = [fo.Group("g0", None, float(rng.integers(1, 4)))]
    member = dict.fromkeys(names[:inside], "g0")
    if rng.random() < 0.5:
        groups.append(fo.Group("g1", "g0", float(rng.integers(1, 4))))
        member.update({k: "g1" for k in names[:inside] if rng.random() < 0.5})
    promised = [
        fo.Guarantee(user, resource, float(rng.integers(0, 3)))
        for user in names
        for resource in ("gpu", "cpu")
        if rng.random() < 0.03
    ]
    return fo.Instance(
        demand,
        capacity,
        placement,
        rng.choice([1, 1, 2, 3], users),
        limit,
        users=names,
        resources=["gpu", "cpu"],
        quotas=fo.Quotas(groups, member, promised),
    )


def how(rng, inst) -> dict:
    """A criterion, a measure and an `over`, as the oracle takes them."""
    criterion = str(rng.choice(["tasks", "drf"]))
    measure = str(rng.choice(["sum", "dominant"]))
    return {"criterion": criterion, "measure": measure, "above": bool(rng.random() < 0.3)}


def notion(how: dict) -> fo.MaxMin:
    """The notion of these settings."""
    over = "above" if how["above"] else "floor"
    return fo.MaxMin(how["criterion"], measure=how["measure"], over=over)
