"""A point that rounds mean, with their prices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates.nearby.rows import Lot, valued
from fairopt.certificates.nearby.system import System
from fairopt.instance import Floats, Ints

NOTHING = 1e-25
"""a user's cheapest price below this part of its dearest is rounding"""
SAME = 1e-20
"""levels that differ by a smaller part are one"""


@dataclass(frozen=True)
class NearbyPoint:
    """A point: columns (C,), tasks and then all flows, their amounts (2, C); the lots.

    due : (2, N) what everybody is due. least : the least singular value of all systems.
    off : the largest part of a share or a row that is not what was aimed at.
    """

    columns: Ints
    amount: Floats
    lots: list[Lot]
    due: Floats
    least: float
    off: float

    def ordered(self) -> tuple[list[Lot], Ints]:
        """The lots in order of level; (N,) the place of each user's level among all."""
        lots = sorted(self.lots, key=lambda lot: lot.place)
        stage, turn = np.full(self.due.shape[1], -1), -1
        last: Lot | None = None
        for lot in lots:
            if last is None or lot.rank != last.rank or _above(lot, last):
                turn += 1
            last = lot
            stage[lot.users] = turn
        return lots, stage


def _above(lot: Lot, last: Lot) -> bool:
    """Whether a lot is at a higher level than the last one, or further along a jump."""
    if lot.part is not None or last.part is not None:
        return True
    return bool(lot.level[0] > last.level[0] * (1 + SAME))


def whole(system: System, point: NearbyPoint, lot: Lot, stage: Ints) -> Lot:
    """A lot of a point with the prices of all that is stopped with it or before, in its round.

    Parameters
    ----------
    stage : (N,) the place of each user's level.
    """
    price = lot.price if lot.beside is None else lot.price + lot.beside
    for other in point.lots:
        before = stage[other.users[0]] <= stage[lot.users[0]]
        if other is not lot and other.stage == lot.stage and before:
            price = price + other.price
    used = np.zeros(system.tasks, dtype=bool)
    used[point.columns[point.columns < system.tasks]] = True
    return replace(lot, price=price, value=valued(system, price, used, NOTHING))
