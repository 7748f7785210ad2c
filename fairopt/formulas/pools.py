r"""Common tasks M_n and the objectives of (9) and (10) of kesidis2016, per machine of a row.

M_n = min over the user's pools of x[n,i]; (9) is sum_{n,i,r} alpha[n,i,r] / phi_n with alpha[n,i,r]
= x[n,i] d[n,r] / c[i,r], (10) is sum_n M_n / phi_n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairopt.formulas.pool_rows import machines
from fairopt.instance import Floats, Instance


def share_of_task(inst: Instance) -> Floats:
    """(N, I) what a task adds to the objective of (9): sum_r d[n,r] / (c[i,r] phi_n)."""
    found: Floats = inst.part_of_row().sum(axis=2) * inst.count / inst.weight[:, None]
    return found


def common_tasks(inst: Instance, tasks: Floats) -> Floats:
    """(N,) M_n, the fewest tasks on a machine of the user's pools."""
    there = machines(inst)
    each = np.where(there > 0, tasks / np.where(there > 0, there, 1.0), np.inf)
    found: Floats = each.min(axis=1)
    return found


def equal_level(inst: Instance) -> tuple[float, Floats]:
    """The largest M with phi_n M tasks of every user on every eligible machine; those x (N, I)."""
    once = inst.weight[:, None] * inst.eligible * inst.count
    use = np.einsum("ni,nir->ir", once, inst.part_of_row())
    level = 1.0 / max(float(use.max()), float((once.sum(axis=1) / inst.limit).max()))
    return level, level * once


def objective_9(
    inst: Instance, tasks: Floats, given: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]
) -> float | None:
    """The sum of all shares by weight; None of a free mix whose resources no step tells."""
    if given.get("mix", "demand") != "free":
        return float((share_of_task(inst) * tasks).sum())
    told = next((step for step in steps if step.get("step") == "any mix"), None)
    return None if told is None else _of_mix(inst, told["resources"])


def _of_mix(inst: Instance, held: Mapping[str, Mapping[str, Mapping[str, float]]]) -> float:
    """The sum of shares of resources {user: {server: {resource: amount}}} by weight."""
    total = 0.0
    for user, servers in held.items():
        weight = float(inst.weight[inst.users.index(user)])
        for server, resources in servers.items():
            i = inst.servers.index(server)
            for resource, amount in resources.items():
                total += amount / (float(inst.capacity[i, inst.resources.index(resource)]) * weight)
    return total


def objective_10(
    inst: Instance, tasks: Floats, given: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]
) -> float:
    """The sum of common tasks by weight."""
    return float((common_tasks(inst, tasks) / inst.weight).sum())


OBJECTIVES: dict[str, Callable[..., float | None]] = {"equal-m": objective_9, "sum-m": objective_10}
"""family -> objective of (instance, tasks, parameters, steps)"""
