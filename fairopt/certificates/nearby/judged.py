"""The judge of rounds at a point nearby: where it is, what is proved of it, and how far it is."""

from __future__ import annotations

from decimal import localcontext
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.levels import Order
from fairopt.certificates.nearby.begun import of_levels, of_rounds
from fairopt.certificates.nearby.just_full import by_rows
from fairopt.certificates.nearby.point import search
from fairopt.certificates.nearby.points import NearbyPoint, joined
from fairopt.certificates.nearby.proof import Left, left_open
from fairopt.certificates.nearby.reach import reach
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.system import System
from fairopt.certificates.nearby.targets import DIGITS, Flat, Nested, Targets
from fairopt.certificates.ruled.answer import Ruled
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.targets import TargetTree
from fairopt.instance import Floats, Ints

LARGEST, WORK = 300_000, 30_000_000
"""most eligible pairs with which a point nearby is looked for, and most pairs times rounds"""
LIMITED = 500_000, 100_000_000
"""the same beside limits on servers, as in horizons: most rounds are one user's that has all"""
SHARP = 1e-18
"""part of all money of a round that is open, or of a share by which somebody is off its level,
where a point counts at all: of a point that is known no better nothing is proved of later rounds"""
ROUNDED = 2.0**-49
"""what the logarithm of two shares loses in floats, at most"""
TURNS = 4
"""times that rounds of an answer are joined where their levels are in another order"""
ENOUGH = 1e-9
"""part by which the optimum may be off that needs no other point"""


class Nearby(NamedTuple):
    """The point that an answer's rounds mean: share (N,) there, tasks (K, I) by way, room (N,) that
    its prices leave open, far (N,) the part by which the optimum may be off, first: users of the
    first round; nothing (N,) shares that count as none."""

    share: Floats
    tasks: Floats
    room: Floats
    far: Floats
    first: Ints
    nothing: Floats

    def off(self, share: Floats) -> Floats:
        """(N,) how far shares may be from those due, at most, in the logarithm."""
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(np.log(share / self.share))
            apart = np.where((share <= self.nothing) & (self.share <= self.nothing), 0.0, apart)
            apart = apart - np.log1p(-np.minimum(self.far, 1.0)) + ROUNDED
        return np.where(np.isnan(apart), np.inf, apart)

    def ends(self) -> tuple[Floats, Floats]:
        """The least and the most that each may be due."""
        low = self.share * np.maximum(1 - self.far, 0.0)
        with np.errstate(invalid="ignore"):
            top = np.where(np.isfinite(self.far), self.share * (1 + self.far), np.inf)
        return low, top


def looked_for(alloc: Allocation, rounds: int) -> bool:
    """Whether a point nearby is looked for at all: up to LARGEST pairs, and WORK of them times
    rounds; LIMITED ones beside limits on servers."""
    inst = alloc.instance
    pairs = int(np.count_nonzero(inst.ways.eligible))
    most, work = (LARGEST, WORK) if inst.limit_on is None else LIMITED
    return pairs <= most and pairs * rounds <= work


def nearby(alloc: Allocation, asked: Entitled, order: Order | None = None) -> Nearby | None:
    """The point nearby; None where none is found, or it is not looked for.

    Parameters
    ----------
    order : of a plain answer, what its level prices prove.
    """
    inst, share = alloc.instance, np.maximum(alloc.shares, 0.0)
    rounds = len(alloc.rounds or ()) if order is None else int(order.stage.max()) + 1
    if clock.late() or not (looked_for(alloc, rounds) and np.isfinite(share).all()):
        return None
    with np.errstate(all="ignore"), localcontext() as context:
        context.prec = DIGITS
        context.clear_traps()  # what is no number is seen below, and refused
        system = System.of(alloc, share)
        nothing = np.zeros(len(share))
        if (share <= 0).any():
            nothing = Ruled(alloc).nothing
        lots = of_rounds(system, alloc, asked) if order is None else of_levels(system, alloc, order)
        unit = system.share_unit
        # who holds nothing is due nothing: `left_open` asks what it could have
        none = share <= nothing
        weight, floor, base = (
            np.where(none, 0.0, part / unit)
            for part in (asked.tree.weight[asked.tree.leaf], asked.floor, asked.base)
        )
        flat = inst.tree.flat
        targets: Targets = Flat(weight, floor, base) if flat else Nested(asked, unit, none)
        held = system.held(alloc)
        rest = held, nothing, floor, asked.tree, len(inst.ways)
        best = _nearest(system, targets, lots, *rest)
        if best is None and (full := by_rows(system, lots, *held)) is not None:
            best = _nearest(system, targets, full, *rest)
    return best


def _nearest(
    system: System,
    targets: Targets,
    lots: list[Lot],
    held: tuple[Ints, Floats],
    nothing: Floats,
    floor: Floats,
    tree: TargetTree,
    ways: int,
) -> Nearby | None:
    """Of the points that lots mean, with columns out of use linked or not, and joined where their
    levels are in another order, that of which most is proved; None where there is none."""
    best: Nearby | None = None
    first: NearbyPoint | None = None
    more = False
    for turn in range(2 * TURNS):
        linked = turn % 2 > 0
        point = None
        if more or not linked:
            point, more = search(system, targets, lots, *held, linked)
        left = None if point is None else left_open(system, point, nothing, floor)
        if point is not None and left is not None and left.worst <= SHARP:
            found = _found(system, point, left, tree, ways, nothing)
            if best is None or found.far.max() < best.far.max():
                best = found
            if best.far.max() <= ENOUGH:
                break
        if not linked:
            first = point
            continue
        flat = isinstance(targets, Flat)
        again = joined(lots, first) if flat and best is None and first is not None else None
        if again is None:
            break
        lots = again
    return best


def _found(
    system: System, point: NearbyPoint, left: Left, tree: TargetTree, ways: int, nothing: Floats
) -> Nearby:
    far = reach(system, point, left, tree)
    far = np.where(np.isnan(far), np.inf, far)
    x = np.zeros(system.tasks)
    task = point.columns < system.tasks
    x[point.columns[task]] = point.amount[0][task]
    tasks = system.low.tasks(x * system.tasks_unit[system.low.owner], ways)
    return Nearby(left.share, tasks, left.room, far, np.flatnonzero(left.stage == 0), nothing)


__all__ = ["Nearby", "looked_for", "nearby"]
