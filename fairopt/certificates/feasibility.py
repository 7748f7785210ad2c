"""Feasibility of an allocation; for each kind of violation the worst place is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.certificates.tolerance import FEASIBLE
from fairopt.instance import Floats


def feasibility(alloc: Allocation) -> tuple[Check, ...]:
    """Checks of x >= 0, placement, capacity and limits (Kesidis et al. 2018, (1) and (4))."""
    inst = alloc.instance
    least, least_at = _worst(alloc, _negative) if alloc.least < 0 else (0.0, "")
    stray, stray_at = _worst(alloc, _stray) if alloc.strays else (0.0, "")
    over = alloc.utilisation - 1.0
    # any use of a resource that the row does not have is too much
    over = np.where((inst.pool == 0) & (alloc.used > 0), np.inf, over)
    beyond = alloc.totals / inst.limit - 1.0
    return (
        Check.of("tasks >= 0", least, 0.0, least_at),
        Check.of("placement", stray, 0.0, stray_at),
        _at_most("capacity", over, inst.servers, inst.resources),
        _at_most("limit", beyond, inst.users),
    )


def _at_most(name: str, over: Floats, *names: tuple[str, ...]) -> Check:
    """That nothing is overrun by more than the tolerance; the worst place if anything is."""
    top = float(over.max())
    return Check.of(name, max(0.0, top), FEASIBLE, "" if top <= 0 else _at(over, *names))


def _negative(alloc: Allocation, users: slice) -> Floats:
    """(users, I) tasks below 0, as a part of what the user could have alone."""
    inst = alloc.instance
    eligible = inst.eligible[users]
    return np.where(eligible, -alloc.tasks[users] / np.where(eligible, inst.alone[users], 1.0), 0.0)


def _stray(alloc: Allocation, users: slice) -> Floats:
    """(users, I) tasks where the user is not eligible."""
    return np.where(alloc.instance.eligible[users], 0.0, np.abs(alloc.tasks[users]))


def _worst(alloc: Allocation, amount: Callable[[Allocation, slice], Floats]) -> tuple[float, str]:
    """The largest amount of any user on any server, at least 0, and its place in words."""
    inst = alloc.instance
    worst, place = 0.0, ""
    for users in inst.blocks():
        found = amount(alloc, users)
        largest = float(found.max())
        if largest > worst:
            worst, place = largest, _at(found, inst.users[users], inst.servers)
    return worst, place


def shrink(alloc: Allocation) -> float:
    """Largest factor <= 1 by which all tasks must be multiplied to fit capacities and limits.

    0 if a resource is used that the row does not have. Tasks that are negative, or where the user
    is not eligible, are not looked at.
    """
    inst = alloc.instance
    if ((inst.pool == 0) & (alloc.used > 0)).any():
        return 0.0
    over = max(float(alloc.utilisation.max()), float((alloc.totals / inst.limit).max()))
    return 1.0 if over <= 1.0 else 1.0 / over


def _at(amount: Floats, *names: tuple[str, ...]) -> str:
    """The place of the largest entry, in words; empty if no entry is positive."""
    where = np.unravel_index(int(np.argmax(amount)), amount.shape)
    if not amount[where] > 0:
        return ""
    return " at ".join(name[k] for name, k in zip(names, where, strict=True))
