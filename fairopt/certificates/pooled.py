r"""Where servers have the same prices: the point near an answer by a search that takes them as one.

A user then pays the same on all of them, and holds tasks on hundreds perhaps, which a Newton step
(`steps`) would have to move together. What a search of the question with one server of each price
finds says what each user pays, to the last digit, and how much it holds at each price. Every server
keeps its part of that as the answer has it, moved until its full rows are full to the last digit:

.. math:: \delta_c = x_c \, a_c \cdot y_i, \qquad
          \Big( \sum_{c\ on\ i} x_c \, a_c a_c^T \Big) y_i = \mathrm{left}_i

Shares move by as little as rows were short, which the bound counts squared. Where all servers have
one price (`one_price`) the answer's own prices are as good, and nothing is searched at all.
Nothing that is found here is believed: the point is judged by `bound` as any other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.bound import bound
from fairopt.certificates.columns import Grid
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place, rest, sums
from fairopt.certificates.question import Question
from fairopt.certificates.search import ROOMS, SearchFound, search
from fairopt.instance import Floats, Ints

PART = 1e-2
"""of the bound that is wanted, one of the search at which no step of it brings more"""
MANY_COLUMNS, FEWER = 10_000, 4
"""columns from which servers of the same price are looked for; so many times fewer prices than
servers are few"""
SAME_PRICE = 1e-7
"""part of the dearest in which two prices are told apart"""
SPARE, ROUNDED = 2.0**-84, 2.0**-44
"""left free of a full row: a part of it, and of all that moves there, as that is rounded"""
PIECE = 1 << 14
"""columns at once"""


def pooled(question: Question, answer: Given, enough: float) -> SearchFound | None:
    """What the point proves, if its bound is `enough`; None if it is not, or prices are many."""
    columns = grid(question)
    if columns is None:
        return None
    of, many = alike(columns, answer.price)
    if FEWER * many > columns.shape[1]:
        return None
    held = answer.held
    at = columns.owner(held) * many + of[held % columns.shape[1]]
    had = np.bincount(at, answer.x, columns.shape[0] * many)
    small = _together(question, of, many)
    if small is None:
        return None
    price = np.zeros((many, columns.shape[2]))
    price[of] = (answer.price / columns.row_unit).reshape(-1, columns.shape[2])
    own = np.flatnonzero(had)
    asked = price.ravel() * small.row_unit
    begin = replace(answer, held=own, x=np.asarray(had[own], dtype=np.float64), price=asked)
    found = search(small, begin, enough=PART * enough, rooms=ROOMS[:1]).place
    if found is None:
        return None
    wanted = np.zeros(len(had))
    wanted[found.columns] = found.amount[0]
    if ((wanted > 0) & ~(had > 0)).any():
        return None
    x = answer.x * (wanted / np.where(had > 0, had, 1.0))[at]
    some = np.flatnonzero(x > 0)
    each = (found.price / small.row_unit).reshape(2, many, -1)[:, of].reshape(2, -1)
    begun = Place(
        held[some],
        digits.of(x[some], 2),
        each * question.row_unit,
        found.value,
        found.log_unit,
    )
    return _judged(question, columns, begun, enough)


def _judged(question: Question, columns: Grid, begun: Place, enough: float) -> SearchFound | None:
    """What the place with its rows filled proves, if that is enough."""
    place = _filled(question, columns, begun)
    proved, eps = bound(question, place, sums(question, place))
    worst = float(np.maximum(proved.below, proved.above).max())
    return SearchFound(proved, place, eps) if worst <= enough else None


def grid(question: Question) -> Grid | None:
    """The columns, where they are many, and nothing but servers stops users."""
    columns = question.columns
    if not isinstance(columns, Grid) or columns.count < MANY_COLUMNS or columns.demand.ndim > 2:
        return None
    free = question.pulls is None and not (question.bounded or len(columns.limited))
    return columns if free else None


def alike(columns: Grid, price: Floats) -> tuple[Ints, int]:
    """(I,) which prices each server has, and how many there are."""
    each = (price / columns.row_unit).reshape(-1, columns.shape[2])
    told = np.rint(each / (SAME_PRICE * max(float(each.max(initial=0.0)), 1e-300)))
    _, of = np.unique(told, axis=0, return_inverse=True)
    return of.ravel(), int(of.max()) + 1


def _together(question: Question, of: Ints, many: int) -> Question | None:
    """The question with one server for all of the same prices; None where scores there differ."""
    columns = question.columns
    assert isinstance(columns, Grid)
    users, _, resources = columns.shape
    open_, score = None, None
    if columns.eligible is not None:
        open_ = np.stack([columns.eligible[:, of == k].any(axis=1) for k in range(many)], axis=1)
    if columns.score is not None:
        worth = columns.score
        worth = worth if columns.eligible is None else np.where(columns.eligible, worth, 0.0)
        score = np.stack([worth[:, of == k].max(axis=1) for k in range(many)], axis=1)
        if not ((worth == score[:, of]) | (worth == 0)).all():
            return None
    row = (of[:, None] * resources + np.arange(resources)).ravel()
    rhs = np.bincount(row, question.rhs * question.row_unit, many * resources)
    unit = np.ldexp(1.0, np.frexp(np.where(rhs > 0, rhs, 1.0))[1] - 1)
    grid = Grid(
        (users, many, resources),
        columns.demand,
        unit,
        score,
        open_,
        columns.limited,
        columns.tasks_unit,
    )
    rhs = rhs / unit
    return replace(question, columns=grid, rhs=rhs, unit=np.where(rhs > 0, rhs, 1.0), row_unit=unit)


def _filled(question: Question, columns: Grid, place: Place) -> Place:
    """The place with full rows, and those that are overrun, filled on each server."""
    here, (_, servers, resources) = rest(question, place), columns.shape
    body = np.zeros((servers, resources, resources))
    for some in _pieces(place):
        i, x, need = _needed(columns, place, some)
        for r, one in enumerate(need):
            part = x * one
            for s in range(r, resources):
                body[:, r, s] += np.bincount(i, part * need[s], servers)
    for r in range(resources):
        body[:, r:, r] = body[:, r, r:]
    y = filling(question, place.price[0], here.left, here.left_error, body)
    amount = np.empty_like(place.amount)
    for some in _pieces(place):
        i, x, need = _needed(columns, place, some)
        more = x * sum(one * y[i, r] for r, one in enumerate(need))
        amount[:, some] = digits.plus(place.amount[:, some], more)
    return replace(place, amount=amount)


def filling(question: Question, price: Floats, left: Floats, error: Floats, body: Floats) -> Floats:
    """(I, R) y: a task is to become more by its demand times y, which fills full rows, and those
    that are overrun or would be then.

    Parameters
    ----------
    price, left, error : (M,) of rows. body : (I, R, R) of each server, the sum over its tasks of
        their demand twice.
    """
    servers, resources = body.shape[:2]
    short = (left - SPARE * question.unit - 4 * error).reshape(servers, resources)
    full = (price > 0).reshape(servers, resources) | (short < 0)
    while True:
        some = body * (full[:, :, None] & full[:, None])
        inverse, wanted = np.linalg.pinv(some, hermitian=True), np.where(full, short, 0.0)
        found = np.asarray((inverse @ wanted[:, :, None])[:, :, 0], dtype=np.float64)
        # less by what may be rounded of all that moves, of which much may cancel
        moved = np.maximum(np.abs(wanted), (some @ np.abs(found)[:, :, None])[:, :, 0])
        wanted -= np.where(full, ROUNDED * moved.max(axis=1)[:, None], 0.0)
        found = np.asarray((inverse @ wanted[:, :, None])[:, :, 0], dtype=np.float64)
        over = ~full & ((body @ found[:, :, None])[:, :, 0] > short)
        if not over.any():
            return found
        full |= over


def _pieces(place: Place) -> list[slice]:
    """The columns of a place, so many at once that arrays stay in the cache."""
    return [slice(a, a + PIECE) for a in range(0, len(place.columns), PIECE)]


def _needed(columns: Grid, place: Place, some: slice) -> tuple[Ints, Floats, list[Floats]]:
    """Of some columns of a place: the server, how many tasks, and what one uses of each row."""
    servers, resources = columns.shape[1:]
    n, i = np.divmod(place.columns[some], servers)
    need = np.take(columns.demand, n, axis=0)
    need /= np.take(columns.row_unit[: servers * resources].reshape(servers, resources), i, axis=0)
    return i, place.amount[0][some], list(need.T.copy())


__all__ = ["alike", "filling", "grid", "pooled"]
