r"""What the prices of plain max-min answers prove (docs/maths/prices.md, "Lexicographic max-min").

With the prices of one level, q_n the cheapest price of a unit of share and B the value of all
capacity, a user n can rise by at most

.. math:: room_n = \frac{B - \sum_{m:\, U_m \le U_n} q_m s_m}{q_n s_n}

of its share while nobody at or below its level falls, whatever happens to users above. Those may
hold too much of what stops n: the excess of a user l above n is the part of its share that it holds
on servers where a task has a price, at most U_l / U_n - 1. What n's own prices leave open is the
larger of its room and of the largest excess above it, both at the prices of one level. What lower
levels leave open counts as well, so that of several levels this is no bound (`bounds`).

A plain answer is a tree without groups: the users of one level are a round, told by the levels
themselves. All rounds are computed at once here, from sums over the users in order of level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.beside_limits import beside_limits
from fairopt.certificates.bounds import Bounds, Paid, of_one_round
from fairopt.certificates.feasibility import shrink
from fairopt.certificates.level_prices import Bills, LevelBill
from fairopt.certificates.tolerance import ROUNDING
from fairopt.formulas import rows
from fairopt.instance import Floats, Ints

TIE = 1e-9
"""levels whose relative difference is at most this are one level"""


def rooms(alloc: Allocation) -> Floats:
    """(N,) the smallest room of each user that the prices of any level prove.

    inf if nothing is proved of the user, 0 if it is at its own limit.
    """
    return Order(alloc).room


def several(alloc: Allocation) -> bool:
    """Whether an answer has more than one level."""
    level = np.sort(alloc.levels)
    return bool((level[1:] > level[:-1] * (1 + TIE)).any())


class Order:
    """What the prices prove about the levels.

    share : (N,) of tasks times `factor`, so that all fit.
    room : (N,) of each user, at the prices that are best for it. excess : (N,) of each user, the
    part of its share that it holds of what stops those below it, at most what it is above them.
    bounds : of one round. rounds : levels that pass errors on to one another.
    stage, best : (N,) the level of each user, and which of `bills` prove most of it; -1: its limit.
    """

    def __init__(self, alloc: Allocation) -> None:
        inst = alloc.instance
        self._alloc, self.factor = alloc, shrink(alloc)
        self.share = np.maximum(alloc.shares, 0.0) * self.factor
        self.level = self.share / inst.weight
        self._order = np.argsort(self.level, kind="stable")
        self._level = self.level[self._order]
        # users up to and with the ties of each position
        self._last = np.searchsorted(self._level, self._level * (1 + TIE), side="right")
        self.stage = self._stages()
        self.bills = Bills(alloc, self.share, self.factor)
        self.best = np.full(len(self.share), -1)
        self.room = _to_limit(alloc, self.share)
        best = self.room.copy()
        paid: dict[int, _BillKept] = {}
        for k in range(len(self.bills)):
            bill = self.bills[k]
            room = self._rooms(bill)
            residual = np.maximum(room, self._above(bill.priced, room))
            # a level of little money beside all that is paid is lost in the rounding of that
            here = np.bincount(self.stage, bill.cheapest)[self.stage]
            with np.errstate(divide="ignore", invalid="ignore"):
                residual += np.where(here > 0, ROUNDING * float(bill.cheapest.sum()) / here, 0.0)
            self.room = np.fmin(self.room, room)
            better = residual < best
            self.best[better], best[better] = k, residual[better]
            if better.any():
                money = bill.cheapest.copy()
                if len(bill.capped):
                    money[bill.capped] = bill.limits.second * self.share[bill.capped]
                who = np.flatnonzero(money > 0)
                dear = np.flatnonzero(bill.priced > 0)
                paid[k] = _BillKept(
                    room, who, money[who], bill.cheapest[who], dear, bill.priced[dear]
                )
        paid = {k: bill for k, bill in paid.items() if (self.best == k).any()}
        self.excess = self._excess(paid)
        self.rounds = int(self.stage.max()) + 1
        beside = None
        if self.rounds > 1:
            least = {k: self._money(bill) for k, bill in paid.items()}
            known = self._known(paid)
            beside = beside_limits(alloc, self.share, self.factor, self.best, known, least)
        self.rounds = self.rounds if beside is None else 1
        self.bounds = self._bounds(paid) if beside is None else beside

    def limits(self, k: int) -> tuple[Ints, Floats]:
        """Users at limits whose score depends on the server, and what the last unit of their share
        costs at the k-th prices; the next one, where the last costs nothing."""
        bill = self.bills[k]
        first, second = bill.limits.first, bill.limits.second
        return bill.capped, np.where((first > 0) | ~np.isfinite(second), first, second)

    def _stages(self) -> Ints:
        """(N,) the round in which each is stopped: users within TIE of the lowest of a round."""
        stage, rank = np.empty(len(self._order), dtype=np.int64), 0
        level, at = self._level, 0
        while at < len(level):
            end = max(int(self._last[at]), at + 1)
            stage[self._order[at:end]] = rank
            at, rank = end, rank + 1
        return stage

    def _bounds(self, paid: dict[int, _BillKept]) -> Bounds:
        proofs = list[Paid]()
        for k, bill in paid.items():
            mine = np.flatnonzero(self.best == k)
            proofs.append(Paid(mine, self._money(bill)[mine], bill.who, bill.money, bill.gives))
        return of_one_round(self._known(paid), self.excess, proofs)

    def _known(self, paid: dict[int, _BillKept]) -> Floats:
        """(N,) room of each at the prices that are best for it."""
        room = self.room.copy()
        for k, bill in paid.items():
            mine = self.best == k
            room[mine] = bill.room[mine]
        return room

    def _money(self, bill: _BillKept) -> Floats:
        """(N,) the least that the share of each costs, or its next unit."""
        found = np.zeros(len(self.share))
        found[bill.who] = bill.money
        return found

    def _excess(self, paid: dict[int, _BillKept]) -> Floats:
        """(N,) what each holds of what stops users below it, at the prices best for them."""
        found = np.zeros(len(self.level))
        for k, bill in paid.items():
            lowest = float(self.level[self.best == k].min())
            mine = self.level[bill.dear]
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                part = np.fmin(bill.priced, 1 - lowest / mine)
            part = np.where(mine > lowest * (1 + TIE), part, 0.0)
            found[bill.dear] = np.fmax(found[bill.dear], part)
        # of those that are stopped together, whoever is above the lowest
        least = np.full(int(self.stage.max()) + 1, np.inf)
        np.minimum.at(least, self.stage, self.level)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(self.level > 0, 1 - least[self.stage] / self.level, 0.0)
        return np.fmax(found, np.where(above > ROUNDING, above, 0.0))

    def _rooms(self, bill: LevelBill) -> Floats:
        """(N,) room: money left, overpaid, or spent by users above, relative to the user's."""
        order, last = self._order, self._last
        money = np.empty(len(order))
        # a sum of terms >= 0, since the difference of budget and payments would lose its digits
        over = np.cumsum(bill.over[order])[last - 1]
        above = np.append(np.cumsum(bill.spent[order][::-1])[::-1], 0.0)[last]
        money[order] = bill.idle + over + above
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room = np.where(bill.cheapest > 0, money / bill.cheapest, np.inf)
        if len(bill.capped):
            room[bill.capped] = bill.limits.room(money[bill.capped])
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


class _BillKept(NamedTuple):
    """What is kept of the bill at prices that are best for somebody.

    room : (N,). who, money, gives : who pays, and how much (`bounds.Paid`). dear, priced : who
    holds a part of its share where tasks have a price, and that part.
    """

    room: Floats
    who: Ints
    money: Floats
    gives: Floats
    dear: Ints
    priced: Floats


def _to_limit(alloc: Allocation, share: Floats) -> Floats:
    """(N,) room up to the limit, with all tasks where the score is highest; 0 within rounding."""
    inst = alloc.instance
    limited = np.flatnonzero(np.isfinite(inst.limit))
    room = np.full(len(share), np.inf)
    if len(limited):
        with np.errstate(divide="ignore", over="ignore"):
            most = inst.limit[limited] * rows.largest(alloc.score[limited])
            room[limited] = np.maximum(most / share[limited] - 1, 0.0)
        room[room <= ROUNDING] = 0.0
    return room
