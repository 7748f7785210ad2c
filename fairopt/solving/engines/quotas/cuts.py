r"""Max-min of wide systems from cuts: few programs, however many rounds there are.

Prices p >= 0 of the rows say what a unit of a user's share costs at the least, q_n, so that every
feasible answer keeps the cut :math:`\sum_n q_n s_n \le B(p)`. Max-min under some cuts, and the most
that each user can have by its own limits alone, is water filling of one server whose resources are
the cuts (`water.one_server`); in groups the path of targets is followed (`under_cuts`). One program
then asks whether shares s* so found are feasible:

.. math:: \max \theta, \quad s_n \ge \theta s^*_n

If not, its prices are a cut that s* breaks. It begins with one cut for each resource, a price for
the whole of it on all servers: over the slices of a horizon few others are met. Each round of the
end is a cut that is met with its prices, or a user that has all it wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairopt import clock
from fairopt.formulas.lowered import CAPACITY, LIMIT, PLACE, Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path import level
from fairopt.solving.engines.quotas.rounds import Round, Rounds, RoundsQuestion
from fairopt.solving.engines.quotas.under_cuts import StopAtCut, followed
from fairopt.solving.engines.water.one_server import fill_in_turn

NAME = "interior, cuts"
WIDE, IN_GROUPS, WIDEST = 8_000, 1_000, 50_000
"""columns from which this is faster than a kept model, the same in groups, and from which that
comes to no end"""
MOST_PROGRAMS = 200
"""most programs"""
NEARLY = 1e-7
"""error of a program from which it says something: a cut is one at any prices"""
MET = 1e-10
"""part of its share that a user may be short of where shares are feasible"""
BROKEN = 1e-11
"""part by which a new cut must be broken"""
TRIFLE = 1e-12
"""part of a cut that one user's share is, so that it counts as nothing"""
TOLD = 1_000_000
"""columns times users at their limits up to which prices of these are told: no proof needs them"""


def solve(asked: RoundsQuestion) -> Rounds | None:
    """All rounds; None where this does not apply, or where the programs come to no end."""
    return _Cuts(asked).run() if applies(asked) else None


def applies(asked: RoundsQuestion) -> bool:
    """Whether columns are many, without floors, classes, or rows of other kinds than those of
    servers and limits, or of nothing."""
    low, tree = asked.low, asked.tree
    kinds = np.isin(low.kind, (CAPACITY, LIMIT, PLACE)).all() and not len(low.low)
    one = not asked.floor.any() and len(np.unique(asked.rank)) == 1
    wide = WIDE if len(tree.parent) == len(tree.leaf) + 1 else IN_GROUPS
    return bool(kinds and one and (low.rhs > 0).all()) and low.columns >= wide


