"""What the errors of others may cost each user: proved from the optimum nearby, or followed.

A point at which the conditions of optimality hold to twice the digits proves where the optimum is
(`nearby`, `located`): then each user's share is compared with its share there. The answer itself
may be such a point, if its tasks are exact to the last digit. Where no such point
is found, or the cluster is large and nobody's money is small beside the errors, errors are followed
in money from user to user (`disturbed`), at their worst.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.disturbed import disturbed, idle_money
from fairopt.certificates.located import Market, Place, located
from fairopt.certificates.nearby import KNOWN, optimum
from fairopt.instance import Floats

TOLERANCE = 1e-6
"""part of its share that others' errors may cost a user"""
MOST = 20_000_000
"""users times rows up to which errors are followed from user to user"""
FEW = 500
"""users and rows up to which the optimum is looked for always"""


def lost(
    alloc: Allocation, market: Market, log_scale: float, error: Floats, own: Floats,
    log_share: Floats, log_floor: Floats,
) -> Floats:  # fmt: skip
    """(N,) part of its share that each user may be off by; 0 where errors at their worst are
    harmless.

    Parameters
    ----------
    log_scale : log of the number that brings the prices to the unit of `market`.
    error : (N,) relative error of each user at these prices. own : (N,) its money.
    log_share : (N,) log of the shares, exactly feasible. log_floor : (N,) log of the share that
        counts as zero.
    """
    inst = alloc.instance
    few = inst.shape[0] + inst.pool.size <= FEW
    if few:
        # of an answer exact to the last digit, its own tasks and prices prove it
        where, away = located(market, Place.of(alloc, log_scale))
        with np.errstate(invalid="ignore"):
            apart: Floats = np.abs(np.maximum(log_share, log_floor) - np.maximum(where, log_floor))
            if (apart + away).max() <= TOLERANCE:
                return apart
    idle, off, followed = _at_worst(alloc, error, own)
    if followed.max() <= TOLERANCE and not few:
        return np.zeros(len(error))
    found = optimum(alloc, market, log_share, log_scale)
    proved = found.away <= KNOWN
    if not proved.all() and followed.max() > TOLERANCE and inst.demand_by_server.size <= MOST:
        followed = disturbed(alloc, idle, off)
    with np.errstate(invalid="ignore"):
        held = np.maximum(log_share, log_floor)
        apart = np.abs(held - np.maximum(found.log_share, log_floor))
        bound = apart + found.away
        bound = np.where(bound <= TOLERANCE, apart, bound)
        if proved.any():
            # who has too little money to be proved is at least as far off as at the prices found
            followed = np.maximum(followed, apart)
        result: Floats = np.where(proved, bound, np.fmin(bound, followed))
    return result


def searched(alloc: Allocation, error: Floats, own: Floats) -> bool:
    """Whether `lost` looks for the optimum nearby of an answer of many users, which takes many
    times as long as all else that is judged."""
    if alloc.instance.shape[0] + alloc.instance.pool.size <= FEW:
        return False
    return bool(_at_worst(alloc, error, own)[2].max() > TOLERANCE)


def _at_worst(alloc: Allocation, error: Floats, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Money idle (I, R) and off (N,), and (N,) the part of its share that each user may be off by
    if all of it were the user's."""
    idle, off = idle_money(alloc, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = idle.sum() + off.sum()  # nobody can lose more
        followed: Floats = np.where(wrong == 0, 0.0, np.minimum(wrong / own, 1.0))
    return idle, off, followed
