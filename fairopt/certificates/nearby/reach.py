"""How far what is left open at a point may reach: an estimate, which only ever refuses.

What one round leaves open is missing in later ones, as often as these pay for it; whoever makes
room moves others, by as much as the least singular value of the systems says; what one is off moves
the targets of others in its group; and on a full row without a price whoever holds little of it is
pushed all the further by those who hold much, or who may come, where they run nothing yet.
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
    return _pushed(system, point, left, far / point.least)


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


def _pushed(system: System, point: NearbyPoint, left: Left, far: Floats) -> Floats:
    """(N,) the part of its share that each may have to move, as others move.

    Whoever has a choice of columns may move to any, in use or not. On a full row that takes as much
    from one of those who are there, which moves on.
    """
    of, users = system.columns, len(far)
    task = point.columns < system.tasks
    at, x = point.columns[task], point.amount[0][task]
    share = np.bincount(of.owner(at), of.worth(at) * x, users)
    used = np.zeros(system.tasks)
    used[at] = x
    stops = np.full(len(system.rhs), len(left.lots))  # the first lot that each row stops
    lot = np.full(users, len(left.lots))
    for k, one in enumerate(left.lots):
        lot[one.users] = k
        stops[one.price[0] > 0] = np.minimum(stops[one.price[0] > 0], k)
    # what an earlier lot fills is not to be had
    new = np.flatnonzero(left.cheap & (used == 0))
    row, each, entry = of.entries(new)
    shut = (stops[row] < lot[of.of_column[new[each]]]) & (entry > 0)
    cheap = left.cheap.copy()
    cheap[new[each[shut]]] = False
    chooses = np.bincount(of.of_column[cheap], minlength=users) > 1
    may = np.flatnonzero(np.where(chooses[of.of_column], cheap | (used > 0), used > 0))
    row, each, entry = of.entries(may)
    room, _ = system.left(point.columns, point.amount)
    taken = np.bincount(row, np.abs(entry) * used[may[each]], len(room))
    size = np.maximum(np.maximum(np.abs(system.rhs), taken), 1e-300)
    keep = (room <= FULL * size)[row] & (entry != 0)
    row, column, entry = row[keep], may[each[keep]], np.abs(entry[keep])
    owner, worth = of.of_column[column], of.worth(column)
    with np.errstate(divide="ignore", invalid="ignore"):
        flow = entry * np.where(used[column] > 0, used[column], share[owner] / worth)
        times = np.where(used[column] > 0, worth / (entry * share[owner]), 0.0)
    priced = np.zeros(len(row), dtype=bool)
    for k, one in enumerate(left.lots):
        priced |= (lot[owner] == k) & (one.price[0][row] > 0)
    # on a row that stops it whoever comes is of an earlier lot; else anybody but itself
    order = np.lexsort((lot[owner], row))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    spot = row[order] * (len(left.lots) + 1) + lot[owner][order] + 1
    earlier = np.searchsorted(spot, spot)[back], np.searchsorted(row[order], row)
    # who has no choice gives way to nobody of a later lot
    most = np.where(chooses[owner], len(left.lots), lot[owner] + 1)
    upto = np.searchsorted(spot, row * (len(left.lots) + 1) + most, side="right")
    own, alone = np.unique(row * users + owner, return_inverse=True)
    moved = far
    for _ in range(TURNS):
        takes = flow * moved[owner]
        # who has no choice pays for what it takes where that has a price
        sums = np.append(0.0, np.cumsum((takes * chooses[owner])[order]))
        before = sums[earlier[0]] - sums[earlier[1]]
        here = np.append(0.0, np.cumsum(takes[order]))
        others = here[upto] - here[earlier[1]] - np.bincount(alone, takes, len(own))[alone]
        push = np.zeros(users)
        others = np.maximum(np.where(priced, before, others), 0.0)
        np.maximum.at(push, owner, others * times)
        moved = np.maximum(moved, far + push)
    return np.asarray(moved)
