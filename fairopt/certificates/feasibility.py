"""Feasibility of an allocation, each kind of violation with its worst place named."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.check import Check
from fairopt.instance import Floats

TOLERANCE = 1e-9
"""a capacity or limit may be exceeded by one part in 1e9 (promise P1)"""


def feasibility(alloc: Allocation) -> tuple[Check, ...]:
    """Checks of x >= 0, placement, capacity and limits (kesidis2018 (1), (4))."""
    inst, x = alloc.instance, alloc.tasks
    alone = np.where(inst.eligible, inst.alone, 1.0)
    negative = np.where(inst.eligible, -x / alone, 0.0)
    stray = np.where(inst.eligible, 0.0, np.abs(x))
    over = alloc.utilisation - 1.0
    # a resource that the row has none of: any use at all is too much
    over = np.where((inst.pool == 0) & (alloc.used > 0), np.inf, over)
    beyond = alloc.totals / inst.limit - 1.0
    users, servers, resources = inst.users, inst.servers, inst.resources
    return (
        Check.of("tasks >= 0", max(0.0, float(negative.max())), 0.0, _at(negative, users, servers)),
        Check.of("placement", float(stray.max()), 0.0, _at(stray, users, servers)),
        Check.of("capacity", max(0.0, float(over.max())), TOLERANCE, _at(over, servers, resources)),
        Check.of("limit", max(0.0, float(beyond.max())), TOLERANCE, _at(beyond, users)),
    )


def shrink(alloc: Allocation) -> float:
    """Largest factor <= 1 by which every task must shrink to fit capacities and limits.

    Negative or stray tasks are not mended by shrinking; 0 is returned when a resource is used
    that the row has none of.
    """
    inst = alloc.instance
    if ((inst.pool == 0) & (alloc.used > 0)).any():
        return 0.0
    over = max(float(alloc.utilisation.max()), float((alloc.totals / inst.limit).max()))
    return 1.0 if over <= 1.0 else 1.0 / over


def _at(amount: Floats, *names: tuple[str, ...]) -> str:
    """The place of the largest entry, in words; empty when nothing is amiss."""
    where = np.unravel_index(int(np.argmax(amount)), amount.shape)
    if not amount[where] > 0:
        return ""
    return " at ".join(name[k] for name, k in zip(names, where, strict=True))
