"""Floors in fractions: a guarantee of 4 cores of 40 is a tenth of them, not the float next to it.

Guarantees that fill a server just so would ask for a last digit more than there is else. A floor is
the largest of what is guaranteed in tasks, of the bundle of all servers, and of those of flavors
together, kept to the limit (`formulas.floors`): where all of that is one user's own, it is worked
out again, in fractions. What comes of dividing the bundle of a group is the float that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats

SAME_FLOOR = 1e-12
"""part by which a float is off the same in fractions, at most"""


def exact_floors(
    alloc: Allocation, floor: Floats, scores: Sequence[Sequence[Fraction]]
) -> list[Fraction]:
    """(N,) the least share of each, whose float is `floor` (N,), 0 where nothing is guaranteed.

    Parameters
    ----------
    scores : of each user those of its columns that no rule shuts.
    """
    inst, tree = alloc.instance, alloc.instance.tree
    found = [Fraction(v) for v in floor.tolist()]
    shared, bundles = _bundles(alloc)
    for n in np.flatnonzero(floor).tolist():
        mine = bundles.get(n, {})
        if not scores[n] or n in shared or (mine and min(scores[n]) < max(scores[n])):
            continue
        whole = [x for (every, _), x in mine.items() if every]
        parts = sum([x for (every, _), x in mine.items() if not every], Fraction(0))
        tasks = max(Fraction(float(tree.own_tasks[n])), parts, *whole)
        if np.isfinite(inst.limit[n]):
            tasks = min(tasks, Fraction(float(inst.limit[n])))
        share = tasks * max(scores[n])
        if abs(share - found[n]) <= SAME_FLOOR * found[n]:
            found[n] = share
    return found


def promised(alloc: Allocation) -> Floats:
    """(N,) the floats of floors that are weights, in proportion to guarantees; else 0."""
    given = alloc.kind["parameters"]
    if given.get("over") != "proportion":
        return np.zeros(len(alloc.instance.users))
    kind = {**alloc.kind, "parameters": {**given, "over": "floor"}}
    return entitled(alloc.instance, alloc.score, kind).floor


def _bundles(alloc: Allocation) -> tuple[set[int], dict[int, dict[tuple[bool, bytes], Fraction]]]:
    """Users in groups that have a bundle to divide, or whose tasks are not everywhere the same; of
    others the tasks that bundles of each flavor are, by whether that is everywhere."""
    inst, rows = alloc.instance, alloc.instance.tree.guarantees
    parent, members = inst.tree.parent.tolist(), dict[int, list[int]]()
    for n, node in enumerate(inst.tree.leaf.tolist()):
        while node >= 0:
            members.setdefault(node, []).append(n)
            node = parent[node]
    plain = inst.demand.ndim == 2 and inst.modes is None
    amounts = dict[tuple[int, bytes], dict[int, Fraction]]()
    for b in range(len(rows)):
        key = int(rows.node[b]), rows.servers[b].tobytes()
        amounts.setdefault(key, {})[int(rows.resource[b])] = Fraction(float(rows.amount[b]))
    shared, found = set[int](), dict[int, dict[tuple[bool, bytes], Fraction]]()
    for (node, servers), amount in amounts.items():
        mine = members.get(node, [])
        if not any(amount.values()):
            continue
        if len(mine) != 1 or not plain:
            shared.update(mine)
            continue
        demand = inst.demand[mine[0]].tolist()
        each = [v / Fraction(demand[r]) for r, v in amount.items() if demand[r] > 0]
        flavor = bool(np.frombuffer(servers, dtype=bool).all()), servers
        of = found.setdefault(mine[0], {})
        of[flavor] = max(of.get(flavor, Fraction(0)), min(each, default=Fraction(0)))
    return shared, found


__all__ = ["exact_floors", "promised"]
