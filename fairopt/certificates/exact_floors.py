"""Floors in fractions: a guarantee of 4 cores of 40 is a tenth of them, not the float next to it.

Guarantees that fill a server just so would ask for a last digit more than there is else. A floor
that comes of dividing the bundle of a group is the float that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.entitled import Entitled
from fairopt.instance import Floats

SAME = 1e-12
"""part by which a float may be off a floor in fractions"""


def exact_floors(
    alloc: Allocation, asked: Entitled, best: Sequence[Fraction | None]
) -> list[Fraction]:
    """(N,) the least share of each.

    Parameters
    ----------
    best : of each user what a task is worth where it is worth most; None of whom rules shut out.
    """
    inst, tree = alloc.instance, alloc.instance.tree
    found = [Fraction(v) for v in asked.floor.tolist()]
    tasks: list[list[Fraction]] = [[] for _ in found]
    for n in np.flatnonzero(asked.floor).tolist():
        most = (float(tree.own_tasks[n]), float(inst.limit[n]))
        tasks[n] = [Fraction(v) for v in most if 0 < v < np.inf]
    for n, demand, amount in _bundles(alloc):
        parts = zip(demand.tolist(), amount.tolist(), strict=True)
        each = [Fraction(a) / Fraction(d) for d, a in parts if d > 0 and not np.isnan(a)]
        tasks[n] += [min(each)] if each else []
    for n, each in enumerate(tasks):
        unit = best[n]
        for share in [x * unit for x in each] if unit else ():
            if abs(share - found[n]) <= SAME * found[n]:
                found[n] = share
                break
    return found


def _bundles(alloc: Allocation) -> list[tuple[int, Floats, Floats]]:
    """Of each bundle of a user, or of a group of one, whose tasks are everywhere the same: who,
    what a task takes, and amounts (R,), NaN where none is named."""
    inst, rows = alloc.instance, alloc.instance.tree.guarantees
    if inst.demand.ndim > 2 or inst.modes is not None:
        return []
    parent, members = inst.tree.parent.tolist(), dict[int, list[int]]()
    for n, node in enumerate(inst.tree.leaf.tolist()):
        while node >= 0:
            members.setdefault(node, []).append(n)
            node = parent[node]
    owner = {node: mine[0] for node, mine in members.items() if len(mine) == 1}
    amounts = dict[tuple[int, bytes], Floats]()
    for b in range(len(rows)):
        key = int(rows.node[b]), rows.servers[b].tobytes()
        amount = amounts.setdefault(key, np.full(inst.shape[2], np.nan))
        amount[rows.resource[b]] = rows.amount[b]
    return [
        (owner[node], inst.demand[owner[node]], amount)
        for (node, _), amount in amounts.items()
        if node in owner
    ]


__all__ = ["exact_floors"]
