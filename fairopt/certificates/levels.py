r"""The judge of lexicographic max-min answers (docs/maths/prices.md, "Lexicographic max-min").

With the prices of one level, q_n the cheapest price of a unit of share and B the value of all
capacity, a user n can rise by at most

.. math:: room_n = \frac{B - \sum_{m:\, U_m \le U_n} q_m s_m}{q_n s_n}

of its share while nobody at or below its level falls, whatever happens to users above. Those may
hold too much of what stops n: the excess of a user l above n is the part of its share that it holds
on servers where a task has a price, at most U_l / U_n - 1. The residual of n is the larger of its
room and of the largest excess above it, both at the prices of one level. If it is at most 1e-6 for
every user, each at the prices of some level, all levels are proved from both sides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import (
    CERTIFIED,
    REFUTED,
    UNPROVED,
    Certificate,
    Check,
    Intervals,
    Told,
)
from fairopt.certificates.due import due, lowest, told
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.level_prices import Bill, Bills
from fairopt.certificates.words import notes
from fairopt.formulas import rows
from fairopt.instance import Floats, remembered

TOLERANCE = 1e-6
TIE = 1e-9
"""levels whose relative difference is at most this are one level"""


def rooms(alloc: Allocation) -> Floats:
    """(N,) the smallest room of each user that the prices of any level prove.

    inf if nothing is proved of the user, 0 if it is at its own limit.
    """
    return Order(alloc).room


def residuals(alloc: Allocation) -> Floats:
    """(N,) the larger of each user's room and the largest excess above it, at its best prices."""
    return Order(alloc).residual


class Order:
    """What the prices prove about the levels.

    room, residual : (N,) of each user, at the prices that are best for it.
    """

    def __init__(self, alloc: Allocation) -> None:
        inst = alloc.instance
        factor = shrink(alloc)
        share = np.maximum(alloc.shares, 0.0) * factor
        self.level = share / inst.weight
        self._order = np.argsort(self.level, kind="stable")
        self._level = self.level[self._order]
        # users up to and with the ties of each position
        self._last = np.searchsorted(self._level, self._level * (1 + TIE), side="right")
        self._bills = Bills(alloc, share, factor)
        self._best = np.full(len(share), -1)
        self.room = _to_limit(alloc, share)
        self.residual = self.room.copy()
        for k in range(len(self._bills)):
            bill = self._bills[k]
            room = self._rooms(bill)
            residual = np.maximum(room, self._above(bill.priced, room))
            self.room = np.fmin(self.room, room)
            better = residual < self.residual
            self._best[better], self.residual[better] = k, residual[better]

    def _rooms(self, bill: Bill) -> Floats:
        """(N,) room: money left, overpaid, or spent by users above, relative to the user's."""
        order, last = self._order, self._last
        room = np.empty(len(order))
        # a sum of terms >= 0, since the difference of budget and payments would lose its digits
        over = np.cumsum(bill.over[order])[last - 1]
        above = np.append(np.cumsum(bill.spent[order][::-1])[::-1], 0.0)[last]
        cheapest = bill.cheapest[order]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room[order] = np.where(cheapest > 0, (bill.idle + over + above) / cheapest, np.inf)
        return np.where(np.isnan(room), np.inf, room)

    def _above(self, priced: Floats, room: Floats) -> Floats:
        """(N,) largest excess of the users above each user; 0 if it is at most the room.

        It is max over l of min(part_l, U_l/U_n - 1). With users in order of level, the largest part
        from l on falls with l and U_l/U_n - 1 rises, so the maximum is where the two cross.
        """
        order, level, users = self._order, self._level, len(self._order)
        most = np.append(np.maximum.accumulate(priced[order][::-1])[::-1], 0.0)
        asked = np.flatnonzero(most[self._last] > room[order])
        low, high = self._last[asked], np.full(len(asked), users)
        start, mine = low.copy(), level[asked]
        with np.errstate(divide="ignore", over="ignore"):
            while (low < high).any():
                middle = (low + high) // 2
                at = np.minimum(middle, users - 1)
                crossed = level[at] / mine - 1 >= most[at]
                high = np.where(crossed, middle, high)
                low = np.where(crossed, low, np.minimum(middle + 1, high))
            before = np.where(low > start, level[np.maximum(low - 1, 0)] / mine - 1, 0.0)
        excess = np.zeros(users)
        excess[order[asked]] = np.maximum(most[low], before)
        return excess

    def excess(self) -> Floats:
        """(N,) largest excess of each user over those below it, at the prices best for them."""
        found = np.zeros(len(self.level))
        for k in np.unique(self._best[self._best >= 0]):
            lowest = float(self.level[self._best == k].min())
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                part = np.minimum(self._bills[k].priced, self.level / lowest - 1)
            found = np.fmax(found, np.where(self.level > lowest * (1 + TIE), part, 0.0))
        return found


