r"""Rules that do not fit together: how far all that is asked must be cut, and an irreducible set.

Every row is turned until its amount is >= 0: one that asks (a guarantee, a `least`, a `most` of
less than nothing), or one that allows. With all that is asked cut to a part theta,

.. math:: \theta^* = \max \{ \theta \le 1 : a_j x \ge \theta b_j \text{ of all that ask},
          \ A x \le r, \ x \ge 0 \}

and theta* < 1 is the proof, with its prices (`certificates.conflict.impossible`). No tasks and
theta = 0 always fit. Of the things with a price one after another is left out, for good if the
rest is still impossible: what is left is irreducible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import RULE, UP_OF_TWO, Lowered
from fairopt.instance import Bools, Floats, Ints

FITS = 1e-9
"""what is asked, cut by less than this part, fits"""
SURE = 1e-9
"""prices of less than this part of the largest, each in money, say nothing"""
FINE = 1e-10
"""tolerance of HiGHS on rows and prices, which are of order 1"""


@dataclass(frozen=True)
class Clash:
    """rows (C,) of the system in conflict, users whose floors are; price (M,) and floors (N,) their
    prices; cut: theta* of all that is asked, own_cut of these alone."""

    rows: Ints
    users: Ints
    price: Floats
    floors: Floats
    cut: float
    own_cut: float


def clash(low: Lowered, floor: Floats) -> Clash | None:
    """The conflict of all rules with floors (N,) >= 0; None if they fit.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum.
    """
    own = low.kind == RULE
    if not floor.any() and not (own & ((low.rhs < 0) | (low.two >= UP_OF_TWO))).any():
        return None  # nothing is asked: no tasks fit
    system = _System(low, floor)
    every = np.ones(system.things, dtype=bool)
    cut, money = system.highest(every)
    if cut >= 1 - FITS:
        return None
    inside = np.zeros(system.things, dtype=bool)
    inside[system.thing[money > SURE * money.max()]] = True
    if system.highest(inside)[0] >= 1 - FITS:
        inside = every
    for k in np.flatnonzero(inside).tolist():
        inside[k] = False
        inside[k] = system.highest(inside)[0] >= 1 - FITS
    own, money = system.highest(inside)
    money = np.where(money > SURE * money.max(), money, 0.0)
    price = money / system.size
    count = len(low.rhs)
    rows = np.flatnonzero(inside[system.thing[:count]])
    users = np.flatnonzero(inside[system.thing[count:]])
    floors = np.zeros(len(floor))
    floors[system.floored] = price[count:]
    return Clash(rows, system.floored[users], price[:count], floors, cut, own)


class _System:
    """Rows G z <= h + theta g: those of the rules, then of floors, each in a typical amount."""

    def __init__(self, low: Lowered, floor: Floats) -> None:
        from scipy.sparse import csr_array, hstack, vstack

        own = low.kind == RULE
        equal = own & (low.two >= UP_OF_TWO)
        asks = (own & (low.rhs < 0)) | equal
        self.floored: Ints = np.flatnonzero(floor > 0)
        flows = csr_array((len(self.floored), len(low.low)))
        shares = -low.of_user().tocsr()[self.floored]
        self.size = np.concatenate([low.unit, floor[self.floored]])
        body = vstack([low.matrix, hstack([shares, flows])]).multiply(1.0 / self.size[:, None])
        # columns in units in which the largest entry of each is 1
        largest = np.abs(body.tocsc()).max(axis=0).toarray().ravel()
        self.scale = 1.0 / np.where(largest > 0, largest, 1.0)
        self.body = body.multiply(self.scale[None, :]).tocsr()
        rhs = np.concatenate([low.rhs, -floor[self.floored]]) / self.size
        asked = np.concatenate([asks, np.ones(len(self.floored), dtype=bool)])
        self.fixed, self.asked = np.where(asked, 0.0, rhs), np.where(asked, rhs, 0.0)
        # the two rows of `equal` are one thing
        thing = np.arange(len(rhs))
        second = np.flatnonzero(equal)[1::2]
        thing[second] = second - 1
        self.thing: Ints = np.unique(thing, return_inverse=True)[1]
        self.things = int(self.thing.max()) + 1
        self.low, tasks = low, low.columns
        self.bounds = np.column_stack(
            [
                np.concatenate([np.zeros(tasks), low.low / self.scale[tasks:], [0.0]]),
                np.concatenate([np.full(tasks, np.inf), low.high / self.scale[tasks:], [1.0]]),
            ]
        )

    def highest(self, inside: Bools) -> tuple[float, Floats]:
        """theta* of the things inside, and the prices of their rows in units of money."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        rows = np.flatnonzero(inside[self.thing])
        money = np.zeros(len(self.thing))
        if not self.asked[rows].any():
            return 1.0, money
        left: Any = hstack([self.body[rows], csr_array(-self.asked[rows][:, None])])
        goal = np.zeros(left.shape[1])
        goal[-1] = -1.0
        exact = {"primal_feasibility_tolerance": FINE, "dual_feasibility_tolerance": FINE}
        found = linprog(
            goal,
            A_ub=left,
            b_ub=self.fixed[rows],
            bounds=self.bounds,
            method="highs",
            options=exact,
        )
        if found.x is None:
            raise SolverFailure(f"HiGHS: {found.message}")
        money[rows] = np.maximum(-found.ineqlin.marginals, 0.0)
        return float(found.x[-1]), money


__all__ = ["Clash", "clash"]
