"""A point near an answer, with prices, and the sums of what is left there (`bound`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.by_entries import KEPT, both
from fairopt.certificates.decimals import exactly
from fairopt.certificates.question import Question
from fairopt.instance import Floats, Ints

NEAR_WORTH = 1e-9
"""part above its worth within which a column's price is computed with all digits"""
PIECE = 1 << 18
"""columns that are not held looked at together"""
ROUND = 2.0**-51
"""error of a sum of a few logarithms, relative to their size"""


@dataclass(frozen=True)
class Place:
    """A point and prices, of k floats each; money is counted in exp(log_unit), of parts that share
    no rule perhaps in units of their own, (N,), of which nothing is summed up.

    Parameters
    ----------
    columns : (C,) in order, those that hold something: tasks, then all flows. amount : (k, C).
    price : (k, M) of rows. value : (k, N) of a unit of share.
    """

    columns: Ints
    amount: Floats
    price: Floats
    value: Floats
    log_unit: Any

    def away(self, question: Question) -> Floats:
        """(N,) log t - (log W - log v) / alpha with all digits; kept, for a place is judged
        before a step is made from it."""
        known: Floats | None = self.__dict__.get("_away")
        if known is None:
            known = exactly(question, self.columns, self.amount, self.value, self.log_unit)
            self.__dict__["_away"] = known
        return known


@dataclass(frozen=True)
class PlaceRest:
    """What is left at a place, each with its error: of rows (M,), of each share up to `most` and
    of `least` up to it (N,), inf without one. share (N,)."""

    left: Floats
    left_error: Floats
    to_most: Floats
    above_least: Floats
    share_error: Floats
    share: Floats


@dataclass(frozen=True)
class Worth:
    """What columns are worth less their cost.

    held : (K,) the columns held, all flows among them, in order. profit, profit_error : (K,).
    """

    held: Ints
    profit: Floats
    profit_error: Floats


@dataclass(frozen=True)
class PlaceSums(Worth):
    """The same, and a place's `rest`.

    less : (N,) what a unit of share is worth more than it costs on some column, at most; None where
        that is not asked for. lost : (N,) what users lose on columns that are held, but not named
        here, as they were passed over in pieces; None: on none.
    """

    rest: PlaceRest
    less: Floats | None
    lost: Floats | None = None


def rest(question: Question, place: Place) -> PlaceRest:
    """What is left at a place."""
    if question.pulls is not None:
        return first_sums(question, place).rest
    left, error = question.columns.left(question.rhs, place.columns, place.amount)
    return _with_shares(question, place, left, error)


def _with_shares(question: Question, place: Place, left: Floats, error: Floats) -> PlaceRest:
    """What is left of rows, and the shares and what is left of them."""
    columns, users = question.columns, question.users
    held, amount = place.columns, place.amount
    if not len(held) or held[-1] >= columns.count:
        own = np.flatnonzero(held < columns.count)
        held, amount = held[own], amount[:, own]
    owner, worth = columns.owner(held), columns.worth(held)
    share = np.asarray(np.bincount(owner, worth * amount[0], users), np.float64)
    if not question.bounded:
        free = question.free
        return PlaceRest(left, error, free, -free, np.zeros(users), share)
    ends, errors = [], np.zeros(users)
    for end in (question.most, question.least):
        some = np.isfinite(end) & (end > 0)
        apart = np.full(users, np.inf)
        if some.any():
            on = np.flatnonzero(some[owner])
            found, wrong = digits.remainders(
                np.where(some, end, 0.0), owner[on], worth[on], amount[:, on]
            )
            apart[some], errors = found[some], np.maximum(errors, np.where(some, wrong, 0.0))
        ends.append(apart)
    return PlaceRest(left, error, ends[0], -ends[1], errors, share)


def first_sums(question: Question, place: Place) -> PlaceSums:
    """What is left at a place; of few columns held also what they are worth, in the same pass, of
    many not yet of any."""
    held, pulls = place.columns, question.pulls
    if pulls is None and len(held) > KEPT:
        none = np.zeros(0)
        return PlaceSums(held[:0], none, none, rest(question, place), None)
    # of rows with pulls e q - z
    drawn = None if pulls is None else (pulls.rows, pulls.give(place.log_unit))
    dear = np.concatenate([place.price, place.value], axis=1)
    (left, wrong), (profit, error) = both(
        question.columns, question.rhs, held, place.amount, dear, drawn
    )
    return PlaceSums(held, profit, error, _with_shares(question, place, left, wrong), None)


def sums(
    question: Question, place: Place, known: PlaceSums | None = None, alone: bool = False
) -> PlaceSums:
    """All sums at a place; `known` are its `first_sums`, or those of the place without columns that
    hold nothing; `alone`: of the columns held alone, for a step from a place of which nothing is
    proved."""
    columns = question.columns
    seen = first_sums(question, place) if known is None else known
    held = place.columns
    if len(question.low):
        flows = columns.count + np.arange(len(question.low))
        held = np.concatenate([held[held < columns.count], flows])
    if not np.array_equal(seen.held, held):
        profit, error = columns.profit(held, place.price, place.value)
        seen = PlaceSums(held, profit, error, seen.rest, None)
    return seen if alone else replace(seen, less=lessened(question, place, seen))


def lessened(question: Question, place: Place, seen: Worth) -> Floats:
    """(N,) by how much the value is too large for some column, rounded up; of those that are
    neither held nor near enough it is not."""
    columns = question.columns
    mine = seen.held[seen.held < columns.count]
    looked = np.zeros(columns.count, dtype=bool)
    looked[columns.within(place.price[0], place.value[0] * (1 + NEAR_WORTH))] = True
    if question.signed is not None:
        looked[question.signed] = True
    looked[mine] = False
    others = np.flatnonzero(looked)
    found = np.zeros(question.users)
    _raise(question, found, mine, seen.profit[: len(mine)] + seen.profit_error[: len(mine)])
    for start in range(0, len(others), PIECE):
        some = others[start : start + PIECE]
        profit, error = columns.profit(some, place.price, place.value)
        _raise(question, found, some, profit + error)
    return found


def _raise(question: Question, found: Floats, columns: Ints, more: Floats) -> None:
    """Brings `found` (N,) to what columns are worth more than they cost, in units of share."""
    worth = question.columns.worth(columns)
    np.maximum.at(found, question.columns.owner(columns), more / worth * (1 + ROUND))


__all__ = ["ROUND", "Place", "PlaceRest", "PlaceSums", "Worth", "lessened", "rest", "sums"]
