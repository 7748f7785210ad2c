"""A row of a lowered system in words."""

from __future__ import annotations

from fairopt.formulas.lowered import BOUND, CAPACITY, LIMIT, PLACE, RULE, Lowered
from fairopt.instance import Instance


def row(instance: Instance, low: Lowered, m: int) -> str:
    """A row in words: "gpu on x", "the limit of A", "the ceiling of org: gpu"."""
    kind, one, two = int(low.kind[m]), int(low.one[m]), int(low.two[m])
    if kind == CAPACITY:
        return f"{instance.resources[two]} on {instance.servers[one]}"
    if kind == LIMIT:
        return f"the limit of {instance.users[one]}"
    if kind == RULE:
        return f"rule {instance.own_rows[one].name}"
    if kind == PLACE:
        return f"the limit of {instance.users[one]} on {instance.servers[two]}"
    tree = instance.tree
    if kind == BOUND:
        bounds = tree.bounds
        what = _where(instance.resources[bounds.resource[one]], bounds.flavor[one])
        return f"the ceiling of {tree.nodes[bounds.node[one]]}: {what}"
    quota = tree.quotas[one]
    what = _where(instance.resources[quota.resource], quota.flavor)
    return f"the quota of {tree.nodes[two] or 'all'}: {what}"


def _where(resource: str, flavor: str | None) -> str:
    return resource if flavor is None else f"{resource} on {flavor}"


__all__ = ["row"]
