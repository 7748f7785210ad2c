"""What shares cost users at limits whose score depends on the server.

Per task of the limit the least cost is a convex function of the share: the lower hull of the points
(u, cost) of the servers and of (0, 0), an unused task. Its slope at the share is no bound on what
money buys: just short of a corner it is that of the piece before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.certificates.tolerance import ROUNDING
from fairopt.instance import Bools, Floats, Ints

NEAR_CORNER = 1e-9
"""a share that is this part from a corner may cost what it does on either side"""


class CheapestWithin:
    """The least that the shares of some users cost within their limits.

    Parameters
    ----------
    cost, u : (C, H) of a task on each server; u is 0 where the user is not eligible.
    share, limit : (C,).

    Attributes
    ----------
    least : (C,) of the share held. first, second : (C,) price of the last and of the next unit of
    share; within 1e-9 of a corner, on its two sides. gap : (C,) part of the share missing to that.
    """

    def __init__(self, cost: Floats, u: Floats, share: Floats, limit: Floats) -> None:
        self._share, self._limit = share, limit
        self._hull = hull = _Hull(cost, u)
        at = share / limit
        before = hull.follow(hull.origin(), lambda u, _: u < at * (1 - NEAR_CORNER))
        here = hull.follow(before, lambda u, _: u <= at)
        after = hull.follow(here, lambda u, _: u <= at * (1 + NEAR_CORNER))
        self._piece = here
        self.first, self.second = before[2], after[2]
        self.least = limit * np.maximum(here[1] + here[2] * (at - here[0]), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(after[0] > at, after[0] / at - 1.0, 0.0)
        self.gap = np.where(gap > ROUNDING, gap, 0.0)

    def room(self, money: Floats) -> Floats:
        """(C,) the part by which each share can rise if it may cost that much more than the least.

        0 within rounding.
        """
        most = (self.least + money) / self._limit
        u, cost, slope, _ = self._hull.follow(self._piece, lambda _, cost: cost <= most)
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = np.where(slope > 0, u + (most - cost) / slope, np.inf)
            top = self._hull.top
            room = self._limit * np.minimum(np.maximum(reached, u), top) / self._share - 1.0
        return np.where(room > ROUNDING, room, 0.0) + self.gap


_Piece = tuple[Floats, Floats, Floats, Ints]
"""u and cost of the left end of a piece, its slope, and the server at its right end, each (C,)"""
_Passed = Callable[[Floats, Floats], Bools]
"""whether corners (u, cost) are passed, each (C,)"""


class _Hull:
    """The lower hulls of the points (u, cost) of each user, corner after corner from (0, 0)."""

    def __init__(self, cost: Floats, u: Floats) -> None:
        self._cost, self._u, self._each = cost, u, np.arange(len(u))
        self.top = u.max(axis=1, initial=0.0)

    def origin(self) -> _Piece:
        nothing = np.zeros(len(self._each))
        return nothing, nothing, *self._next(nothing, nothing)

    def _next(self, u: Floats, cost: Floats) -> tuple[Floats, Ints]:
        """Slope of the piece that begins at a corner, and the server where it ends."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self._cost - cost[:, None]) / (self._u - u[:, None])
        slope[self._u <= u[:, None]] = np.inf
        to = slope.argmin(axis=1)
        return slope[self._each, to], to

    def follow(self, piece: _Piece, passed: _Passed) -> _Piece:
        """The last piece whose left end is passed; at the last corner the piece that ends there."""
        u, cost, slope, to = (piece[0].copy(), piece[1].copy(), piece[2].copy(), piece[3].copy())
        going = np.ones(len(u), dtype=bool)
        while True:
            right_u, right_cost = self._u[self._each, to], self._cost[self._each, to]
            going &= (right_u < self.top) & passed(right_u, right_cost)
            if not going.any():
                return u, cost, slope, to
            u[going], cost[going] = right_u[going], right_cost[going]
            more, then = self._next(u, cost)
            slope[going], to[going] = more[going], then[going]