class _Cuts:
    """The cuts so far. most : (N,) share by own limits, limits : (M,) their prices. prices : each
    (M,); parts : each (N,), what of the cut a unit of share takes."""

    def __init__(self, asked: RoundsQuestion) -> None:
        self.asked, self.low, self.tree = asked, asked.low, asked.tree
        low = asked.low
        self.most, self.limits = limits_alone(low)
        # a limit that says what share its user may have is no row: all that is due is within it
        self.told = low.kind != LIMIT
        self.told[low.kind == LIMIT] = _uneven(low)[low.one[low.kind == LIMIT]]
        rows = np.flatnonzero(self.told)
        self.rest = replace(
            low,
            matrix=low.matrix.tocsr()[rows],
            **{name: getattr(low, name)[rows] for name in ("rhs", "kind", "one", "two", "unit")},
        )
        self.prices: list[Floats] = []
        self.parts: list[Floats] = []
        for r in range(low.shape[2]):
            rows = (low.kind == CAPACITY) & (low.two == r)
            if rows.any():
                self._add(np.where(rows, 1.0, 0.0))

    def run(self) -> Rounds | None:
        """The rounds, once shares are feasible."""
        low = self.low
        for k in range(MOST_PROGRAMS):
            clock.tick()
            met = self._met()
            if met is None or not (np.isfinite(met[0]) & (met[0] > 0)).all():
                return None
            share, stops = met
            found = level.highest(self.rest, share, share, NEARLY)
            if found is None:
                return None
            if found.t >= 1 - MET:
                held = np.bincount(low.owner, low.score * found.x, low.shape[0])
                x = found.x * np.minimum(share / held, 1.0)[low.owner]
                over = float(((low.matrix @ x) / low.rhs).max(initial=1.0))
                return rounds_of(low, stops, self.prices, self.limits, x / over, share, k + 1)
            price = np.zeros(len(low.rhs))
            price[self.told] = self._cleared(found.price, found.x)
            if not price.any():
                return None
            self._add(price)
            if not self.parts[-1] @ share > 1 + BROKEN:
                return None
        return None

    def _met(self) -> tuple[Floats, list[StopAtCut]] | None:
        """The shares (N,) of max-min under the cuts alone, and who stops where, in order."""
        tree = self.tree
        if len(tree.parent) > len(tree.leaf) + 1:
            return followed(self.asked, self.most, np.array(self.parts))
        weight = np.asarray(tree.weight[tree.leaf], dtype=np.float64)
        part = np.stack(self.parts, axis=1) * weight[:, None]
        height, turns = fill_in_turn(part, np.zeros(len(weight)), self.most / weight)
        free, found = height < self.most / weight, list[StopAtCut]()
        for k, users in turns:
            stopped = np.zeros(len(height), dtype=bool)
            stopped[users] = free[users]
            if stopped.any():
                found.append(StopAtCut(float(height[stopped].max()), 0.0, stopped, k))
        for t in np.unique(height[~free]).tolist():
            found.append(StopAtCut(t, 0.0, ~free & (height == t), -1))
        return height * weight, sorted(found, key=lambda stop: stop.t)

    def _cleared(self, price: Floats, x: Floats) -> Floats:
        """The prices of rows of which less is left than they cost, in parts of all: what vanishes
        together with the other is smaller by far."""
        low = self.rest
        left = (low.rhs - low.matrix @ x) / low.rhs
        money = price * low.rhs
        return np.where(money < left * money.sum(), 0.0, price)

    def _add(self, price: Floats) -> None:
        """The cut of prices (M,), whoever it holds by a trifle left out, which it allows."""
        low = self.low
        q = np.full(low.shape[0], np.inf)
        np.minimum.at(q, low.owner, low.cost(price) / low.score)
        part = q / float(low.rhs @ price)
        self.prices.append(price)
        weight = np.asarray(self.tree.weight[self.tree.leaf], dtype=np.float64)
        trifle = part * weight < TRIFLE * (part * weight).max()
        self.parts.append(np.where(trifle, 0.0, part))


def rounds_of(
    low: Lowered,
    stops: Sequence[StopAtCut],
    prices: Sequence[Floats],
    limits: Floats,
    x: Floats,
    share: Floats,
    programs: int,
) -> Rounds:
    """The rounds in order of level, with the prices of the cut, or of users at their limits with
    those (M,) of these."""
    at_limits = sum(int(stop.users.sum()) for stop in stops if stop.cut < 0)
    own = np.isin(low.kind, (LIMIT, PLACE)) & (at_limits * low.columns <= TOLD)
    found = []
    for stop in stops:
        price = np.zeros(len(own))
        if stop.cut >= 0:
            price = prices[stop.cut]
        else:
            mine = np.flatnonzero(own)
            mine = mine[stop.users[low.one[mine]]]
            price[mine] = limits[mine]
        found.append(Round(stop.t, stop.jump, stop.rank, stop.users, price))
    return Rounds(tuple(found), x, share, programs, 0)


def _uneven(low: Lowered) -> Bools:
    """(N,) whose columns differ in what share a task is: a limit does not say what share it has."""
    best, least = np.zeros(low.shape[0]), np.full(low.shape[0], np.inf)
    np.maximum.at(best, low.owner, low.score)
    np.minimum.at(least, low.owner, low.score)
    return np.asarray(least < best)


def limits_alone(low: Lowered) -> tuple[Floats, Floats]:
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


__all__ = ["applies", "limits_alone", "rounds_of", "solve"]
