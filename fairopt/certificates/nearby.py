r"""A point near an answer at which the conditions of optimality hold to twice a float's digits.

Newton on the pairs that hold tasks, the rows that are full and the limits that are reached. With
y the change of the tasks of each pair and z that of the prices, both in units that make every
entry about 1, the linearised conditions are

.. math:: \begin{pmatrix} \alpha\,1 1^T & A^T \\ A & 0 \end{pmatrix}
   \begin{pmatrix} y \\ z \end{pmatrix} = \text{what is missing}

with a block of ones for each user. Where tasks are not unique the system is singular: a tiny
multiple of the identity is added (with the sign of each block), and further steps take back what it
spoils. Nothing here is believed: a point proves something only in `located.located`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.located import Market, Place, located
from fairopt.certificates.newton import LEAST, System
from fairopt.certificates.twofold import DIGITS, Twofold
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints, remembered

STEPS = 12
"""of Newton's method, changes of the active set included"""
ENOUGH = 1e-9
"""bound of every user below which no further step is taken"""
KNOWN = 1e-7
"""bound of every user with which the optimum counts as found"""
ROOM = 1.0, 1e-14
"""parts of a row that may be left where it is taken for full; tried in this order, since a forged
price makes a row look full that has room for all that a light user has"""
STAYS = 1e-3
"""part of its last change by which a number may be negative and yet be 0 in the end"""
CHEAPER = 1e-13
"""part by which the price of a pair must be below the user's cheapest for it to get tasks"""


class Optimum(NamedTuple):
    """log_share : (N,) at the optimum. away : (N,) how far off that may be, inf if unproved.

    place : the point that proves most; None if there is none.
    """

    log_share: Floats
    away: Floats
    place: Place | None


def optimum(alloc: Allocation, market: Market, log_share: Floats, log_scale: float) -> Optimum:
    """Where the optimum near an answer is.

    Parameters
    ----------
    log_share : (N,) log of the answer's shares. log_scale : log of the number that brings its
        prices to the unit of `market`.
    """
    best = Optimum(np.zeros(len(log_share)), np.full(len(log_share), np.inf), None)
    with np.errstate(all="ignore"):
        for room in ROOM:
            point = _Point.of(alloc, market, log_share, log_scale, room)
            best = _followed(point, market, best)
            if best.away.max() <= KNOWN:
                break
    return best


def _followed(point: _Point | None, market: Market, best: Optimum) -> Optimum:
    """Newton's method from a point, while it proves more."""
    least = np.inf
    for _ in range(STEPS):
        if point is None:
            break
        place = point.place
        where, away = located(market, place)
        worst, last = float(away.max()), least
        least = min(worst, least)
        better = away < best.away
        if better.any():  # of users that are not proved, the shares at the last such point
            best = Optimum(
                np.where(better | np.isinf(best.away), where, best.log_share),
                np.where(better, away, best.away), place if worst < last else best.place,
            )  # fmt: skip
        if worst <= ENOUGH or (np.isfinite(worst) and worst >= last / 2):
            break
        point = point.stepped()
    return best


