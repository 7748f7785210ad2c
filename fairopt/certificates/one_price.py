r"""Where all servers have the same prices: what an answer's own prices prove, without a search.

A user pays the same wherever it may run, so its value is known at any prices, to the last digit,
and what it loses on its tasks is told by any one of them.
What the answer's prices lack of the optimum's, its rows lack of being full: they are filled as
`pooled` fills them, and shares move by as little. The point is worked out in two passes over pieces
of the users: what rows lack, then what is lost. So no array of all pairs is made, and each stays in
the cache. What is found is believed of no pass: the sums of the second are those of any point
(`bound`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairopt.certificates import dense, digits
from fairopt.certificates.begun import values_of
from fairopt.certificates.bound import bound, lost_on
from fairopt.certificates.columns import Grid
from fairopt.certificates.filled_rows import RowSums
from fairopt.certificates.given import Given
from fairopt.certificates.places import ROUND, Place, PlaceRest, PlaceSums, Worth
from fairopt.certificates.pooled import alike, filling, grid
from fairopt.certificates.question import Question
from fairopt.certificates.search import SearchFound
from fairopt.instance import Floats, Ints

USERS = 1 << 13
"""users of a piece, so that its arrays stay in the cache"""
ROOM = 1e-6
"""a resource of which more than this part is left has no price"""


def at_one_price(question: Question, answer: Given, enough: float) -> SearchFound | None:
    """What the point proves, if its bound is `enough`; None if it is not, servers have several
    prices, or somebody pays or has nothing."""
    columns = grid(question)
    if columns is None or columns.score is not None:
        return None
    price = _everywhere(question, columns, answer.price)
    if alike(columns, price)[1] > 1:
        return None
    begun = OnePrice.of(question, columns, answer, price)
    return None if begun is None else begun.proved(enough)


def _everywhere(question: Question, columns: Grid, price: Floats) -> Floats:
    """(M,) prices in which a resource costs, on servers that have none of it, what it costs at most
    on the others: nobody who asks for it may run there, so that its price there is nobody's."""
    unit = columns.row_unit.reshape(columns.shape[1:])
    each = price.reshape(unit.shape) / unit
    empty = (question.rhs == 0).reshape(unit.shape)
    return (np.where(empty, each.max(axis=0), each) * unit).ravel()


