r"""Conditions of notions that are a theorem on bottlenecks rather than a program.

khamse2016 (8) and Theorem 1: with the virtual dominant share s[n,i] = x_n / gamma[n,i] of ALL tasks
of n, a resource r is a bottleneck of user n at server i if n demands it, it is full there, and
every holder m has s[m,i]/phi_m <= s[n,i]/phi_n. RDM PS-DSF: everybody has one at every server that
it may use. DRF by server is the same with x[n,i]/gamma[n,i], the tasks on that server alone. BMF
(bonald2015 2.5) asks for a full resource of which nobody holds more, by weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.frames import clean
from fairopt.errors import UsageError
from fairopt.instance import Floats
from fairopt.kkt.table import ConditionsTable, named

SAME_LEVEL = 1e-6
"""levels nearer than this, relative, are equal, and a resource is full of which less is left"""


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """One table."""
    name = alloc.kind["name"]
    if name == "bmf":
        return (_largest(alloc),)
    inst = alloc.instance
    x = clean(alloc)
    everywhere = name == "ps-dsf"
    amount = np.broadcast_to(x.sum(axis=1)[:, None], x.shape) if everywhere else x
    share = amount / np.where(inst.eligible, inst.alone, np.inf)
    level = share / inst.weight[:, None]
    full, top = _rows(alloc, x, level)
    n, i = inst.pairs
    stops = [_stop(alloc, int(a), int(b), level, full, top) for a, b in zip(n, i, strict=True)]
    s = "s" if everywhere else "a"
    pairs = {
        **named(alloc),
        "gamma": inst.alone[n, i],
        s: share[n, i],
        f"{s}/phi": level[n, i],
        "bottleneck": [name for name, _ in stops],
        "largest there": [at for _, at in stops],
    }
    what = "x_n/gamma[n,i], x_n all tasks of n" if everywhere else "x[n,i]/gamma[n,i]"
    return (
        ConditionsTable(
            f"{s}[n,i] = {what}; gamma[n,i] what n could run there alone",
            f"a bottleneck is full, demanded, and the largest {s}/phi of its holders is at most "
            "the user's own",
            pairs,
            _held(alloc, full, top, f"largest {s}/phi"),
        ),
    )


def _rows(alloc: Allocation, x: Floats, level: Floats) -> tuple[Any, Floats]:
    """(I, R) whether the resource is full, and the largest level among those who hold it."""
    inst = alloc.instance
    holds = (x[:, :, None] > 0) & (inst.demand_by_server > 0)
    top = np.where(holds, level[:, :, None], 0.0).max(axis=0)
    return (inst.pool > 0) & (alloc.utilisation >= 1 - SAME_LEVEL), top


def _stop(
    alloc: Allocation, n: int, i: int, level: Floats, full: Any, top: Floats
) -> tuple[str, float | None]:
    """The bottlenecks of user n on server i, and the largest level of a holder of them."""
    inst = alloc.instance
    needs = full[i] & (inst.demand_by_server[n, i] > 0)
    found = np.flatnonzero(needs & (top[i] <= level[n, i] * (1 + SAME_LEVEL)))
    if len(found):
        return ", ".join(inst.resources[r] for r in found), float(top[i, found].max())
    if alloc.totals[n] >= inst.limit[n] * (1 - SAME_LEVEL):
        return "its limit", None
    return "none", float(top[i, needs].min()) if needs.any() else None


def _held(alloc: Allocation, full: Any, top: Floats, name: str) -> dict[str, Any]:
    inst = alloc.instance
    i, r = np.nonzero(inst.pool > 0)
    return {
        "server": [inst.servers[k] for k in i],
        "resource": [inst.resources[k] for k in r],
        "used": alloc.used[i, r],
        "capacity": inst.pool[i, r],
        "full": ["yes" if full[a, b] else "-" for a, b in zip(i, r, strict=True)],
        name: top[i, r],
    }


def _largest(alloc: Allocation) -> ConditionsTable:
    """BMF on one pool: every user's part of each resource, by weight."""
    inst = alloc.instance
    if len(inst.servers) != 1:
        raise UsageError(f"kkt: found {len(inst.servers)} servers under bmf; wanted one")
    part = inst.part_of_row()[:, 0] * alloc.totals[:, None] / inst.weight[:, None]
    top, full = part.max(axis=0), (inst.pool[0] > 0) & (alloc.utilisation[0] >= 1 - SAME_LEVEL)
    stops = []
    for n in range(len(inst.users)):
        own = full & (part[n] > 0) & (part[n] >= top * (1 - SAME_LEVEL))
        limited = alloc.totals[n] >= inst.limit[n] * (1 - SAME_LEVEL)
        names = ", ".join(inst.resources[r] for r in np.flatnonzero(own))
        stops.append(names or ("its limit" if limited else "none"))
    pairs = {
        **named(alloc),
        **{name: part[:, r] for r, name in enumerate(inst.resources)},
        "bottleneck": stops,
    }
    rows = _held(alloc, full[None], top[None], "largest")
    return ConditionsTable(
        "each user's part of each resource, over its weight",
        "a bottleneck is full, and nobody holds more of it, by weight, than the user",
        pairs,
        rows,
    )
