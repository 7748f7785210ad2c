"""Where the search for a point nearby begins, and how levels move with tasks."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from benchmarks.throughputs.matrix import draw as jobs
from fairopt.certificates.levels import Order
from fairopt.certificates.nearby.begun import of_levels
from fairopt.certificates.nearby.jointly import Jointly
from fairopt.certificates.nearby.least import Least
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.system import System
from fairopt.certificates.nearby.targets import Flat


def test_levels_move_with_the_tasks_where_one_by_one_they_are_lost() -> None:
    """Rows that no tasks alone can fill as asked are filled at other levels."""
    rng = np.random.default_rng(1)
    users, owner = 4, np.array([0, 0, 1, 2, 3, 3])
    matrix, own = rng.uniform(0.5, 1.5, (5, 6)), rng.uniform(0.5, 1.5, 6)
    row, each = np.nonzero(matrix)
    least = Least(5, row, each, matrix[row, each], owner, own)
    lots = [
        Lot(np.array(mine), 0, k, *np.zeros((2, 2, 9)), np.array([1.0, 0.0]))
        for k, mine in enumerate([[0], [1, 2], [3]])
    ]
    weight = rng.uniform(1, 2, users)
    walk = Flat(weight, np.zeros(users), np.zeros(users)).walk(lots)
    rows, shares = rng.uniform(-1, 1, 5), rng.uniform(-1, 1, users)
    missed = least.missed(rows, shares)[0]
    assert np.abs(missed).max() > 1e-3
    moves = Jointly(least, lots, walk).moves(rows, shares)
    more = weight * moves[[0, 1, 1, 2]]
    # nine rows and shares, six columns and three levels
    for left in least.missed(rows, shares + more):
        np.testing.assert_allclose(left, 0, atol=1e-12)


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
            system.columns.cost(lot.price[0]) * (alloc.held[system.low.owner, system.low.server]),
            len(later),
        )
        assert (cost[later] <= 1e-9 * cost.sum()).all()
