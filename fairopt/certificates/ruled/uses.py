"""What users hold of every row of an answer beside rules: what earlier rounds may take of them.

Whoever is stopped in a round may be due a little more than it holds, and take that of any row, be
it of capacity, a ceiling, lending or a rule of one's own. What others then lose of a full row is
lost even where the row has no price in their own round (`crowds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fairopt.certificates.crowds import Choices, Turn, Uses, moves
from fairopt.certificates.pushed import PAIRS
from fairopt.certificates.ruled.answer import Bill, Ruled
from fairopt.certificates.ruled.lending import Flow
from fairopt.certificates.ruled.prices import PricesGiven
from fairopt.certificates.tolerance import ROUNDING
from fairopt.instance import Bools, Floats, Ints
from fairopt.instance.quotas.tree import QuotaRow

NEAR = 1e-9
"""a user this part below its limit is at it"""
TIED = 1e-11
"""tasks that are dearer by this part are as cheap: prices are not known better"""


class _Row(NamedTuple):
    """Positions of the row's pairs, what a task of each takes of it, the part of that which comes
    back when the task is given up, and what nobody uses."""

    pair: Ints
    each: Floats
    gives: Floats
    left: float


class RuleRows:
    """All rows, over the eligible pairs of a way and a server: of every resource of every server,
    then of each ceiling, of lending at each group, and of each side of a rule of one's own."""

    def __init__(self, ruled: Ruled) -> None:
        self._ruled = ruled
        self.k, self.i = np.nonzero(ruled.eligible)
        self.user = ruled.owner[self.k]
        self.tasks, self.score = ruled.tasks[self.k, self.i], ruled.score[self.k, self.i]
        server = self.i if ruled.demand.shape[1] > 1 else np.zeros_like(self.i)
        self._demand = ruled.demand[self.k, server]
        pool = np.where(ruled.inst.pool > 0, ruled.inst.pool, 1.0)
        part = self._demand / pool[self.i]
        pair, r = np.nonzero(part)
        part = part[pair, r]
        found = [(pair, self.i[pair] * ruled.inst.shape[2] + r, part, part)]
        left = np.maximum(1.0 - (ruled.used / pool).ravel(), 0.0).tolist()
        more = [*self._ceilings()]
        for row, flow in zip(ruled.tree.quotas, ruled.flows, strict=True):
            more += self._lending(row, flow)
        for one in (*more, *self._own()):
            used = float(one.each @ self.tasks[one.pair])
            whole = used if used > 0 else max(one.left, 0.0)
            if whole > 0:
                place = np.full(len(one.pair), len(left))
                found.append((one.pair, place, one.gives / whole, one.each / whole))
                left.append(max(one.left, 0.0) / whole)
        pair, row, gives, each = zip(*found, strict=True)
        self.pair, self.row = np.concatenate(pair), np.concatenate(row)
        self.gives, self.each = np.concatenate(gives), np.concatenate(each)
        self.left = np.array(left)
        self._several = np.bincount(self.user, minlength=len(ruled.share)) > 1

    def _taken(self, resource: int, servers: Bools) -> Ints:
        """The pairs on these servers that take of a resource."""
        return np.flatnonzero((self._demand[:, resource] > 0) & servers[self.i])

    def _ceilings(self) -> list[_Row]:
        ruled, bounds, found = self._ruled, self._ruled.tree.bounds, []
        for b in range(len(bounds)):
            r = int(bounds.resource[b])
            pair = self._taken(r, bounds.servers[b])
            pair = pair[ruled.members(int(bounds.node[b]))[self.k[pair]]]
            each = self._demand[pair, r]
            left = float(bounds.amount[b] - ruled.under_bounds[b])
            found.append(_Row(pair, each, each, left))
        return found

    def _lending(self, row: QuotaRow, flow: Flow) -> list[_Row]:
        r"""A row of each group: what is free there is at least minus what it may borrow.

        That falls by no more than what is taken below it. What is given up below a child c rises to
        it as far as c may still lend, h_c = lend_c - T_c: if of gifts g_c a part is made, at least
        the part min(1, h_c / g_c) of that. Who is below a child that lends all it may gives nothing
        further up; that the child still lends as much is one more row, of those below it.
        """
        ruled, tree, found = self._ruled, self._ruled.tree, []
        pair = self._taken(row.resource, row.servers)
        each, user, tasks = self._demand[pair, row.resource], self.user[pair], self.tasks[pair]
        borrow = np.append(0.0, row.borrow[1:])
        room = np.maximum(row.lend - flow.free, 0.0)
        room[room <= ROUNDING * (row.nominal + flow.taken)] = 0.0
        held = np.bincount(user, each * tasks, len(tree.leaf))
        gives = each * _part(room[tree.leaf], held)[user]
        for v in np.concatenate([*reversed(ruled.layers), [0]]).tolist():
            if v in tree.leaf:
                continue
            below = np.flatnonzero(np.isin(user, tree.below(v)))
            for least in {-borrow[v], row.lend[v] if room[v] == 0 else -np.inf} - {-np.inf}:
                left = float(flow.free[v] - least)
                found.append(_Row(pair[below], each[below], gives[below], left))
            gives[below] *= _part(room[v], gives[below] @ tasks[below])
        return found

    def _own(self) -> list[_Row]:
        """A row for each side of a rule of one's own: of tasks that bring it nearer to being full,
        as a part of all that do."""
        at = np.full(self._ruled.eligible.shape, -1)
        at[self.k, self.i] = np.arange(len(self.k))
        counted, found = self._ruled.counted[0], []
        for j, rule in enumerate(self._ruled.inst.own_rows):
            for holds, sign in ((rule.up, 1.0), (rule.down, -1.0)):
                pair = at[rule.way, rule.server]
                on = (sign * rule.value > 0) & (pair >= 0)
                if holds:
                    each = sign * rule.value[on]
                    left = sign * float(rule.amount - counted[j])
                    found.append(_Row(pair[on], each, each, left))
        return found

    def uses(self, dues: Sequence[Floats] = ()) -> Uses:
        """What each user holds of each row.

        Parameters
        ----------
        dues : of each round the shares (N,) that all are due by then.
        """
        ruled = self._ruled
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.tasks > 0, self.tasks * self.score / ruled.share[self.user], 0.0)
        asked = self.tasks + self._moves()
        on = np.flatnonzero(asked[self.pair] > 0)
        pair = self.pair[on]
        part, asked = self.gives[on] * self.tasks[pair], self.each[on] * asked[pair]
        share = np.where(part > 0, share[pair], 0.0)
        found = Uses(self.user[pair], self.row[on], part, share, asked, self.left)
        none = np.zeros(0, dtype=np.int64)
        goes = partial(self._elsewhere, np.zeros(len(self.k)))
        found = found._replace(
            anywhere=Choices(self._several, none, goes), leaves=self._leaves()[on]
        )
        # less of a task may break a rule of one's own: nobody is taken to do without any
        if ruled.inst.own_rows or not len(dues):
            return found
        with np.errstate(divide="ignore", invalid="ignore"):
            due = np.array(dues) / ruled.share
        return found._replace(due=np.where(np.isfinite(due), due, 1.0))

    def _leaves(self) -> Bools:
        """Of each entry, whether its user takes less of the row for its share on another pair."""
        user = self.user[self.pair]
        unit = self.each / self.score[self.pair]
        _, place, count = np.unique(
            self.row * len(self._several) + user, return_inverse=True, return_counts=True
        )
        least = np.full(len(count), np.inf)
        np.minimum.at(least, place, unit)
        pairs = np.bincount(self.user, minlength=len(self._several))
        less = least[place] < unit * (1 - NEAR)
        return np.asarray(less | (count[place] < pairs[user]))

    def _moves(self) -> Floats:
        """Tasks that users at their limits must move to each pair (`moves`)."""
        ruled, found = self._ruled, np.zeros(len(self.k))
        for n in np.flatnonzero(ruled.running >= ruled.inst.limit * (1 - NEAR)).tolist():
            mine = np.flatnonzero(self.user == n)
            found[mine] = moves(self.score[mine], self.tasks[mine])
        return found

    def turn(
        self, stage: int, prices: PricesGiven, bill: Bill, done: Bools
    ) -> tuple[Turn, Choices]:
        """What may change hands if tasks that are too dear, or what is left of priced rows, are put
        right: all that is spent on tasks that are too dear, wherever those stopped by then may run
        at these prices, and their shares, where tasks of the same users cost nothing. And where
        users may go who are pushed out."""
        # what is dear to users stopped later that have cheaper tasks is their excess
        over = np.where((bill.cheapest > 0) | done, bill.over, 0.0)
        money = bill.idle + float(over.sum())
        chooses = self._several & done
        ruled = self._ruled
        cost = ruled.free(ruled.cost(prices), prices)[0][self.k, self.i]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            least = (bill.cheapest[self.user] * self.score) * (1 + TIED)
            above = (over[self.user] > 0) & (cost > least)
            held = np.where(above, self.tasks, 0.0)
            money += float(held @ cost)
            tasks = np.where((cost > 0) & done[self.user], money / cost, 0.0)
            pushed = np.where((cost > 0) & chooses[self.user], 1.0 / cost, 0.0)
            share = np.bincount(self.user, held * self.score, len(bill.over))
            free = np.where(cost > 0, 0.0, share[self.user] / self.score)
        asked, each = np.zeros(len(self.left)), np.zeros(len(self.left))
        np.maximum.at(each, self.row, pushed[self.pair] * self.each)
        np.maximum.at(asked, self.row, tasks[self.pair] * self.each)
        asked += np.bincount(self.row, free[self.pair] * self.each, len(self.left))
        # of a row where all that runs has a price, others give way
        open_ = np.zeros(len(self.left), dtype=bool)
        open_[self.row[(cost <= 0)[self.pair]]] = True
        row = np.flatnonzero(open_ & (asked + each > 0))
        closed = ~open_
        priced = np.flatnonzero(prices.capacity)
        closed[: prices.capacity.size] = False
        closed[priced] = True
        paid = partial(self._paid, prices.capacity, cost, bill.cheapest, done)
        choices = Choices(
            self._several,
            np.flatnonzero(closed),
            partial(self._elsewhere, cost),
            paid if len(priced) > 1 else None,
        )
        return Turn(stage, row, np.minimum(asked[row], 1.0), each[row]), choices

    def _paid(
        self, prices: Floats, cost: Floats, cheapest: Floats, done: Bools
    ) -> tuple[Ints, Floats]:
        """Of pairs that are cheapest for those stopped by then, the user and what a unit of money
        there pays for each capacity and for all other rows together."""
        with np.errstate(invalid="ignore"):
            least = cheapest[self.user] * self.score * (1 + NEAR)
        at = np.flatnonzero(done[self.user] & (cost > 0) & (cost <= least))
        found = np.zeros((len(at) if len(at) <= PAIRS else 0, prices.size + 1))
        if len(found):
            by = found[:, :-1].reshape(len(at), *prices.shape)
            by[np.arange(len(at)), self.i[at]] = (
                self._demand[at] * prices[self.i[at]] / cost[at][:, None]
            )
            found[:, -1] = np.maximum(1.0 - found[:, :-1].sum(axis=1), 0.0)
        return self.user[at], found[:, found.any(axis=0)]

    def _elsewhere(self, cost: Floats, users: Ints) -> tuple[Ints, Ints, Floats]:
        """Of users the rows of pairs that cost nothing, and the part of each row that they take
        there for their whole share (`crowds.Elsewhere`)."""
        place = np.full(len(self._several), -1)
        place[users] = np.arange(len(users))
        n = place[self.user]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            whole = np.where(cost > 0, 0.0, self._ruled.share[self.user] / self.score)
        on = np.flatnonzero((n >= 0)[self.pair] & (whole[self.pair] > 0))
        return n[self.pair[on]], self.row[on], whole[self.pair[on]] * self.each[on]


def _part(room: Any, gifts: Any) -> Any:
    """The part of gifts that there is room for, at most 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gifts > room, room / gifts, 1.0)


__all__ = ["RuleRows"]