def _to_limit(alloc: Allocation, share: Floats) -> Floats:
    """(N,) room up to the limit, with all tasks where the score is highest; 0 within rounding."""
    inst = alloc.instance
    limited = np.flatnonzero(np.isfinite(inst.limit))
    room = np.full(len(share), np.inf)
    if len(limited):
        with np.errstate(divide="ignore", over="ignore"):
            most = inst.limit[limited] * rows.largest(alloc.score[limited])
            room[limited] = np.maximum(most / share[limited] - 1, 0.0)
        room[room <= 1e-9] = 0.0
    return room


def judge(alloc: Allocation) -> Certificate:
    """Certified: feasible, and a residual of at most 1e-6 for every user at some level's prices.

    `gap` is the room of the lowest level, `residual` the largest residual of any user. Without
    prices they are worked out (`due`); if they prove who is due what, a division that is another is
    refuted.
    """
    if alloc.level_prices is not None:
        return _judged(alloc)
    found = due(alloc)
    if found is None:
        return _judged(alloc)
    prices = [each["prices"]["prices"] for each in found.rounds or ()]
    verdict = _judged(alloc.with_(level_prices=[*prices, lowest(alloc)]))
    proof = _judged(found.with_(level_prices=prices))
    if verdict.verdict == UNPROVED and proof.certified:
        words = told(alloc, found)
        return replace(verdict, verdict=REFUTED, intervals=proof.intervals, notes=words)
    return verdict


def _judged(alloc: Allocation) -> Certificate:
    """The verdict on an answer with level prices."""
    feasible = feasibility(alloc)
    # kept with the answer, whose arrays nobody can write to: it is judged while it is solved too
    order: Order = remembered(alloc, "_order", lambda: Order(alloc))
    room, residual = order.room, order.residual
    users = alloc.instance.users
    worst, lowest = int(np.argmax(residual)), int(np.argmin(alloc.levels))
    checks = (
        *feasible,
        Check.of("room of the lowest", room[lowest], TOLERANCE, users[lowest]),
        Check.of("room of every user, excess above it", residual[worst], TOLERANCE, users[worst]),
    )
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    if not all(c.holds for c in feasible):
        verdict = REFUTED
    loose = residual > TOLERANCE
    if loose.any():
        loose |= order.excess() > TOLERANCE
    share = np.maximum(alloc.shares, 0.0)

    def ends() -> tuple[Floats, Floats]:
        # if nothing is proved of a user, its share has no bound, even if it is 0
        most = np.multiply(
            share, 1 + room, out=np.full(len(users), np.inf), where=np.isfinite(room)
        )
        return share * (1 - np.minimum(order.excess(), 1.0)), most

    spans = Intervals(len(users), ends)
    told = Told(lambda: tuple(notes(alloc)))
    pinned_not = tuple([users[n] for n in np.flatnonzero(loose).tolist()])
    return Certificate(
        verdict, float(room[lowest]), float(residual[worst]), pinned_not, checks, spans, told
    )
