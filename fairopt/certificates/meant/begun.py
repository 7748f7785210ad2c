"""The rounds of an answer as lots: users, and the prices that prove that they are stopped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import PRICES, listed_prices
from fairopt.certificates.levels import Order
from fairopt.certificates.meant.lots import Lot
from fairopt.certificates.meant.system import System
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.lowered import LIMIT, PLACE
from fairopt.instance import Floats, Ints

MET = 1e-9
"""part of its limit that a user may be below"""


def of_rounds(system: System, alloc: Allocation, asked: Entitled) -> list[Lot]:
    """The lots that an answer's rounds tell."""
    some = system.some
    position = {name: n for n, name in enumerate(alloc.instance.users)}
    found, limits = list[Lot](), None
    for k, told in enumerate(alloc.rounds or ()):
        users = np.array([position[name] for name in told["users"]], dtype=np.int64)
        users = users[some[users]]
        if not len(users):
            continue
        if not any(np.any(price) for price in told["prices"].values() if price is not None):
            # whom their own limits stop, one by one
            limits = _OwnLimitPrices(system, alloc) if limits is None else limits
            lots = [(np.array([n]), limits.of(n)) for n in users.tolist()]
        else:
            named = {name: told["prices"].get(name) for name in PRICES}
            own = alloc.with_(**named, rounds=None)
            lots = [(users, listed_prices(own, system.low) * system.row_unit)]
        for some_users, price in lots:
            rank = int(asked.rank[some_users[0]])
            found.append(Lot(some_users, rank, k, price, float(told["t"])))
    return found


class _OwnLimitPrices:
    """Prices of users' own limits: of the whole one where that is met, else of those on servers."""

    def __init__(self, system: System, alloc: Allocation) -> None:
        low = system.low
        self.rows = np.flatnonzero(np.isin(low.kind, (LIMIT, PLACE)))
        self.rows = self.rows[np.argsort(low.one[self.rows], kind="stable")]
        self.owner, self.whole = low.one[self.rows], low.kind[self.rows] == LIMIT
        entry = low.matrix.tocsr()[self.rows].tocoo()
        (row, column), value = entry.coords, entry.data
        self.price = np.zeros(len(self.rows))
        task = column < low.columns
        each = low.score[column[task]] / value[task]
        np.maximum.at(self.price, row[task], each)
        self.price *= system.row_unit[self.rows]
        limit = alloc.instance.limit
        self.met = alloc.instance.ways.running(alloc.by_way).sum(axis=1) >= limit * (1 - MET)
        self.many = len(low.rhs)

    def of(self, n: int) -> Floats:
        """(M,) of one user; of all other rows 0, pages that nobody has written."""
        first, last = np.searchsorted(self.owner, [n, n + 1])
        mine = np.arange(first, last)
        mine = mine[self.whole[mine] == self.met[n]]
        price = np.zeros(self.many)
        price[self.rows[mine]] = self.price[mine]
        return price


def of_levels(system: System, alloc: Allocation, order: Order) -> list[Lot]:
    """The lots of a plain answer: of each level those whom the same prices prove best."""
    return list(_of_levels(system, alloc, order))


def _of_levels(system: System, alloc: Allocation, order: Order) -> Iterator[Lot]:
    best, stage, low = order.best, order.stage, system.low
    on = np.flatnonzero(low.kind == LIMIT)
    limit = np.full(len(stage), -1)
    limit[low.one[on]] = on
    some = system.some
    both = set(zip(best[some].tolist(), stage[some].tolist(), strict=True))
    for k, rank in sorted(both, key=_second):
        users = np.flatnonzero((best == k) & (stage == rank) & some)
        if k < 0:  # whom their limits alone stop, one by one
            for n in users[limit[users] >= 0].tolist():
                price = np.zeros(len(low.rhs))
                price[limit[n]] = 1.0
                yield Lot(np.array([n]), 0, rank, price)
            continue
        own = alloc.with_(prices=order.bills.prices[k], limit_prices=None)
        price = listed_prices(own, low)
        capped, slope = order.limits(k)
        by_then = stage[capped] <= rank  # those stopped later pay nothing
        _of_limits(system, alloc, price, (capped[by_then], slope[by_then]), limit)
        yield Lot(users, 0, rank, price * system.row_unit)


def _second(pair: tuple[int, int]) -> tuple[int, int]:
    return pair[1], pair[0]


def _of_limits(
    system: System, alloc: Allocation, price: Floats, slopes: tuple[Ints, Floats], limit: Ints
) -> None:
    """The prices of limits, at which those who are at them run where it is cheapest."""
    capped, slope = slopes
    low = system.low
    at = np.flatnonzero(np.isin(low.owner, capped))
    held = alloc.held[low.owner[at], low.server[at]]
    cost = low.cost(price)[at]
    of = dict(zip(capped.tolist(), slope.tolist(), strict=True))
    top: dict[int, int] = {}
    for c in np.flatnonzero(held > 0).tolist():
        n = int(low.owner[at[c]])
        if n not in top or low.score[at[c]] > low.score[at[top[n]]]:
            top[n] = c
    for n, c in top.items():
        more = of[n] * low.score[at[c]] - cost[c]
        if more > 1e-12 * abs(cost[c]):
            price[limit[n]] = more


__all__ = ["of_levels", "of_rounds"]
