"""Very many users in memory: the point that proves an answer, in passes over pieces of the users.

What judges users who do not fit in memory (`filled`) needs a few numbers between its passes, no
array of all pairs. So it is what takes least where they do fit as well, once its loops are compiled
(`fast`): a search (`search`) would write and read dozens of arrays of all columns. Each user has
an interval here, as `bound` has it, not the worst of them alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairopt import fast
from fairopt.certificates import filled, filled_rows
from fairopt.certificates.begun import values_of
from fairopt.certificates.bound import Proved, nothing
from fairopt.certificates.columns import Grid
from fairopt.certificates.filled_rows import Filling, RowSums
from fairopt.certificates.given import Given
from fairopt.certificates.partitions import PIECE, JudgedTerms, Shown
from fairopt.certificates.places import Place
from fairopt.certificates.question import Question
from fairopt.certificates.search import SearchFound
from fairopt.instance import Floats
from fairopt.instance.partition import Partition

SPARE = 2.0**-84
"""part of a full row that is left free, where steps come so near"""


@dataclass(frozen=True, eq=False)
class PassedUsers(Partition):
    """Users of a question: log W in its units, and the size of what that was added up from."""

    log_w: Floats
    log_size: Floats


@dataclass(frozen=True, eq=False)
class QuestionAsked:
    """What is asked of them, in the question's units: `AlphaAsked`, of pieces."""

    alpha: float
    pool: Floats

    @property
    def capacity(self) -> Floats:
        """(I, R)."""
        return self.pool

    def log_due(self, users: Any) -> Floats:
        """(n,) what an error of log W is a part of."""
        size: Floats = users.log_size
        return size

    def log_w(self, users: Any) -> Floats:
        """(n,)."""
        log_w: Floats = users.log_w
        return log_w


@dataclass(frozen=True, eq=False)
class Passes:
    """An answer to a question, to be passed over in pieces; `unit`: log of that of money."""

    question: Question
    columns: Grid
    answer: Given
    unit: float

    def pieces(self) -> Iterator[tuple[slice, Shown]]:
        """Users, and what the answer shows of them."""
        question, columns, servers = self.question, self.columns, self.columns.shape[1]
        starts = np.arange(0, question.users, PIECE)
        ends = np.searchsorted(self.answer.held, np.append(starts, question.users) * servers)
        every, none = np.ones((PIECE, servers), dtype=bool), np.full(PIECE, np.inf)
        for start, a, b in zip(starts.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            some = slice(start, min(start + PIECE, question.users))
            size = some.stop - start
            tasks = np.zeros(size * servers)
            tasks[self.answer.held[a:b] - start * servers] = self.answer.x[a:b]
            log_w = question.log_w[some] - self.unit
            open_ = every[:size] if columns.eligible is None else columns.eligible[some]
            log_size = question.log_size[some] + abs(self.unit)
            users = PassedUsers(columns.demand[some], open_, log_w, none[:size], log_w, log_size)
            yield some, Shown(users, tasks.reshape(size, servers))

    def summed(self, terms: JudgedTerms, filling: Filling) -> RowSums:
        """The sums of all."""
        first, *others = (filled.summed(shown, terms, filling) for _, shown in self.pieces())
        for one in others:
            first = first + one
        return first

    def proved(self, terms: JudgedTerms, filling: Filling, eps: float) -> Proved:
        """What eps proves of each user."""
        found = nothing(self.question.users)
        for some, shown in self.pieces():
            for whole, each in zip(found, filled.proved(shown, terms, filling, eps), strict=True):
                whole[some] = each
        return found

    def moved(self, terms: JudgedTerms, filling: Filling) -> Passes:
        """With the tasks of the point as the answer."""
        servers = self.columns.shape[1]
        with np.errstate(all="ignore"):
            found = [
                (some.start * servers, *filled.moved(shown, terms, filling))
                for some, shown in self.pieces()
            ]
        held = np.concatenate([first + columns for first, columns, _ in found])
        x = np.concatenate([tasks for _, _, tasks in found])
        return replace(self, answer=replace(self.answer, held=held, x=x))

    def place(self, terms: JudgedTerms, filling: Filling) -> Place:
        """The point, as a place of the question."""
        servers = self.columns.shape[1]
        with np.errstate(all="ignore"):
            found = [
                (some.start * servers, filled.point(shown, terms, filling))
                for some, shown in self.pieces()
            ]
        price = np.array([filling.price, filling.more]).reshape(2, -1) * self.question.row_unit
        value = np.concatenate([at.cheapest for _, at in found])
        return Place(
            np.concatenate([first + at.columns for first, at in found]),
            np.concatenate([at.amount for _, at in found], axis=1),
            price,
            np.array([value, np.zeros(len(value))]),
            self.unit,
        )


def applies(question: Question) -> bool:
    """Whether there is enough to do for compiled loops, and nothing but users and servers."""
    columns = question.columns
    return (
        isinstance(columns, Grid)
        and columns.demand.ndim == 2
        and columns.score is None
        and fast.chosen(columns.count)
        and question.alpha > 0
        and not (question.bounded or question.base.any() or len(columns.limited))
        and question.pulls is None
        and question.paid is None
        and question.further is None
    )


def in_passes(question: Question, answer: Given, enough: float) -> SearchFound | None:
    """What the point proves, if its bound is `enough`; None if it is not, or there is none."""
    columns = question.columns
    if not (isinstance(columns, Grid) and applies(question)):
        return None
    factor, _, unit = values_of(question, answer)
    passes = Passes(question, columns, answer, unit)
    _, servers, resources = columns.shape
    pool = (question.rhs * question.row_unit).reshape(servers, resources)
    price = (answer.price * factor / question.row_unit).reshape(servers, resources)
    if not (np.isfinite(price).all() and np.isfinite(unit)):
        return None
    asked: Any = QuestionAsked(question.alpha, pool)
    terms = JudgedTerms(asked, price)
    full = (price > 0) & (pool > 0) & (_left(passes, pool) <= filled_rows.ROOM)
    price = np.where(full, price, 0.0)
    filling = Filling(price, np.zeros(price.shape), full, SPARE, pairs=columns.count)
    found, eps, passes = filled_rows.fill(passes, terms, filling, enough)
    if found is None:
        return None
    proved = passes.proved(terms, found, eps)
    if not float(np.maximum(proved.below, proved.above).max()) <= enough:
        return None
    return SearchFound(proved, None, eps, partial(passes.place, terms, found))


def _left(passes: Passes, pool: Floats) -> Floats:
    """(I, R) the part of each row that the answer leaves."""
    used = np.zeros(pool.shape)
    for _, shown in passes.pieces():
        used += shown.tasks.T @ shown.users.demand
    part: Floats = np.abs(pool - used) / np.where(pool > 0, pool, 1.0)
    return part


__all__ = ["applies", "in_passes"]
