"""A point that rounds mean, with their prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates.nearby.rows import Lot, valued
from fairopt.certificates.nearby.system import System
from fairopt.instance import Bools, Floats, Ints

NOTHING = 1e-25
"""a user's cheapest price below this part of its dearest is rounding"""
SAME = 1e-26
"""levels that differ by a smaller part are one: what rounding leaves of rows makes no more"""


NEAR = 1e-12
"""part by which a level may be below one of an earlier round, and they are one but for rounding"""


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
    apart = (lot.level[0] - last.level[0]) + (lot.level[1] - last.level[1])
    return bool(apart > SAME * last.level[0])


def whole(system: System, lot: Lot, mates: Sequence[Lot], stage: Ints, used: Bools) -> Lot:
    """A lot of a point with the prices of all that is stopped with it or before, in its round.

    Parameters
    ----------
    mates : the lots of its round. stage : (N,) the place of each user's level. used : (P,) columns
        in use.
    """
    price = lot.price if lot.beside is None else lot.price + lot.beside
    for other in mates:
        if other is not lot and stage[other.users[0]] <= stage[lot.users[0]]:
            price = price + other.price
    return replace(lot, price=price, value=valued(system, price, used, NOTHING))


def joined(lots: Sequence[Lot], point: NearbyPoint) -> list[Lot] | None:
    """The lots an answer tells, with those users in a later one who pay at its prices and are above
    it by some last digits: they give way to it. None where there are none.

    Parameters
    ----------
    point : that these lots mean.
    """
    of = np.full(point.due.shape[1], -1)
    level, stage = np.zeros((2, len(of))), np.full(len(of), -1)
    for k, lot in enumerate(lots):
        of[lot.users] = k
    for lot in point.lots:
        level[:, lot.users], stage[lot.users] = lot.level[:, None], lot.stage
    found = False
    for lot in point.lots:
        apart = (level[0] - lot.level[0]) + (level[1] - lot.level[1])
        near = (apart > SAME * lot.level[0]) & (apart < NEAR * lot.level[0])
        to = int(of[lot.users[0]])
        near &= (lot.value[0] > 0) & (of >= 0) & (of < to) & (stage < lot.stage)
        of[near], found = to, found or bool(near.any())
    if not found:
        return None
    parts = [replace(lot, users=np.flatnonzero(of == k)) for k, lot in enumerate(lots)]
    return [lot for lot in parts if len(lot.users)]
