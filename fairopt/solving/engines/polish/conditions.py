"""The optimality conditions of an active set, in logarithms, and their Jacobian (`tasks`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion, Point, cut

LARGE = 300.0
"""logarithm of money from which all money is divided by that of the dearest row"""


@dataclass(frozen=True)
class ActiveSet:
    """Logarithms of x (P,), money per row (I R,) and per limit (N,), and what is active."""

    x: Floats
    row: Floats
    limit: Floats
    held: Bools
    full: Bools
    capped: Bools


class Conditions:
    """The fixed arrays of a question: uses b, scores u, indices of pairs, users and rows."""

    def __init__(self, question: AlphaQuestion) -> None:
        self.question = question
        inst = question.instance
        self.users, self.servers, self.resources = inst.shape
        self.alpha, self.log_w = question.alpha, question.log_w
        self.n, self.i = question.pairs
        self.u, self.use = question.share_per_task, question.use
        self.pair, r = np.nonzero(self.use)
        self.row = self.i[self.pair] * self.resources + r
        self.b = self.use[self.pair, r]
        self.log_size = np.log(inst.alone[self.n, self.i])
        self.work = 0

    # -- evaluation -----------------------------------------------------------------------

    def shares(self, x: Floats) -> Floats:
        """(N,) of tasks of pairs (P,)."""
        return _sums(self.n, self.u * x, self.users)

    def costs(self, state: ActiveSet) -> Floats:
        """(P,) money one task of each pair costs."""
        money = np.where(state.full, np.exp(np.minimum(state.row, 600.0)), 0.0)
        cost = np.bincount(self.pair, self.b * money[self.row], len(self.n))
        limit = self.question.instance.limit
        mu = np.where(state.capped, np.exp(state.limit), 0.0) / np.where(
            np.isfinite(limit), limit, 1.0
        )
        return cost + mu[self.n]

    def used(self, x: Floats) -> Floats:
        """(I R,) what tasks of pairs (P,) take of rows."""
        return _sums(self.row, self.b * x[self.pair], self.servers * self.resources)

    def point(self, state: ActiveSet) -> Point:
        """In tasks and money."""
        rows, limits = state.row[state.full], state.limit[state.capped]
        top = float((rows if len(rows) else limits).max(initial=0.0))
        if max(abs(rows).max(initial=0.0), limits.max(initial=0.0)) < LARGE:
            top = 0.0
        paid = np.where(state.full, np.exp(state.row - top), 0.0)
        return Point(
            np.where(state.held, np.exp(state.x), 0.0),
            paid.reshape(self.servers, self.resources),
            np.where(state.capped, cut(state.limit - top, 0.0), 0.0),
        )

    def system(
        self, state: ActiveSet, held: Ints, full: Ints, capped: Ints, derivative: bool = True
    ) -> tuple[Floats, csc_array | None]:
        """What is missed of the conditions, and their Jacobian where it is asked for and finite."""
        with np.errstate(all="ignore"):
            x = np.where(state.held, np.exp(state.x), 0.0)
            share, cost, used = self.shares(x), self.costs(state), self.used(x)
            totals = _sums(self.n, x, self.users)
            limit = self.question.instance.limit
            n = self.n[held]
            residual = np.concatenate(
                [
                    np.log(cost[held] / self.u[held])
                    - self.log_w[n]
                    + self.alpha * np.log(share[n]),
                    np.log(used[full]),
                    np.log(totals[capped] / limit[capped]),
                ]
            )
            if not derivative or not np.isfinite(residual).all():
                return residual, None
            return residual, self._jacobian(state, x, share, cost, used, totals, held, full, capped)

    def _jacobian(
        self,
        state: ActiveSet,
        x: Floats,
        share: Floats,
        cost: Floats,
        used: Floats,
        totals: Floats,
        held: Ints,
        full: Ints,
        capped: Ints,
    ) -> csc_array:
        a, b = len(held), len(full)
        at_pair = np.full(len(self.n), -1)
        at_pair[held] = np.arange(a)
        at_row = np.full(self.servers * self.resources, -1)
        at_row[full] = np.arange(b)
        at_user = np.full(self.users, -1)
        at_user[capped] = np.arange(len(capped))
        n = self.n[held]
        # money of the rows and limits in a pair's cost; tasks in a row's use
        both = (at_pair[self.pair] >= 0) & (at_row[self.row] >= 0)
        pair, row, use = self.pair[both], self.row[both], self.b[both]
        in_cost = use * np.exp(state.row[row]) / cost[pair]
        in_use = use * x[pair] / used[row]
        # share of its user's share in each held pair, once for every held pair of the user
        order = np.argsort(n, kind="stable")
        counts = np.bincount(n, minlength=self.users)
        left, right = _same_user(order, counts)
        in_share = self.alpha * self.u[held[right]] * x[held[right]] / share[n[right]]
        mine = at_user[n] >= 0
        capped_pairs = np.flatnonzero(mine)
        limit = self.question.instance.limit
        in_limit_cost = np.exp(state.limit[n[mine]]) / limit[n[mine]] / cost[held[mine]]
        in_limit = x[held[mine]] / totals[n[mine]]
        values = [in_share, in_cost, in_use, in_limit_cost, in_limit]
        down = [left, at_pair[pair], a + at_row[row], capped_pairs, a + b + at_user[n[mine]]]
        across = [right, a + at_row[row], at_pair[pair], a + b + at_user[n[mine]], capped_pairs]
        size = a + b + len(capped)
        entries = (np.concatenate(values), (np.concatenate(down), np.concatenate(across)))
        return csc_array(coo_array(entries, shape=(size, size)))


def _sums(index: Ints, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


def _same_user(order: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """All (left, right) positions of held pairs that share a user."""
    ends = np.cumsum(counts)
    starts = ends - counts
    each = np.repeat(counts, counts)  # for every held pair in user order, how many its user has
    left = np.repeat(order, each)
    first = np.repeat(np.repeat(starts, counts), each)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each)
    return left, order[first + offset]
