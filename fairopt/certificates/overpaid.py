"""Money that users of an alpha-fair answer pay in vain."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.displaced import displaced
from fairopt.formulas import rows
from fairopt.instance import Floats


def overpaid(alloc: Allocation, cheapest: Floats) -> tuple[Floats, Floats, Floats]:
    """(N,) money each user pays above its cheapest price, for resources that are not full, and for
    what others, or itself, could run elsewhere for less.

    Parameters
    ----------
    alloc : an answer with prices. cheapest : (N,) the user's cheapest price of a unit of share.
    """
    inst, held = alloc.instance, alloc.held
    assert alloc.prices is not None
    idle = alloc.prices * np.clip(1.0 - alloc.utilisation, 0.0, 1.0)
    wasted = alloc.prices * np.minimum(displaced(alloc), 1.0)

    def spent(prices: Floats) -> Floats:
        if inst.demand.ndim == 3:
            return np.asarray(np.einsum("ni,nir,ir->n", held, inst.demand, prices))
        # all that is paid for a resource, server by server, times the user's demand for it
        return rows.total(held @ prices * inst.demand)

    paid, unused, lost = spent(alloc.prices), spent(idle), spent(wasted)
    if alloc.limit_prices is not None:
        paid = paid + alloc.limit_prices * rows.total(held)
    share = alloc.shares if held is alloc.tasks else rows.total(held * alloc.score)
    return np.maximum(paid - cheapest * share, 0.0), unused, lost
