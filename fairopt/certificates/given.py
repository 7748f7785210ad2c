"""An answer to a `question`, as the judge reads it, and prices as an answer holds them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import listed_prices, numbers
from fairopt.certificates.asking import kept_rows
from fairopt.certificates.columns import Columns, Grid
from fairopt.certificates.fitted import fitted
from fairopt.certificates.question import Question
from fairopt.formulas import rows, welfare
from fairopt.instance import Floats, Ints, remembered

USERS = 1 << 13
"""users at once, so that arrays stay in the cache"""
MANY_PAIRS = 1 << 20
"""pairs of a grid from which an answer lists its columns only when they are asked for"""
LEAST_SHARE = 1e-9
"""a share below this part of what the user could have alone counts, and pulls, as that"""


@dataclass(frozen=True)
class Given:
    """An answer: held (K,) the columns that hold tasks, x (K,) > 0, y (F,) flows, price (M,) >= 0
    of rows, the largest 1, share (N,). log_money : of what prices were divided by.

    Beside pulls prices are in the unit of the objective, divided by all money, and so are pulls."""

    held: Ints
    x: Floats
    y: Floats
    price: Floats
    share: Floats
    log_money: float = 0.0

    def table(self, users: slice, servers: int) -> Floats:
        """(n, I) the tasks of some users of a grid."""
        a, b = np.searchsorted(self.held, (users.start * servers, users.stop * servers))
        found = np.zeros((users.stop - users.start) * servers)
        found[self.held[a:b] - users.start * servers] = self.x[a:b]
        return found.reshape(-1, servers)


class GridGiven(Given):
    """An answer on very many pairs, which lists its columns when it is asked for them: that takes
    twice the memory of its tasks, and passes over users read these as they are (`one_price`)."""

    tasks: Floats
    unit: Floats

    @classmethod
    def of(
        cls, tasks: Floats, unit: Floats, y: Floats, price: Floats, share: Floats, log_money: float
    ) -> GridGiven:
        """Tasks (N, I) as an answer has them, (N,) their units; the others as of `Given`."""
        found, known = cls.__new__(cls), {"y": y, "price": price, "share": share}
        vars(found).update(known, log_money=log_money, tasks=tasks, unit=unit)
        return found

    @cached_property
    def held(self) -> Ints:
        """(K,)."""
        return np.flatnonzero(self.tasks)

    @cached_property
    def x(self) -> Floats:
        """(K,)."""
        return _in_units(self.tasks, self.held, self.unit)

    def table(self, users: slice, servers: int) -> Floats:
        """(n, I)."""
        if "tasks" not in vars(self):  # made by `replace`, with columns of its own
            return super().table(users, servers)
        found: Floats = self.tasks[users] / self.unit[users, None]
        return found


def _in_units(tasks: Floats, held: Ints, unit: Floats) -> Floats:
    """(K,) tasks (N, I) of the columns held, in units (N,) of their users."""
    found: Floats = tasks.ravel()[held]
    found /= unit[held // tasks.shape[1]]
    return found


def given(alloc: Allocation, question: Question) -> Given:
    """The answer: its tasks where eligible and above 0, its prices, 0 for those it does not have.

    Prices that are not numbers >= 0 prove nothing and are left out.
    """
    columns = question.columns
    if isinstance(columns, Grid):
        share = _shares(question, alloc.held)
        price = np.concatenate(
            [
                numbers(alloc.prices, alloc.instance.pool.size),
                numbers(alloc.limit_prices, len(alloc.tasks))[columns.limited],
            ]
        )
    else:
        low = columns.low
        stated = alloc.by_way
        tasks = np.where(columns.shut, 0.0, np.maximum(stated[low.way, low.server], 0.0))
        held = np.flatnonzero(tasks)
        price = listed_prices(alloc, low)[kept_rows(low, columns.same)]
        price = np.concatenate([price, np.zeros(len(question.rhs) - len(price))])
        owner = columns.owner(held)
        x = tasks[held] / question.tasks_unit[owner]
        share = np.asarray(np.bincount(owner, columns.worth(held) * x, question.users), np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        price, first = _divided(price)
        price, second = _divided(price * question.row_unit)
    if isinstance(columns, Grid):
        rest = question.low, price, share, first + second
        if columns.count >= MANY_PAIRS:
            return GridGiven.of(alloc.held, question.tasks_unit, *rest)
        held = np.flatnonzero(alloc.held)
        return Given(held, _in_units(alloc.held, held, question.tasks_unit), *rest)
    found = Given(held, x, _flows(question, held, x), price, share, first + second)
    return found if question.pulls is None else _pulled(question, found)


def read(alloc: Allocation, question: Question) -> Given:
    """The same of the question that the answer itself asks, kept with it."""
    found: Given = remembered(alloc, "_given", lambda: given(alloc, question))
    return found


def _shares(question: Question, tasks: Floats) -> Floats:
    """(N,) shares of a table of tasks."""
    score, share = question.columns.score, np.empty(len(tasks))
    for a in range(0, len(tasks), USERS):
        some = slice(a, a + USERS)
        x = tasks[some] / question.tasks_unit[some, None]
        if score is not None:
            x = np.multiply(score[some], x, out=np.zeros(x.shape), where=x != 0)
        share[some] = rows.total(x)
    return share


def _pulled(question: Question, answer: Given) -> Given:
    """The answer with the pulls that its own shares make, and prices in the unit of these."""
    pulls, columns = question.pulls, question.columns
    assert pulls is not None
    # who has nothing would have a marginal value beyond all numbers
    log_t = np.log(np.maximum(answer.share, LEAST_SHARE * question.within))
    unit = welfare.log_sum_exp(question.log_w + (1 - question.alpha) * log_t)
    row, each, entry = columns.entries(answer.held)
    used = np.asarray(np.bincount(row, entry * answer.x[each], len(question.rhs)), np.float64)
    z = used[pulls.rows]
    flows = len(question.low)
    count = np.maximum(np.bincount(pulls.flow, minlength=flows), 1)
    y = np.asarray(np.bincount(pulls.flow, z / pulls.times, flows), dtype=np.float64) / count
    y = np.where(question.lent, answer.y, y)
    z = z - pulls.times * y[pulls.flow]
    give = pulls.give(unit)
    pull = np.zeros(len(question.rhs))
    pull[pulls.rows] = np.divide(z, give, out=np.zeros_like(z), where=give > 0)
    money = float(np.exp(question.log_w + (1 - question.alpha) * log_t - unit).sum())
    spent = float(answer.x @ np.bincount(each, entry * answer.price[row], len(answer.held)))
    rest = max(money - float(pull[pulls.rows] @ z), 1e-12 * money)
    price = answer.price * (rest / spent if spent > 0 else 0.0) + pull
    if pulls.hard.any() or not spent > 0:
        log_value = question.log_w - unit - question.alpha * log_t
        price = fitted(question, answer.held, answer.x, np.exp(log_value), price)
    return replace(answer, y=y, price=price, log_money=unit)


def _divided(price: Floats) -> tuple[Floats, float]:
    """Prices divided by the largest, and its logarithm; 0 where there are none."""
    top = float(price.max(initial=0.0))
    if not 0 < top < np.inf:
        return np.zeros(len(price)), 0.0
    return price / top, math.log(top)


def _flows(question: Question, held: Ints, x: Floats) -> Floats:
    """What each node passes up; nothing of the means that pulls are about."""
    if not len(question.low):
        return question.low
    bounds = np.array([question.low, question.high])
    lent = np.flatnonzero(question.lent)
    return flows(question.columns, question.rhs, bounds, held, x, lent)


def flows(
    columns: Columns, rhs: Floats, bounds: Floats, held: Ints, x: Floats, lent: Ints | None = None
) -> Floats:
    """(F,) what each node passes up: all that is free of it, at most what it may, children first;
    then half of what is left above comes back, so that no row is full that need not be.

    Parameters
    ----------
    bounds : (2, F) of flows. held, x : (C,) the columns that hold tasks, and how many. lent : the
        flows that are asked, in order; None: all.
    """
    y = np.zeros(bounds.shape[1])
    some = list(range(len(y))) if lent is None else lent.tolist()
    if not some:
        return y
    row, each, entry = columns.entries(held)
    left = rhs - np.bincount(row, entry * x[each], len(rhs))
    for f in reversed(some):  # parents come before children
        at, _, value = columns.entries(np.array([columns.count + f]))
        y[f] = np.clip(left[at[value > 0][0]], bounds[0, f], bounds[1, f])
        left[at] -= value * y[f]
    for f in some:
        at, _, value = columns.entries(np.array([columns.count + f]))
        spare = np.min((left[at] / -value)[value < 0], initial=np.inf) / 2
        if 0 < spare < np.inf and bounds[0, f] < y[f] < bounds[1, f]:
            back = min(spare, y[f] - bounds[0, f])
            y[f] -= back
            left[at] += value * back
    return y


def named(question: Question, price: Floats, alloc: Allocation) -> dict[str, Floats]:
    """Prices (M,) of rows as an answer holds them: prices, limit_prices, and so on."""
    price = price / question.row_unit
    columns = question.columns
    if isinstance(columns, Grid):
        size = alloc.instance.pool.size
        limits = np.zeros(question.users)
        limits[columns.limited] = price[size:]
        return {"prices": price[:size].reshape(alloc.instance.pool.shape), "limit_prices": limits}
    low = columns.low
    whole, kept = np.zeros(len(low.rhs)), kept_rows(low, columns.same)
    whole[kept] = price[: int(kept.sum())]
    found = low.named(whole)
    return {
        "prices": found.capacity,
        "limit_prices": found.limits,
        "bound_prices": found.bounds,
        "node_prices": found.nodes,
        "rule_prices": found.rules,
        **({"limit_on_prices": found.places} if found.places.size else {}),
    }


__all__ = ["Given", "GridGiven", "flows", "given", "named", "read"]
