"""Random small clusters with groups, guarantees, ceilings, quotas, priorities and modes."""

from __future__ import annotations

import numpy as np

import fairopt as fo


def drawn(seed: int, what: str = "tree floor bound quota priority limit") -> fo.Instance:
    """A cluster of 2 to 7 users on 1 to 3 servers; `what` lists what it may have besides."""
    rng = np.random.default_rng(seed)
    n, i, r = int(rng.integers(2, 8)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    users = [f"u{k}" for k in range(n)]
    servers, resources = [f"s{k}" for k in range(i)], [f"r{k}" for k in range(r)]
    demand = rng.integers(0, 4, (n, r)).astype(float)
    demand[np.arange(n), rng.integers(0, r, n)] += 1
    capacity = rng.integers(5, 30, (i, r)).astype(float)
    placement = rng.random((n, i)) < 0.7
    placement[np.arange(n), rng.integers(0, i, n)] = True
    limit = np.where(rng.random(n) < 0.3 * ("limit" in what), rng.integers(1, 10, n), np.inf)
    groups, of = [], {}
    if "tree" in what:
        for k in range(int(rng.integers(1, 5))):
            parent = None if k == 0 or rng.random() < 0.4 else f"g{rng.integers(0, k)}"
            groups.append(fo.Group(f"g{k}", parent, float(rng.integers(1, 4))))
        of = {user: f"g{rng.integers(0, len(groups))}" for user in users if rng.random() < 0.8}
    members = [*users, *(g.name for g in groups)]
    more: dict = {"groups": groups, "group": of}

    def some(count: int) -> list[str]:
        return list(rng.choice(members, min(count, len(members)), replace=False))

    name = str(rng.choice(resources))
    if "floor" in what:
        more["guarantees"] = [
            fo.Guarantee(m, name, float(rng.integers(1, 4))) for m in some(int(rng.integers(0, 3)))
        ]
    if "bound" in what:
        more["bounds"] = [
            fo.Bound(m, name, float(rng.integers(4, 15))) for m in some(int(rng.integers(0, 3)))
        ]
    if "quota" in what and rng.random() < 0.6:
        more["quotas"] = [
            fo.Quota(
                m,
                name,
                float(rng.integers(3, 12)),
                float(rng.choice([0, 2, np.inf])),
                float(rng.choice([0, 3, np.inf])),
            )
            for m in some(int(rng.integers(1, 4)))
        ]
    if "priority" in what and rng.random() < 0.5:
        more["priority"] = {user: int(rng.integers(0, 2)) for user in users}
    modes = None
    if "mode" in what:
        modes = {
            users[0]: [
                fo.Mode("a", demand[0].tolist()),
                fo.Mode("b", (demand[0] * rng.uniform(0.3, 2, r)).tolist(), 0.5),
            ]
        }
    return fo.Instance(
        demand,
        capacity,
        placement,
        rng.integers(1, 4, n).astype(float),
        limit,
        users=users,
        servers=servers,
        resources=resources,
        quotas=fo.Quotas(**more),
        modes=modes,
    )
