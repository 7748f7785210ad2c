"""Which users and prices an answer's rounds mean."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from benchmarks.throughputs.matrix import draw as jobs
from fairopt.certificates.levels import Order
from fairopt.certificates.meant.begun import of_levels
from fairopt.certificates.meant.system import System


def test_a_round_asks_no_money_of_who_is_stopped_later() -> None:
    """Jobs at their whole time on the slower of two kinds, who are stopped much later: what a unit
    more would cost them is no price of the round."""
    inst, score = jobs(0, 2588, False, True)
    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: score), uncertified="return")
    order, system = Order(alloc), System.of(alloc, alloc.shares)
    for lot in of_levels(system, alloc, order):
        later = order.stage > order.stage[lot.users[0]]
        cost = np.bincount(
            system.low.owner,
            system.columns.cost(lot.price) * (alloc.held[system.low.owner, system.low.server]),
            len(later),
        )
        assert (cost[later] <= 1e-9 * cost.sum()).all()
