r"""Max-min of wide systems from cuts: few programs, however many rounds there are.

Prices p >= 0 of the rows say what a unit of a user's share costs at the least, q_n, so that every
feasible answer keeps the cut :math:`\sum_n q_n s_n \le B(p)`. Max-min under some cuts, and the most
that each user can have by its own limits alone, is water filling of one server whose resources are
the cuts (`water.one_server`). One program then asks whether shares s* so found are feasible:

.. math:: \max \theta, \quad s_n \ge \theta s^*_n

If not, its prices are a cut that s* breaks. It begins with one cut for each resource, a price for
the whole of it on all servers: over the slices of a horizon few others are met. Each round of the
end is a cut that is met with its prices, or a user that has all it wants.
"""

from __future__ import annotations

import numpy as np

from fairopt import clock
from fairopt.formulas.lowered import CAPACITY, LIMIT, PLACE, Lowered
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.path import level
from fairopt.solving.engines.quotas.rounds import Round, Rounds, RoundsQuestion
from fairopt.solving.engines.water.one_server import fill_in_turn

NAME = "interior, cuts"
WIDE, WIDEST = 8_000, 50_000
"""columns from which this is faster than a kept model, and from which that comes to no end"""
MOST = 200
"""most programs"""
NEARLY = 1e-7
"""error of a program from which it says something: a cut is one at any prices"""
MET = 1e-10
"""part of its share that a user may be short of where shares are feasible"""
BROKEN = 1e-11
"""part by which a new cut must be broken"""
TRIFLE = 1e-12
"""part of a cut that one user's share is, so that it counts as nothing"""
TOLD = 30_000_000
"""columns times users at their limits up to which prices of these are told: no proof needs them"""


def solve(asked: RoundsQuestion) -> Rounds | None:
    """All rounds; None for few columns, groups, floors, classes, or rows of other kinds than those
    of servers and limits, or of nothing, or where the programs come to no end."""
    low, tree = asked.low, asked.tree
    kinds = np.isin(low.kind, (CAPACITY, LIMIT, PLACE)).all() and not len(low.low)
    flat = (tree.parent[tree.leaf] == 0).all() and len(tree.parent) == len(tree.leaf) + 1
    one = not asked.floor.any() and len(np.unique(asked.rank)) == 1
    if not (kinds and flat and one and (low.rhs > 0).all()) or low.columns < WIDE:
        return None
    return _Cuts(low, np.asarray(tree.weight[tree.leaf], dtype=np.float64)).run()


class _Cuts:
    """The cuts so far. weight : (N,). most : (N,) share by own limits, limits : (M,) their
    prices. prices : each (M,); parts : each (N,), what of the cut a unit of level takes."""

    def __init__(self, low: Lowered, weight: Floats) -> None:
        self.low, self.weight = low, weight
        self.most, self.limits = _limits(low)
        self.prices: list[Floats] = []
        self.parts: list[Floats] = []
        for r in range(low.shape[2]):
            rows = (low.kind == CAPACITY) & (low.two == r)
            if rows.any():
                self._add(np.where(rows, 1.0, 0.0))

    def run(self) -> Rounds | None:
        """The rounds, once shares are feasible."""
        low = self.low
        for k in range(MOST):
            clock.tick()
            height, turns = fill_in_turn(
                np.stack(self.parts, axis=1), np.zeros(len(self.weight)), self.most / self.weight
            )
            share = height * self.weight
            if not (np.isfinite(share) & (share > 0)).all():
                return None
            found = level.highest(low, share, share, NEARLY)
            if found is None:
                return None
            if found.t >= 1 - MET:
                over = float(((low.matrix @ found.x) / low.rhs).max(initial=1.0))
                return self._rounds(height, turns, found.x / over, share, k + 1)
            price = self._cleared(found.price, found.x)
            if not price.any():
                return None
            self._add(price)
            if not self.parts[-1] @ height > 1 + BROKEN:
                return None
        return None

    def _cleared(self, price: Floats, x: Floats) -> Floats:
        """The prices of rows of which less is left than they cost, in parts of all: what vanishes
        together with the other is smaller by far."""
        low = self.low
        left = (low.rhs - low.matrix @ x) / low.rhs
        money = price * low.rhs
        return np.where(money < left * money.sum(), 0.0, price)

    def _add(self, price: Floats) -> None:
        """The cut of prices (M,), whoever it holds by a trifle left out, which it allows."""
        low = self.low
        q = np.full(low.shape[0], np.inf)
        np.minimum.at(q, low.owner, low.cost(price) / low.score)
        part = q * self.weight / float(low.rhs @ price)
        self.prices.append(price)
        self.parts.append(np.where(part < TRIFLE * part.max(), 0.0, part))

    def _rounds(
        self, height: Floats, turns: list[tuple[int, Ints]], x: Floats, share: Floats, programs: int
    ) -> Rounds:
        """The rounds in order of level; of users at their limits with the prices of these."""
        low, rank = self.low, 0
        free, own = height < self.most / self.weight, np.isin(low.kind, (LIMIT, PLACE))
        own &= int((~free).sum()) * low.columns <= TOLD
        found = []
        for k, users in turns:
            stopped = np.zeros(len(height), dtype=bool)
            stopped[users] = free[users]
            if stopped.any():
                found.append(
                    Round(float(height[stopped].max()), 0.0, rank, stopped, self.prices[k])
                )
        for t in np.unique(height[~free]).tolist():
            stopped = ~free & (height == t)
            mine = np.flatnonzero(own)
            mine = mine[stopped[low.one[mine]]]
            price = np.zeros(len(own))
            price[mine] = self.limits[mine]
            found.append(Round(t, 0.0, rank, stopped, price))
        found.sort(key=lambda one: one.t)
        return Rounds(tuple(found), x, share, programs, 0)


def _limits(low: Lowered) -> tuple[Floats, Floats]:
    """(N,) the largest share that own limits of each user let it have, inf without any; and (M,)
    prices of these, at which a share costs 1."""
    rows, best = low.matrix.tocsr(), np.zeros(low.shape[0])
    np.maximum.at(best, low.owner, low.score)
    place = np.flatnonzero((low.kind == PLACE) & (np.diff(rows.indptr) == 1))
    at = rows.indices[rows.indptr[place]]
    on = np.full(low.columns, np.inf)
    on[at] = low.rhs[place] * low.score[at]
    places = np.bincount(low.owner, on, low.shape[0])
    limit = np.flatnonzero(low.kind == LIMIT)
    whole = np.full(low.shape[0], np.inf)
    whole[low.one[limit]] = low.rhs[limit] * best[low.one[limit]]
    price = np.zeros(len(low.rhs))
    price[place] = np.where((places < whole)[low.owner[at]], low.score[at], 0.0)
    price[limit] = np.where(whole <= places, best, 0.0)[low.one[limit]]
    return np.minimum(places, whole), price


__all__ = ["solve"]
