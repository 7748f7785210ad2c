"""An instance as notebooks show it."""

from __future__ import annotations

import numpy as np

from fairopt import markup
from fairopt.instance.fields import Fields

RESOURCES = 8
"""most resources with a column"""


def html(inst: Fields, title: str) -> str:
    """Tables of users and servers; of a large instance the first rows."""
    users, servers, resources = inst.shape
    shown = inst.resources[:RESOURCES]
    extra: list[tuple[str, list[object]]] = []
    if (inst.weight != 1).any():
        extra.append(("weight", inst.weight.tolist()))
    if np.isfinite(inst.limit).any():
        extra.append(("limit", inst.limit.tolist()))
    demand = inst.demand if inst.demand.ndim == 2 else inst.demand[:, 0]
    rows = (
        [
            name,
            *(values[n] for _, values in extra),
            *demand[n, : len(shown)].tolist(),
            f"{np.count_nonzero(inst.eligible[n])} of {servers}",
        ]
        for n, name in enumerate(inst.users)
    )
    machines = (
        [name, int(inst.count[i]), *inst.capacity[i, : len(shown)].tolist()]
        for i, name in enumerate(inst.servers)
    )
    of = "demand of a task" if inst.demand.ndim == 2 else f"demand of a task on {inst.servers[0]}"
    more = f" (the first {RESOURCES} of {resources} resources)" if resources > RESOURCES else ""
    return markup.block(
        markup.line(title),
        markup.table(
            f"Users: {of}{more}",
            ["user", *(name for name, _ in extra), *shown, "servers"],
            rows,
            users,
        ),
        markup.table(
            f"Servers: capacity of a machine{more}",
            ["server", "machines", *shown],
            machines,
            servers,
        ),
    )


__all__ = ["html"]