@dataclass(frozen=True)
class _Point:
    """Tasks, prices, and which rows and limits have to be full.

    Parameters
    ----------
    n, i : (K,) the pairs that hold tasks; tasks : (K,). price : (I R,). limit_price : (N,).
    full : (I R,). capped : (N,).
    """

    market: Market
    n: Ints
    i: Ints
    tasks: Twofold
    price: Twofold
    limit_price: Twofold
    full: Bools
    capped: Bools

    @classmethod
    def of(
        cls, alloc: Allocation, market: Market, log_share: Floats, log_scale: float, room: float
    ) -> _Point | None:
        """Which pairs, rows and limits count: where the part of the share (of the money) is larger
        than the part by which the price is above the cheapest (by which the row is not full, and
        that at most `room`)."""
        inst = market.instance
        assert alloc.prices is not None
        share = np.exp(log_share)
        scale = np.exp(log_scale)
        p = alloc.prices * scale
        mu = np.zeros(len(share)) if alloc.limit_prices is None else alloc.limit_prices * scale
        if not ((share > 0).all() and np.isfinite(p).all() and np.isfinite(mu).all()):
            return None
        pairs: list[tuple[Ints, Ints]] = []
        cheapest = np.empty(len(share))
        for users in inst.blocks():
            score = np.where(inst.eligible[users], market.score[users], np.nan)
            cost = task_cost(inst, p, users, mu) / score
            least = rows.least(np.where(inst.eligible[users], cost, np.inf))
            cheapest[users] = least
            part = market.score[users] * alloc.held[users] / share[users, None]
            n, i = np.nonzero(part > 1 - least[:, None] / cost)
            pairs.append((n + users.start, i))
        n, i = (np.concatenate(side) for side in zip(*pairs, strict=True))
        if not _all_hold(n, len(share)):
            return None
        demand, score = inst.demand_by_server[n, i], market.score[n, i]
        held = alloc.held[n, i]
        part = demand * p[i] / (cheapest[n] * score)[:, None] * (score * held / share[n])[:, None]
        paid = np.zeros(inst.pool.shape)
        np.maximum.at(paid, i, part)
        left = 1 - alloc.utilisation
        full = (p > 0) & (paid > left) & (left <= room)
        short = np.where(np.isfinite(inst.limit), 1 - alloc.totals / inst.limit, np.inf)
        worth = mu / cheapest
        capped = (mu > 0) & (worth > short)
        return cls(
            market, n, i, Twofold.of(held), Twofold.of(np.where(full, p, 0.0).ravel()),
            Twofold.of(np.where(capped, mu, 0.0)), full.ravel(), capped,
        )  # fmt: skip

    @cached_property
    def place(self) -> Place:
        """Tasks and prices, what is negative being 0."""
        return Place(
            (self.n, self.i), *(
                Twofold(*(np.where(number.high > 0, part, 0.0) for part in number))
                for number in (self.tasks, self.price, self.limit_price)
            )
        )  # fmt: skip

    def stepped(self) -> _Point | None:
        """One Newton step, then the active set corrected; None if the step cannot be made."""
        market, n, i = self.market, self.n, self.i
        inst, resources = market.instance, market.instance.shape[2]
        here = self.place
        if min(part.high.min() for part in (self.tasks, self.price, self.limit_price)) < 0:
            here = Place((n, i), self.tasks, self.price, self.limit_price)
        share, score = market.share(here), market.score[n, i]
        value = np.exp(market.log_w - market.alpha * np.log(share))  # of a unit of share
        root = np.sqrt(value * share)
        part = score * self.tasks.high / share[n]
        # the error of each user's largest pair beside its value, of the others beside that pair
        cost = market.cost(here, n, i)
        first = _largest(n, part, len(share))
        tie = cost.minus(cost.at(first[n])) / cost.high[first[n]]
        wrong = (np.log(cost.high[first] / value)[n] + tie) * cost.high / value[n] * root[n]
        # a pair's unit of tasks, and rows and limits of norm 1 in those units
        unit = share[n] / score / root[n]
        need = inst.demand_by_server[n, i] * unit[:, None] * self.full.reshape(-1, resources)[i]
        place = (i[:, None] * resources + np.arange(resources)).ravel()
        norm = _norm(place, need.ravel(), inst.pool.size)
        limit = np.where(self.capped[n], unit, 0.0)
        limit_norm = _norm(n, limit, len(share))
        system = System(
            len(share), inst.shape[1], market.alpha, n, i, np.maximum(part, LEAST),
            need / norm[place].reshape(need.shape), limit / limit_norm[n],
        )  # fmt: skip
        room = np.where(self.capped, market.room(here), 0.0)
        found = system.solved(-wrong, market.left(here) / norm, room / limit_norm)
        if found is None:
            return None
        y, z, limit_step = found
        return self._changed(y * unit, z / norm, limit_step / limit_norm)

    def _changed(self, more: Floats, dearer: Floats, limit_dearer: Floats) -> _Point | None:
        """The point after a step: what turned negative leaves, what overruns enters.

        What is negative by far less than the step may be 0 at the end, and stays.
        """
        market, n, i = self.market, self.n, self.i
        inst = market.instance
        tasks, price = self.tasks.plus(more), self.price.plus(dearer)
        limit_price = self.limit_price.plus(limit_dearer)
        keep = np.flatnonzero(tasks.high > -STAYS * np.abs(more))
        n, i, tasks = n[keep], i[keep], tasks.at(keep)
        if not _all_hold(n, inst.shape[0]):
            return None
        full = self.full & (price.high >= -STAYS * np.abs(dearer))
        capped = self.capped & (limit_price.high >= -STAYS * np.abs(limit_dearer))
        price = Twofold(*(np.where(full, part, 0.0) for part in price))
        limit_price = Twofold(*(np.where(capped, part, 0.0) for part in limit_price))
        point = _Point(market, n, i, tasks, price, limit_price, full, capped)
        place = point.place
        full = full | (market.left(place) < -DIGITS * inst.pool.ravel())
        capped = capped | (market.room(place) < -DIGITS * inst.limit)
        n, i, tasks = point._with_cheaper()
        point = _Point(market, n, i, tasks, price, limit_price, full, capped)
        # the pairs that entered hold no tasks yet
        remembered(point.place, "_left", lambda: market.left(place))
        remembered(point.place, "_room", lambda: market.room(place))
        return point

    def _with_cheaper(self) -> tuple[Ints, Ints, Twofold]:
        """Pairs and tasks, with no tasks yet on pairs that cost clearly less than those held."""
        market, n, i, tasks, place = self.market, self.n, self.i, self.tasks, self.place
        inst = market.instance
        held = np.zeros(inst.shape[:2], dtype=bool)
        held[n, i] = True
        most = np.full(inst.shape[0], np.inf)
        np.minimum.at(most, n, market.cost(place, n, i).high)
        price = place.price.high.reshape(inst.pool.shape)
        added: list[tuple[Ints, Ints]] = []
        for users in inst.blocks():
            cost = task_cost(inst, price, users, place.limit_price.high)
            cheap = cost < market.score[users] * (most[users] * (1 - CHEAPER))[:, None]
            a, b = np.nonzero(cheap & inst.eligible[users] & ~held[users])
            added.append((a + users.start, b))
        a, b = (np.concatenate(side) for side in zip(*added, strict=True))
        none = np.zeros(len(a))
        tasks = Twofold(*(np.concatenate([part, none]) for part in tasks))
        return np.concatenate([n, a]), np.concatenate([i, b]), tasks


def _all_hold(n: Ints, users: int) -> bool:
    """Whether each of the users is among n."""
    return bool((np.bincount(n, minlength=users) > 0).all())


def _largest(n: Ints, part: Floats, users: int) -> Ints:
    """(users,) where each user's largest part is, the first of those alike."""
    most = np.full(users, -np.inf)
    np.maximum.at(most, n, part)
    at = np.flatnonzero(part == most[n])[::-1]
    found = np.zeros(users, dtype=n.dtype)
    found[n[at]] = at
    return found


def _norm(place: Ints, entry: Floats, size: int) -> Floats:
    """(size,) square root of the sum of squares at each place; 1 where there is nothing."""
    found = np.sqrt(np.bincount(place, entry**2, size))
    return np.where(found > 0, found, 1.0)
