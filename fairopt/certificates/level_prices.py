"""What each user pays at the prices of one level.

Only ratios of prices matter, so prices are scaled by a power of two until all capacity of the
dearest resource costs about 1. That changes no digit, and no product overflows. Prices that still
underflow count as 0 and prove nothing. Solvers leave noise in prices, so each level is judged with
all its prices and again without those that are a tiny part of its money; any prices are a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.pushed import PAIRS
from fairopt.certificates.tolerance import ROUNDING
from fairopt.certificates.within import CheapestWithin
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints

TRIFLES = (1e-100, 1e-12, 1e-9)
"""prices of less than this part of a level's money are left out; each is tried, 1st = underflow"""
LEAST = 1e-280
"""a smaller price of a unit of share has lost digits to underflow"""
NEAR = 1e-9
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

    def turned(
        self, k: int, money: float, too_dear: Ints, chooses: Bools
    ) -> tuple[Ints, Floats, Floats]:
        """Rows, and the part of each that users may ask for if money moves between servers; and for
        each unit of money beyond that.

        Parameters
        ----------
        money : that moves. too_dear : users that hold tasks on pairs dearer than their cheapest;
            all they spend there moves too, and may go where tasks of theirs cost nothing.
        chooses : (N,) who may run elsewhere if others push it out.
        """
        prices, inst, alloc = self.prices[k], self.alloc.instance, self.alloc
        pool = np.where(inst.pool > 0, inst.pool, 1.0)
        asked, free, other = (np.zeros(inst.pool.shape) for _ in range(3))
        dear = np.flatnonzero(prices.any(axis=1))
        at = _Columns(prices[dear], dear, np.setdiff1d(np.arange(len(prices)), dear), [])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for n in too_dear.tolist():
                cost, score = np.zeros(len(prices)), np.where(inst.eligible[n], alloc.score[n], 0.0)
                cost[dear] = self._cost(np.array([n]), at)[0]
                each = np.where(score > 0, cost / score, np.inf)
                above = each > each.min(initial=np.inf) * (1 + ROUNDING)
                held = np.where(above, alloc.held[n], 0.0)
                money += float(held @ cost)
                tasks = np.where(each == 0, float(held @ score) / score, 0.0)
                free += tasks[:, None] * inst.demand[n] / pool
            for users in inst.blocks():
                cost = self._cost(users, at)
                demand = inst.demand[users]
                demand = demand[:, dear] if demand.ndim == 3 else demand[:, None, :]
                tasks = np.where((cost > 0) & inst.eligible[users][:, dear], 1.0 / cost, 0.0)
                per = (money * tasks)[:, :, None] * demand
                asked[dear] = np.maximum(asked[dear], per.max(axis=0, initial=0.0) / pool[dear])
                per = tasks[chooses[users], :, None] * demand[chooses[users]]
                other[dear] = np.maximum(other[dear], per.max(axis=0, initial=0.0) / pool[dear])
        # of a row with a price, others give way
        asked += free
        asked[prices > 0] = other[prices > 0] = 0.0
        row = np.flatnonzero((asked + other).ravel() > 0)
        return row, np.minimum(asked.ravel()[row], 1.0), other.ravel()[row]

    def elsewhere(self, k: int | None, users: Ints) -> tuple[Ints, Ints, Floats]:
        """Of these users the rows of servers where they pay nothing at the k-th prices (of all
        servers if None), and the part of each row that they take there for their whole share
        (`crowds.Elsewhere`)."""
        inst = self.alloc.instance
        prices = np.zeros(inst.pool.shape) if k is None else self.prices[k]
        everywhere = np.arange(len(prices))
        cost = self._cost(users, _Columns(prices, everywhere, everywhere[:0], []))
        n, i = np.nonzero(inst.eligible[users] & (cost <= 0))
        user = users[n]
        demand = inst.demand[user] if inst.demand.ndim == 2 else inst.demand[user, i]
        tasks = self.share[user] / self.alloc.score[user, i]
        takes = tasks[:, None] * demand / np.where(inst.pool > 0, inst.pool, 1.0)[i]
        pair, r = np.nonzero(takes)
        return n[pair], i[pair] * inst.shape[2] + r, takes[pair, r]

    def several_prices(self, k: int, users: Ints) -> Callable[[], tuple[Ints, Floats]] | None:
        """What these users pay for where at the k-th prices (`crowds.Choices`)."""
        if ((self.prices[k] > 0).sum(axis=1) > 1).any():
            return partial(self._parts, k, users)
        return None

    def _parts(self, k: int, users: Ints) -> tuple[Ints, Floats]:
        """Of pairs that are cheapest, the user and what a unit of money pays for each row."""
        prices, inst = self.prices[k], self.alloc.instance
        everywhere = np.arange(len(prices))
        cost = self._cost(users, _Columns(prices, everywhere, everywhere[:0], []))
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.where(inst.eligible[users], cost / self.alloc.score[users], np.inf)
        least = unit.min(axis=1)[:, None]
        n, i = np.nonzero((unit <= least * (1 + NEAR)) & (least > 0))
        demand = inst.demand[users[n]] if inst.demand.ndim == 2 else inst.demand[users[n], i]
        if len(n) > PAIRS:
            return users[n], np.zeros((0, 0))
        part = np.zeros((len(n), *prices.shape))
        part[np.arange(len(n)), i] = demand * prices[i] / cost[n, i][:, None]
        part = part.reshape(len(n), prices.size)
        return users[n], part[:, part.any(axis=0)]

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
        q[eligible[:, at.free].any(axis=1) | (q < LEAST)] = 0.0
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
    for i, r in np.argwhere(asked & (left < NEAR) & ((left > ROUNDING) | (not few))).tolist():
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
