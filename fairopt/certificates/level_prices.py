"""What each user pays at the prices of one level.

Only ratios of prices matter, so prices are scaled by a power of two until all capacity of the
dearest resource costs about 1. That changes no digit, and no product overflows. Prices that still
underflow count as 0 and prove nothing. Solvers leave noise in prices, so each level is judged with
all its prices and again without those that are a tiny part of its money; any prices are a proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.tolerance import ROUNDING
from fairopt.certificates.within import CheapestWithin
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints

TRIFLES = (1e-100, 1e-12, 1e-9)
"""prices of less than this part of a level's money are left out; each is tried, 1st = underflow"""
LEAST_SHARE_PRICE = 1e-280
"""a smaller price of a unit of share has lost digits to underflow"""
NEARLY_FULL = 1e-9
"""if a smaller part of a resource than this is left, its use is summed exactly"""


NOBODY = CheapestWithin(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class LevelBill:
    """What users pay at the prices of one level.

    Parameters
    ----------
    cheapest : (N,) the least that the user's share can cost, q_n s_n.
    spent : (N,) what its tasks cost.
    over : (N,) spent less the least, beyond rounding. For a user at its limit the least is computed
        with that limit.
    priced : (N,) part of the share held on servers where a task has a price.
    idle : price of all that is left of resources, beyond the rounding of the tasks that use them.
    capped, limits : users at limits whose score depends on the server, and what shares cost them.
    """

    cheapest: Floats
    spent: Floats
    over: Floats
    priced: Floats
    idle: float
    capped: Ints
    limits: CheapestWithin


def cleaned(prices: Floats, pool: Floats) -> Iterator[Floats]:
    """The prices (I, R) of a level, scaled, all of them, then without the smallest."""
    mantissa, power = np.frexp(prices)
    size, more = np.frexp(pool)
    money, power_of_money = mantissa * size, power + more
    if not money.any():
        return
    top = int(power_of_money[money > 0].max())
    with np.errstate(under="ignore", over="ignore"):
        money = np.ldexp(money, power_of_money - top)
        scaled = np.ldexp(prices, -top)
    kept: Bools | None = None
    for trifle in TRIFLES:
        keep = money > trifle * float(money.sum())
        if kept is None or not np.array_equal(keep, kept):
            yield np.where(keep, scaled, 0.0)
        kept = keep


class Bills:
    """The bills of an answer at the cleaned prices of its levels, computed one at a time.

    Parameters
    ----------
    share : (N,) the shares once all tasks are scaled by `factor`.
    """

    def __init__(self, alloc: Allocation, share: Floats, factor: float) -> None:
        self.alloc, self.share, self.factor = alloc, share, factor
        inst = alloc.instance
        levels = () if alloc.level_prices is None else alloc.level_prices
        self.prices = [found for prices in levels for found in cleaned(prices, inst.pool)]
        self._like = _alike(alloc)
        asked = np.max(self.prices, axis=0, initial=0.0) > 0
        self._left = _left(alloc, factor, np.broadcast_to(asked, inst.pool.shape))
        with np.errstate(over="ignore"):
            capped = alloc.totals >= inst.limit * (1 - 1e-9)
        self.capped = np.array(
            [n for n in np.flatnonzero(capped).tolist() if _several(alloc, n)], dtype=np.int64
        )

    def __len__(self) -> int:
        return len(self.prices)

    def __getitem__(self, k: int) -> LevelBill:
        prices, inst = self.prices[k], self.alloc.instance
        first, place = np.unique(self._like, return_inverse=True)
        dear = prices[first].any(axis=1)
        columns = _Columns(
            prices[first[dear]],
            first[dear],
            first[~dear],
            [np.flatnonzero(place == h) for h in np.flatnonzero(dear)],
        )
        found = np.empty((4, len(self.share)))
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            for users in inst.blocks():
                found[:, users] = self._paid(users, columns)
            limits, n = self._limits(columns) if len(self.capped) else NOBODY, self.capped
            if len(n):
                found[0, n], over = limits.first * self.share[n], found[1, n] - limits.least
                # the last digit of the share costs what the next unit does
                size = found[1, n] + limits.second * self.share[n]
                found[2, n] = np.where(over > ROUNDING * size, over, 0.0)
            idle = float((prices * inst.pool * self._left).sum())
        return LevelBill(found[0], found[1], found[2], found[3], idle, n, limits)

    def _cost(self, users: slice | Ints, at: _Columns) -> Floats:
        """(users, H) price of a task on these servers."""
        demand = self.alloc.instance.demand[users]
        demand = demand[:, at.servers] if demand.ndim == 3 else demand[:, None, :]
        cost: Floats = demand[:, :, 0] * at.prices[:, 0]
        for r in range(1, at.prices.shape[1]):
            cost += demand[:, :, r] * at.prices[:, r]
        return cost

    def _paid(self, users: slice, at: _Columns) -> tuple[Floats, ...]:
        """`cheapest`, `spent`, `over` and `priced` of these users."""
        alloc, eligible = self.alloc, self.alloc.instance.eligible[users]
        u, open_ = alloc.score[users][:, at.servers], eligible[:, at.servers]
        cost = self._cost(users, at)
        held = np.stack([rows.total(alloc.held[users][:, like]) for like in at.alike], axis=1)
        held *= self.factor
        q = rows.least(np.divide(cost, u, out=np.full(cost.shape, np.inf), where=open_))
        # a user with an eligible server that costs nothing need not pay anything
        q[eligible[:, at.free].any(axis=1) | (q < LEAST_SHARE_PRICE)] = 0.0
        above = cost - q[:, None] * u
        above[above <= ROUNDING * cost] = 0.0
        priced = rows.total(held * u * (cost > 0)) / self.share[users]
        return q * self.share[users], rows.total(held * cost), rows.total(held * above), priced

    def _limits(self, at: _Columns) -> CheapestWithin:
        """What shares cost the users at limits, who may need servers of a high score."""
        alloc, n = self.alloc, self.capped
        on = np.concatenate([at.servers, at.free])
        cost = np.zeros((len(n), len(on)))
        cost[:, : len(at.servers)] = self._cost(n, at)
        open_ = alloc.instance.eligible[np.ix_(n, on)]
        u = np.where(open_, alloc.score[np.ix_(n, on)], 0.0)
        return CheapestWithin(np.where(open_, cost, 0.0), u, self.share[n], alloc.instance.limit[n])


@dataclass(frozen=True)
class _Columns:
    """One server of each kind with a price, and all like it; and one of each free kind."""

    prices: Floats
    servers: Ints
    free: Ints
    alike: list[Ints]


def _several(alloc: Allocation, n: int) -> bool:
    """Whether the score of this user depends on the server."""
    score = alloc.score[n, alloc.instance.eligible[n]]
    return bool((score != score[0]).any())


def _left(alloc: Allocation, factor: float, asked: Bools) -> Floats:
    """(I, R) part of each resource that is left, beyond the rounding of the tasks that use it."""
    inst = alloc.instance
    left = np.where(asked, np.maximum(0.0, 1.0 - alloc.utilisation * factor), 0.0)
    # a float's sum of many may also be too much, by as many roundings
    few = len(alloc.held) * 2.0**-53 <= ROUNDING
    for i, r in np.argwhere(
        asked & (left < NEARLY_FULL) & ((left > ROUNDING) | (not few))
    ).tolist():
        demand = inst.demand[..., r] if inst.demand.ndim == 2 else inst.demand[:, i, r]
        part = alloc.held[:, i] * (demand / inst.pool[i, r])
        left[i, r] = max(0.0, 1.0 - float(part.sum()) * factor)
        if ROUNDING < left[i, r] < 64 * ROUNDING:
            left[i, r] = max(0.0, 1.0 - math.fsum(part[part > 0].tolist()) * factor)
    left[left <= ROUNDING] = 0.0
    return left


def _alike(alloc: Allocation) -> Ints:
    """(I,) for every server the first with the same eligible users, scores, demand and prices.

    If that is not cheap to compare (scores or demand depend on the server), the server itself.
    """
    inst = alloc.instance
    servers = np.arange(len(inst.servers))
    if inst.demand.ndim == 3 or alloc.level_prices is None:
        return servers
    by_server = np.moveaxis(alloc.level_prices, 1, 0)
    keys = [
        np.packbits(inst.eligible, axis=0).T,
        np.ascontiguousarray(by_server.reshape(len(servers), -1)).view(np.uint8),
    ]
    seen: dict[bytes, int] = {}
    like = np.array([seen.setdefault(key.tobytes(), k) for k, key in enumerate(np.hstack(keys))])
    for users in inst.blocks():
        score = alloc.score[users]
        if not np.array_equal(score[:, like], score):
            return servers
    return like
