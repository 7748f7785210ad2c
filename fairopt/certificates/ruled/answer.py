r"""An answer beside all rules of its instance: what each row holds, and what prices make of it.

With prices p of capacity, mu of limits, nu of limits on a server, m of ceilings and pi of quotas,
all >= 0, a running task of way k of user n on server i costs

.. math:: c_{k,i} = \sum_r d_{k,i,r} \big( p_{i,r} + \sum_{b \ni (n,i,r)} m_b
          + \sum_{f \ni (i,r)} \pi_{f,n} \big) + \mu_n + \nu_{n,i} + \sum_j (m_j - o_j) a_{j,k,i} ,

with m_j and o_j >= 0 of what own rules allow and ask; a unit of share at least q_n = min c/u, and
sum q_n s_n <= B for every feasible answer, B being the value of all that is priced. The difference
is a sum of terms that are never negative: what is left of every row (`idle`), and what tasks cost
above the cheapest (`over`). Where a rule that asks makes a task cost less than nothing, it counts
as free, and the most that all such tasks could be paid is part of B and of `idle`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.level_prices import LEAST_SHARE_PRICE
from fairopt.certificates.ruled import lending
from fairopt.certificates.ruled.lending import Flow
from fairopt.certificates.ruled.prices import PricesGiven, cleaned, none
from fairopt.certificates.tolerance import ROUNDING
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats

NEGLIGIBLE = 1e-12
"""part of what a user is due alone that counts as nothing: what rounding leaves"""
FREE = 1e-12
"""part of what a task pays and is paid by rules that counts as rounding"""


@dataclass(frozen=True)
class Bill:
    """What is paid at some prices.

    Parameters
    ----------
    cheapest : (N,) q, of a unit of share. over : (N,) paid above that, beyond rounding.
    priced : (N,) part of the share where a task has a price. idle : value of all that is left.
    budget : B.
    """

    cheapest: Floats
    over: Floats
    priced: Floats
    idle: float
    budget: float


class Ruled:
    """An answer and its rules.

    owner (K,), demand (K, I, R) or (K, 1, R), eligible (K, I), score (K, I) share of a running
    task, given (K, I) tasks as stated, tasks (K, I) as held: >= 0, where eligible, times `factor`.
    share (N,) of those held. running (N,) tasks of each user.
    """

    def __init__(self, alloc: Allocation, factor: float = 1.0) -> None:
        inst = alloc.instance
        ways = inst.ways
        self.alloc, self.inst, self.tree = alloc, inst, inst.tree
        self.layers = lending.depths(inst.tree.parent)
        self.owner, self.eligible = ways.owner, ways.eligible
        self.demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
        self.score = alloc.score[ways.owner] * ways.speed[:, None]
        self.given = given_tasks(alloc)
        self.tasks = np.where(self.eligible, np.maximum(self.given, 0.0), 0.0) * factor
        self.share = self._by_user(rows.total(self.score * self.tasks))
        self.running = self._by_user(rows.total(self.tasks))

    def _by_user(self, per_way: Floats) -> Floats:
        return np.bincount(self.owner, per_way, len(self.inst.users)).astype(np.float64)

    @cached_property
    def alone(self) -> Floats:
        """(N,) share that each user could have alone, but for ceilings and quotas."""
        alone = self.inst.alone
        if self.inst.limit_on is not None and self.inst.modes is None:
            alone = np.minimum(alone, self.inst.limit_on)
        return rows.total(self.alloc.score * alone)

    @cached_property
    def most(self) -> Floats:
        """(N,) the largest share within the limits: all tasks where the score is highest, and those
        that limits on servers allow, each at its highest score there."""
        score = np.zeros(self.inst.shape[:2])
        np.maximum.at(score, self.owner, np.where(self.eligible, self.score, 0.0))
        most = self.inst.limit * rows.largest(score)
        if self.inst.limit_on is None:
            return np.asarray(most)
        on = np.where(score > 0, self.inst.limit_on, 0.0)
        return np.minimum(most, rows.total(on * score))

    @cached_property
    def nothing(self) -> Floats:
        """(N,) shares that count as nothing: of what the user could have alone, its part of all
        weights, of that NEGLIGIBLE."""
        part = self.inst.weight / self.inst.weight.sum()
        return np.asarray(NEGLIGIBLE * part * np.minimum(self.alone, self.most))

    def apart(self, right: Floats) -> tuple[Floats, Floats]:
        """(N,) the parts by which shares are off what is due, `right`, and could rise to it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(self.share - right) / np.maximum(right, self.nothing)
            short = np.maximum(right / self.share - 1.0, 0.0)
        zero = (self.share <= self.nothing) & (right <= self.nothing)
        off = np.where((self.share == right) | zero, 0.0, off)
        off = np.where(np.isnan(off), np.inf, off)
        short = np.where(off > 0, short, 0.0)
        return off, np.where(np.isnan(short), np.inf, short)

    @cached_property
    def used(self) -> Floats:
        """(I, R) use of each resource."""
        return np.stack([self.use_of(r).sum(axis=0) for r in range(self.inst.shape[2])], axis=1)

    def use_of(self, r: int) -> Floats:
        """(K, I) use of one resource."""
        found: Floats = self.tasks * self.demand[:, :, r]
        return found

    @cached_property
    def placed(self) -> Floats:
        """(N, I) running tasks of each user on each server."""
        return self._by_place(self.tasks)

    def _by_place(self, per_way: Floats) -> Floats:
        found = np.zeros(self.inst.shape[:2])
        np.add.at(found, self.owner, per_way)
        return found

    def members(self, node: int) -> Bools:
        """(K,) the ways of users at or below a node."""
        found = np.zeros(len(self.inst.users), dtype=bool)
        found[self.tree.below(node)] = True
        return found[self.owner]

    @cached_property
    def under_bounds(self) -> Floats:
        """(B,) use that each ceiling counts."""
        bounds = self.tree.bounds
        return np.array(
            [
                self.use_of(int(bounds.resource[b]))[
                    np.ix_(self.members(int(bounds.node[b])), bounds.servers[b])
                ].sum()
                for b in range(len(bounds))
            ]
        ).reshape(len(bounds))

    @cached_property
    def flows(self) -> list[Flow]:
        """What is lent, for each (flavor, resource) with quotas."""
        found = []
        for row in self.tree.quotas:
            use = np.zeros(len(self.tree.parent))
            mine = self.use_of(row.resource)[:, row.servers].sum(axis=1)
            use[self.tree.leaf] = self._by_user(mine)
            found.append(lending.flow(row, self.tree.parent, self.layers, use))
        return found

    @cached_property
    def counted(self) -> tuple[Floats, Floats]:
        """(J,) what each own rule counts, and the sum of the sizes of what was added."""
        both = [row.held(self.tasks) for row in self.inst.own_rows]
        amounts = np.array(both, dtype=np.float64).reshape(-1, 2)
        return amounts[:, 0], amounts[:, 1]

    @cached_property
    def alone_by_way(self) -> Floats:
        """(K, I) the most tasks of each way alone on each server."""
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(self.demand > 0, self.inst.pool / self.demand, np.inf).min(axis=2)
        most = np.minimum(most, self.inst.limit[self.owner][:, None])
        return np.where(self.eligible, most, 0.0)

    # -- prices ---------------------------------------------------------------------------------

    def none(self) -> PricesGiven:
        """No prices."""
        return none(self.inst)

    def cleaned(self, prices: PricesGiven) -> list[PricesGiven]:
        """Prices to be tried: scaled, finite, all of them, then without trifles (`prices`)."""
        return cleaned(self.inst, self.layers, prices)

    def cost(self, prices: PricesGiven) -> Floats:
        """(K, I) price of a running task."""
        found = self._of_others(prices)
        for rule, (allowed, asked) in zip(self.inst.own_rows, prices.rules, strict=True):
            if allowed or asked:
                found[rule.way, rule.server] += (allowed - asked) * rule.value
        return found

    def _of_others(self, prices: PricesGiven) -> Floats:
        """(K, I) the same but for own rules."""
        found = np.repeat(prices.limits[self.owner][:, None], self.inst.shape[1], axis=1)
        for r in np.flatnonzero(prices.capacity.any(axis=0)).tolist():
            found += self.demand[:, :, r] * prices.capacity[:, r]
        if prices.places.any():
            found += prices.places[self.owner]
        bounds = self.tree.bounds
        for b in np.flatnonzero(prices.bounds).tolist():
            inside = self.members(int(bounds.node[b]))
            found += self._at(int(bounds.resource[b]), inside * prices.bounds[b], bounds.servers[b])
        for row, nodes in zip(self.tree.quotas, prices.nodes, strict=True):
            if nodes.any():
                found += self._at(row.resource, nodes[self.tree.leaf[self.owner]], row.servers)
        return found

    def _at(self, r: int, price: Floats, servers: Bools) -> Floats:
        """(K, I) cost of one resource at prices (K,) on some servers."""
        found: Floats = self.demand[:, :, r] * price[:, None] * servers
        return found

    def bill(self, prices: PricesGiven) -> Bill:
        """What is paid at finite prices."""
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            cost, given_away = self.free(self.cost(prices), prices)
            unit = np.where(self.eligible, cost / self.score, np.inf)
            cheapest = np.full(len(self.inst.users), np.inf)
            np.minimum.at(cheapest, self.owner, rows.least(unit))
            cheapest[cheapest < LEAST_SHARE_PRICE] = 0.0
            above = np.where(self.eligible, cost - cheapest[self.owner][:, None] * self.score, 0.0)
            above[above <= ROUNDING * cost] = 0.0
            over = self._by_user(rows.total(self.tasks * above))
            dear = self._by_user(rows.total(np.where(cost > 0, self.score * self.tasks, 0.0)))
            priced = np.divide(dear, self.share, out=np.zeros_like(dear), where=dear > 0)
            idle, budget = self._idle(prices) + given_away, self.budget(prices) + given_away
            return Bill(cheapest, over, priced, idle, budget)

    def free(self, cost: Floats, prices: PricesGiven) -> tuple[Floats, float]:
        """(K, I) costs with 0 for those below, and the most that all such tasks could be paid.

        What rules pay may be just what a task costs. Prices are floats, so that the difference is
        known up to FREE of what is added: below that the task is free. (A lower price of a unit of
        share proves no less than is true.)
        """
        if not prices.rules[:, 1].any() and not any(
            prices.rules[j, 0] and (row.value < 0).any() for j, row in enumerate(self.inst.own_rows)
        ):
            return cost, 0.0
        size = self._of_others(prices)
        for rule, (allowed, asked) in zip(self.inst.own_rows, prices.rules, strict=True):
            if allowed or asked:
                size[rule.way, rule.server] += abs(allowed - asked) * np.abs(rule.value)
        short = np.where(self.eligible, np.maximum(-cost, 0.0), 0.0)
        cost = np.where((size > cost) & (cost <= FREE * size), 0.0, np.maximum(cost, 0.0))
        return cost, float((short * self.alone_by_way).sum())

    def paid(self, prices: PricesGiven) -> Floats:
        """(N,) what each user's tasks cost."""
        return self._by_user(rows.total(self.tasks * self.cost(prices)))

    def budget(self, prices: PricesGiven) -> float:
        """B, for finite prices."""
        limit = np.where(prices.limits > 0, self.inst.limit, 0.0)
        found = float((prices.capacity * self.inst.pool).sum() + prices.limits @ limit)
        found += float(prices.bounds @ np.where(prices.bounds > 0, self.tree.bounds.amount, 0.0))
        on = prices.places > 0
        if on.any():
            assert self.inst.limit_on is not None
            found += float(prices.places[on] @ self.inst.limit_on[on])
        for row, nodes in zip(self.tree.quotas, prices.nodes, strict=True):
            found += float(lending.value(row, self.tree.parent, nodes).sum())
        for rule, (allowed, asked) in zip(self.inst.own_rows, prices.rules, strict=True):
            found += (allowed - asked) * rule.amount
        return found

    def _idle(self, prices: PricesGiven) -> float:
        """Value of what is left of every row, beyond rounding."""
        found = float((prices.capacity * _left(self.inst.pool, self.used)).sum())
        on = prices.limits > 0
        found += float(prices.limits[on] @ _left(self.inst.limit[on], self.running[on]))
        on = prices.bounds > 0
        found += float(prices.bounds[on] @ _left(self.tree.bounds.amount, self.under_bounds)[on])
        on = prices.places > 0
        if on.any():
            assert self.inst.limit_on is not None
            found += float(prices.places[on] @ _left(self.inst.limit_on, self.placed)[on])
        for row, nodes, flow in zip(self.tree.quotas, prices.nodes, self.flows, strict=True):
            if nodes.any():
                part = lending.unspent(row, self.tree.parent, nodes, flow)
                part[part <= ROUNDING * nodes * (row.nominal + flow.taken)] = 0.0
                found += float(part.sum())
        used, size = self.counted
        for j, rule in enumerate(self.inst.own_rows):
            left = rule.amount - used[j]
            if abs(left) > ROUNDING * (abs(rule.amount) + size[j]):
                # what rounding breaks of a rule counts as nothing left
                found += prices.rules[j, 0] * max(left, 0.0) + prices.rules[j, 1] * max(-left, 0.0)
        return found


def _left(most: Floats, used: Floats) -> Floats:
    """What is left of rows; 0 within rounding."""
    free = most - used
    return np.where(free <= ROUNDING * most, 0.0, free)


def given_tasks(alloc: Allocation) -> Floats:
    """(K, I) running tasks by way, as the answer states them."""
    by_way = getattr(alloc, "way_tasks", None)
    if by_way is not None:
        return np.asarray(by_way, dtype=np.float64)
    # one way a user: else the answer would have been refused
    return alloc.tasks[alloc.instance.ways.owner]


__all__ = ["Bill", "PricesGiven", "Ruled", "given_tasks"]
