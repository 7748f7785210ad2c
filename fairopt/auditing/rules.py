"""The rules that today's division breaks, each in one sentence with its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance

OVER = 1e-9
"""part of an amount by which it may be exceeded, as both numbers are rounded"""


@dataclass(frozen=True)
class Broken:
    """One rule that is broken: what `rule`, of `whom`, `found` and `allowed` amounts."""

    rule: str
    whom: str
    found: float
    allowed: float

    def __str__(self) -> str:
        return WORDS[self.rule].format(
            whom=self.whom, found=f"{self.found:.6g}", allowed=f"{self.allowed:.6g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the sentence."""
        return {
            "rule": self.rule,
            "whom": self.whom,
            "found": self.found,
            "allowed": self.allowed,
            "words": str(self),
        }


WORDS = {
    "capacity": "{whom}: {found} in use, {allowed} there",
    "placement": "{whom}: {found} tasks held where they may not run",
    "limit": "{whom}: {found} tasks run, {allowed} allowed",
    "ceiling": "{whom}: {found} in use, at most {allowed} allowed",
    "borrowing": "{whom}: {found} in use, at most {allowed} with all it may borrow",
    "rule most": "rule {whom}: {found} counted, at most {allowed} allowed",
    "rule least": "rule {whom}: {found} counted, at least {allowed} asked",
    "guarantee": "{whom}: holds {found}, {allowed} guaranteed",
}


def broken(instance: Instance, way_tasks: Floats, share: Floats, floor: Floats) -> list[Broken]:
    """Every rule that tasks (K, I) by way break: the cluster's, and those of one's own.

    Parameters
    ----------
    share, floor : (N,) what users hold and what their guarantees come to, in the same measure.
    """
    ways = instance.ways
    fits = np.where(ways.eligible, way_tasks, 0.0)
    found = []
    for n, i in np.argwhere(ways.running(way_tasks - fits) > 0):
        stray = float(ways.running(way_tasks - fits)[n, i])
        found.append(
            Broken("placement", f"{instance.users[n]} on {instance.servers[i]}", stray, 0.0)
        )
    used = ways.used(way_tasks)
    for i, r in np.argwhere(used > instance.pool * (1 + OVER)):
        whom = f"{instance.resources[r]} of {instance.servers[i]}"
        found.append(Broken("capacity", whom, float(used[i, r]), float(instance.pool[i, r])))
    running = ways.running(way_tasks).sum(axis=1)
    for n in np.flatnonzero(running > instance.limit * (1 + OVER)):
        found.append(
            Broken("limit", instance.users[n], float(running[n]), float(instance.limit[n]))
        )
    if instance.limit_on is not None:
        placed = ways.running(way_tasks)
        for n, i in np.argwhere(placed > instance.limit_on * (1 + OVER)):
            whom = f"{instance.users[n]} on {instance.servers[i]}"
            allowed = float(instance.limit_on[n, i])
            found.append(Broken("limit", whom, float(placed[n, i]), allowed))
    found += _quotas(instance, way_tasks)
    for row in instance.own_rows:
        counted, size = row.held(way_tasks)
        some = OVER * (abs(row.amount) + size)
        if row.up and counted > row.amount + some:
            found.append(Broken("rule most", row.name, counted, row.amount))
        if row.down and counted < row.amount - some:
            found.append(Broken("rule least", row.name, counted, row.amount))
    for n in np.flatnonzero(share < floor * (1 - OVER)):
        found.append(Broken("guarantee", instance.users[n], float(share[n]), float(floor[n])))
    return found


def _quotas(instance: Instance, way_tasks: Floats) -> list[Broken]:
    """Ceilings exceeded, and nodes that use more than they have and may borrow."""
    tree = instance.tree
    if not len(tree.bounds) and not tree.quotas:
        return []
    use = instance.ways.taken(way_tasks)
    found = []
    bounds = tree.bounds
    for b in range(len(bounds)):
        members = use[tree.below(int(bounds.node[b]))]
        amount = float(members[:, bounds.servers[b], bounds.resource[b]].sum())
        if amount > bounds.amount[b] * (1 + OVER):
            whom = _named(instance, int(bounds.node[b]), int(bounds.resource[b]), bounds.flavor[b])
            found.append(Broken("ceiling", whom, amount, float(bounds.amount[b])))
    for quota in tree.quotas:
        own = np.zeros(len(tree.nodes))
        own[tree.leaf] = use[:, quota.servers, quota.resource].sum(axis=1)
        left = quota.nominal - own  # then what children pass up, at most what they may lend
        for node in range(len(tree.nodes) - 1, -1, -1):
            least = -float(quota.borrow[node]) if node else 0.0
            if left[node] < least - OVER * (1 + own.sum()):
                inside = float(own[tree.leaf[tree.below(node)]].sum())
                whom = _named(instance, node, quota.resource, quota.flavor)
                missing = float(least - left[node])
                found.append(Broken("borrowing", whom, inside, inside - missing))
            if node:
                left[tree.parent[node]] += min(left[node], quota.lend[node])
    return found


def _named(instance: Instance, node: int, resource: int, flavor: str | None) -> str:
    where = f" on {flavor}" if flavor else ""
    whom = instance.tree.nodes[node] or "everybody"
    return f"{instance.resources[resource]} of {whom}{where}"
