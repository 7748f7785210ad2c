r"""Lending and borrowing by its own rule, node by node (Kueue's), and what node prices prove of it.

What is free at a node is its quota, less what its own users take, plus what its children pass up:

.. math:: T_v = nominal_v - use_v + \sum_{children} \min(lend_c, T_c), \qquad T_v \ge -borrow_v,
          \quad T_{root} \ge 0

Any prices pi >= 0 of the nodes, brought to the side that is finite (`finite`), bound what all users
pay at them (docs/maths/trees.md):

.. math:: \sum_v \pi_v use_v \le \sum_v \pi_v nominal_v + (\pi_v - \pi_{parent})^+ borrow_v
          + (\pi_{parent} - \pi_v)^+ lend_v
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats, Ints
from fairopt.instance.quotas.tree import QuotaRow

BELOW = 1 - 2.0**-50
"""part of a factor that is taken, so that rounding breaks nothing once more"""


@dataclass(frozen=True)
class Flow:
    """What is lent of one (flavor, resource).

    Parameters
    ----------
    free : (M,) T. up : (M,) what each node passes up; negative if it borrows, 0 of the root.
    taken : (M,) what the users below each node use. use : (M,) what its own users do.
    """

    free: Floats
    up: Floats
    taken: Floats
    use: Floats


def depths(parent: Ints) -> list[Ints]:
    """The nodes by depth, the children of the root first."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for v in range(1, len(parent)):  # parents come before children
        depth[v] = depth[parent[v]] + 1
    return [np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1)]


def flow(row: QuotaRow, parent: Ints, layers: list[Ints], use: Floats) -> Flow:
    """The flow when nodes themselves use (M,); only users use anything."""
    free, taken = row.nominal - use, use.copy()
    up = np.zeros(len(parent))
    for nodes in reversed(layers):
        up[nodes] = np.minimum(row.lend[nodes], free[nodes])
        np.add.at(free, parent[nodes], up[nodes])
        np.add.at(taken, parent[nodes], taken[nodes])
    return Flow(free, up, taken, use)


def fitting(row: QuotaRow, parent: Ints, layers: list[Ints], found: Flow) -> float:
    """A factor <= 1 by which all use may be multiplied so that no node borrows more than it may; 0
    if none does.

    What is free at a node is concave in all use: above the line from no use to this one. A node
    above one that borrows too much may be short for that alone, so it is looked at once that fits.
    """
    borrow = np.append(0.0, row.borrow[1:])
    factor, here = 1.0, found
    for left in reversed(range(len(layers) + 1)):
        missing = np.maximum(-here.free - borrow, 0.0)
        bad = missing > 0
        if not bad.any():
            break
        above = np.zeros(len(parent), dtype=bool)
        for nodes in reversed(layers):
            above[parent[nodes[bad[nodes] | above[nodes]]]] = True
        if left:
            bad &= ~above
        unused = flow(row, parent, layers, np.zeros(len(parent)))
        spare = unused.free[bad] + borrow[bad]
        factor *= float((spare / (spare + missing[bad])).min()) * BELOW
        here = flow(row, parent, layers, found.use * factor)
    return factor


def borrowed_too_much(row: QuotaRow, found: Flow) -> Floats:
    """(M,) how far each node is below what it may borrow, as a part of what is used below it."""
    borrow = row.borrow.copy()
    borrow[0] = 0.0
    beyond = np.maximum(-found.free - borrow, 0.0)
    return np.divide(beyond, found.taken, out=np.zeros_like(beyond), where=beyond > 0)


def finite(row: QuotaRow, parent: Ints, layers: list[Ints], price: Floats) -> Floats:
    """Node prices (M,) with a finite value: none above its parent's where borrowing is unlimited,
    none below where lending is."""
    found = price.copy()
    for nodes in layers:
        above = found[parent[nodes]]
        low = np.where(np.isinf(row.borrow[nodes]), np.minimum(found[nodes], above), found[nodes])
        found[nodes] = np.where(np.isinf(row.lend[nodes]), np.maximum(low, above), low)
    return found


def value(row: QuotaRow, parent: Ints, price: Floats) -> Floats:
    """(M,) the part of each node in the bound above, for finite prices."""
    step = drop(parent, price)
    part = price * row.nominal
    down, rise = step > 0, step < 0
    part[down] += step[down] * row.borrow[down]
    part[rise] -= step[rise] * row.lend[rise]
    return part


def unspent(row: QuotaRow, parent: Ints, price: Floats, found: Flow) -> Floats:
    """(M,) the bound less what is paid, as a sum of terms >= 0, so that no digits are lost.

    A node pays for what is free and not passed up, for what it could still borrow where that makes
    it dearer than its parent, and for what it could still lend where that makes it cheaper.
    """
    step = drop(parent, price)
    part = price * np.maximum(found.free - found.up, 0.0)
    down, rise = step > 0, step < 0
    part[down] += step[down] * np.maximum(row.borrow[down] + found.up[down], 0.0)
    part[rise] -= step[rise] * np.maximum(row.lend[rise] - found.up[rise], 0.0)
    return part


def drop(parent: Ints, price: Floats) -> Floats:
    """(M,) price less that of the parent, 0 of the root."""
    found = price - price[np.maximum(parent, 0)]
    found[0] = 0.0
    return found


__all__ = ["Flow", "borrowed_too_much", "depths", "drop", "finite", "flow", "unspent", "value"]