@dataclass(frozen=True, eq=False)
class OnePrice:
    """Where the passes begin.

    Parameters
    ----------
    price : (2, M) of rows. value : (2, N) of a share. first : (N,) a column of each user, which
        all cost the same. times : (N,) by what the answer's tasks are multiplied to be what is best
        at these prices.
    """

    question: Question
    columns: Grid
    answer: Given
    price: Floats
    value: Floats
    first: Ints
    times: Floats
    unit: float

    @classmethod
    def of(cls, question: Question, columns: Grid, answer: Given, price: Floats) -> OnePrice | None:
        """What is best at the answer's prices, given anew, divided as the answer has it."""
        users, servers, resources = columns.shape
        factor, _, unit = values_of(question, answer)
        each = (price / columns.row_unit).reshape(-1, resources)[0] * factor
        whole = (question.rhs * columns.row_unit).reshape(-1, resources).sum(axis=0)
        # hardly any price, by rounding
        each[answer.share @ columns.demand < (1 - ROOM) * whole] = 0.0
        price = digits.of(np.tile(each, servers) * columns.row_unit, 2)
        cost = columns.demand @ each
        if not (np.isfinite(cost) & (cost > 0) & (answer.share > 0)).all():
            return None
        first = np.arange(users) * servers
        if columns.eligible is not None:
            first += columns.eligible.argmax(axis=1)
        lacks, _ = columns.profit(first, price, digits.of(cost, 2))
        value = np.array(digits.exact_sum(cost, -lacks))
        log_t, _ = question.log_best(np.log(value[0]), unit)
        times = np.exp(log_t) / answer.share
        return cls(question, columns, answer, price, value, first, times, unit)

    def proved(self, enough: float) -> SearchFound | None:
        """What the point proves, if its bound is `enough`."""
        more = self._filling()
        seen = self._sums(more)
        if seen is None:
            return None
        none = Place(seen.held, np.zeros((2, 0)), self.price, self.value, self.unit)
        proved, eps = bound(self.question, none, seen)
        worst = float(np.maximum(proved.below, proved.above).max())
        if not worst <= enough:
            return None
        return SearchFound(proved, None, eps, partial(self.place, more))

    def _tables(self) -> Iterator[tuple[slice, Floats]]:
        """Users, and (n, I) what they would have at these prices, divided as the answer has it."""
        users, servers, _ = self.columns.shape
        for start in range(0, users, USERS):
            some = slice(start, min(start + USERS, users))
            yield some, self.answer.table(some, servers) * self.times[some, None]

    def _points(self, more: Floats) -> Iterator[tuple[slice, Ints, Floats]]:
        """Users, and columns (C,), n I + i of each piece, with their tasks (2, C) at the point."""
        for some, x in self._tables():
            high, low = digits.exact_sum(x, x * (self.columns.demand[some] @ more.T))
            columns = np.flatnonzero(high)
            yield some, columns, np.array([high.ravel()[columns], low.ravel()[columns]])

    def _used(self, some: slice, columns: Ints, amount: Floats, body: Floats) -> RowSums:
        """What tasks of a piece use, and the sum over them that `filling` asks for."""
        servers, pairs = self.columns.shape[1], self.columns.count
        used = dense.used(self.columns.demand[some], servers, columns, amount, pairs)
        high, low, error = used
        return RowSums(high, low, error, body, 0.0, 0.0, np.inf)

    def _left(self, total: RowSums) -> tuple[Floats, Floats]:
        """(M,) what is left of rows, and its error."""
        unit = self.columns.row_unit
        high, low, error = (part.ravel() / unit for part in (total.high, total.low, total.error))
        return self.columns.remaining(self.question.rhs, high, low, error)

    def _filling(self) -> Floats:
        """(I, R) y of `filling`, per unit of demand."""
        (_, servers, resources), total = self.columns.shape, None
        upper = np.triu_indices(resources)
        for some, x in self._tables():
            columns, need = np.flatnonzero(x), self.columns.demand[some]
            body = x.T @ (need[:, upper[0]] * need[:, upper[1]])
            amount = digits.of(x.ravel()[columns], 2)
            one = self._used(some, columns, amount, body)
            total = one if total is None else total + one
        assert total is not None  # there are many columns
        unit = self.columns.row_unit.reshape(servers, resources)
        body = np.zeros((servers, resources, resources))
        body[:, upper[0], upper[1]] = body[:, upper[1], upper[0]] = total.slope
        body /= unit[:, :, None] * unit[:, None]
        return filling(self.question, self.price[0], *self._left(total), body) / unit

    def _sums(self, more: Floats) -> PlaceSums | None:
        """The sums at the point; None where anybody has less than nothing."""
        question, users = self.question, self.question.users
        total, none = None, np.zeros(0)
        share = np.empty(users)
        for some, columns, amount in self._points(more):
            if not (amount[0] >= 0).all():
                return None
            one = self._used(some, columns, amount, none)
            total = one if total is None else total + one
            owner = columns // self.columns.shape[1]
            share[some] = np.bincount(owner, amount[0], some.stop - some.start)
        assert total is not None
        left, error = self._left(total)
        rest = PlaceRest(left, error, question.free, -question.free, np.zeros(users), share)
        less, lost = self._lost(share)
        return PlaceSums(np.zeros(0, np.int64), none, none, rest, less, lost)

    def _lost(self, share: Floats) -> tuple[Floats, Floats]:
        """(N,) `lessened`, and what is lost on all tasks then: each is as dear as the first."""
        place = Place(self.first, share[None], self.price, self.value, self.unit)
        seen = Worth(self.first, *self.columns.profit(self.first, self.price, self.value))
        less = np.maximum(seen.profit + seen.profit_error, 0.0) * (1 + ROUND)
        return less, lost_on(self.question, place, seen, less)

    def place(self, more: Floats) -> Place:
        """The point."""
        servers = self.columns.shape[1]
        found = [(some.start * servers, *at) for some, *at in self._points(more)]
        return Place(
            np.concatenate([first + columns for first, columns, _ in found]),
            np.concatenate([amount for _, _, amount in found], axis=1),
            self.price,
            self.value,
            self.unit,
        )


__all__ = ["at_one_price"]
