"""Who holds its floor and cannot hold more, whatever is done: proved by prices.

Where what is above the floors is divided, such a user would have a welfare of -inf, so it does not
count; its share is its floor.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.due import at_floors
from fairopt.certificates.ruled import feasible
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas.entitled import Entitled
from fairopt.instance import Bools

ROUNDING, SURE = 2.0**-52, 1e-12
"""part of its floor by which a user that is stuck might rise, as far as rounding tells; at most"""
FACTOR = 10.0
"""how many times that may be taken from another user, one after another"""


def stuck(alloc: Allocation, asked: Entitled) -> Bools:
    """(N,) who holds its floor, and is proved unable to hold more while all others hold theirs."""
    floor = asked.floor
    none = np.zeros(len(floor), dtype=bool)
    if not (asked.added and floor.any()):
        return none
    ruled = Ruled(alloc)
    factor = feasible.shrink(ruled)
    ruled = Ruled(alloc, factor) if factor < 1 else ruled
    share = ruled.share
    held = (floor > 0) & (share <= floor * (1 + TOLERANCE))
    proved, most = none, ROUNDING
    for prices in at_floors(ruled.alloc, asked, held) if held.any() else []:
        for cleaned in ruled.cleaned(prices):
            with np.errstate(all="ignore"):
                bill = ruled.bill(cleaned)
                q = bill.cheapest
                left = bill.idle + bill.over.sum()
                left += float((q * np.maximum(share - floor, 0.0))[q > 0].sum())
                # what is left could be another's, so all who pay these prices are stuck, or nobody
                fixed = held & (left <= SURE * q * floor)
                if fixed[q > 0].all() and (q > 0).any():
                    proved = proved | (fixed & (q > 0))
                    most = max(most, float((left / (q * floor))[fixed & (q > 0)].max()))
    # by what rounding hides they might rise all the same, and take that from another row: nobody
    # else may have so little that it matters
    others = ~proved
    part = np.maximum(share - floor, 0.0)[others] / ruled.alone[others]
    return proved if (part * TOLERANCE >= FACTOR * most).all() else none
