"""How far what is left open at a point may reach: an estimate, which only ever refuses.

What one round leaves open is missing in later ones, as often as these pay for it; whoever makes
room moves others, by as much as the least singular value of the systems says; what one is off moves
the targets of others in its group; and on a full row without a price whoever holds little of it is
pushed all the further by those who hold much.
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.nearby.points import NearbyPoint
from fairopt.certificates.nearby.proof import Left
from fairopt.certificates.nearby.system import System
from fairopt.formulas.targets import TargetTree
from fairopt.instance import Bools, Floats

FULL = 1e-9
"""a row of which a smaller part is left is full"""
TURNS = 3
"""times that who is pushed pushes others"""


def reach(system: System, point: NearbyPoint, left: Left, tree: TargetTree) -> Floats:
    """(N,) the part of its share by which each may be off at the optimum, as is estimated.

    Parameters
    ----------
    tree : of groups and users.
    """
    far = np.maximum(left.room, left.off)
    done = np.zeros(len(far), dtype=bool)
    for lot, money in zip(left.lots, left.money, strict=True):
        later = ~done  # who pays and is stopped later is at its floor
        later[lot.users] = False
        missing = float(money[done] @ far[done]) + float(money[later] @ left.off[later])
        if lot.by is not None and lot.moving is not None:
            shift = _shifted(tree, lot.by, lot.moving, np.where(done, far, 0.0))[lot.users]
            far[lot.users] += shift
            missing += float(money[lot.users] @ shift)
        if missing > 0:  # what all of the lot lack may all be one's
            far[lot.users] += 2 * missing / money[lot.users]
        done[lot.users] = True
    far = far / point.least
    for _ in range(TURNS):
        far = far + _pushed(system, point, far)
    return np.asarray(far)


def _shifted(tree: TargetTree, due: Floats, moving: Bools, far: Floats) -> Floats:
    """(N,) the part by which targets of those who move may be other, as others in their groups are
    off: what those are off is divided among them.

    Parameters
    ----------
    due : (N,) by then. moving : (N,). far : (N,) of those stopped before.
    """
    counts = tree.use * due[:, None]
    off = tree.summed(counts * np.where(moving, 0.0, far)[:, None]).max(axis=1)
    rest = tree.summed(counts * moving[:, None])
    rest = np.where(rest > 0, rest, np.inf).min(axis=1)
    size, found = tree.summed(counts).max(axis=1), np.zeros(len(off))
    for nodes in tree.layers:
        found[nodes] = (off[nodes] + found[tree.parent[nodes]] * size[nodes]) / rest[nodes]
    return np.where(moving, found[tree.parent[tree.leaf]], 0.0)


def _pushed(system: System, point: NearbyPoint, far: Floats) -> Floats:
    """(N,) the part of its share by which each may be pushed on a full row without a price for it:
    all by which those move who are there, beside what it has there itself."""
    task = point.columns < system.tasks
    at, x = point.columns[task], point.amount[0][task]
    row, each, entry = system.columns.entries(at)
    owner, taken = system.columns.owner(at)[each], np.abs(entry * x[each])
    used = np.bincount(row, taken, len(system.rhs))
    size = np.maximum(np.maximum(np.abs(system.rhs), used), 1e-300)
    left, _ = system.left(point.columns, point.amount)
    some = (left <= FULL * size)[row] & (taken > 0)
    for lot in point.lots:
        mine = np.zeros(len(far), dtype=bool)
        mine[lot.users] = True
        some &= ~(mine[owner] & (lot.price[0][row] > 0))
    moved = np.bincount(row, taken * far[owner], len(used))
    found = np.zeros(len(far))
    np.maximum.at(found, owner[some], moved[row[some]] / taken[some])
    return found
