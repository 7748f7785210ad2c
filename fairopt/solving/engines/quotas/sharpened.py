r"""Rounds of max-min to the last digits: levels from prices, then tasks from levels.

A simplex method leaves 1e-10 of rows and prices open, which later rounds multiply. But a level that
is worked out from its prices,

.. math:: t_k = \Big( B - \sum_{m\ earlier} q_m l_m \Big) \Big/ \sum_{m\ free} q_m \phi_m ,

is off by the product of both errors alone. Tasks then follow: rows that are full stay so, everybody
holds just its level, and what changes is changed by the least part of itself.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import diags_array

from fairopt.formulas.lowered import PLACE, Lowered
from fairopt.formulas.targets import Jump, Piece
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.reached import RoundsReached, followed
from fairopt.solving.engines.quotas.rounds import Round, Rounds, RoundsQuestion

ROW_FULL = 1e-8
"""part of a row that is left of a full one"""
INSIDE = 2.0**-51
"""part of what a row adds up by which it stays below full"""
KEPT_TURNS = 3


def kept(x: Floats, low: Lowered) -> Floats:
    """The tasks (P,); those given where no small change keeps the rows, or beside lending, whose
    flows are not told."""
    rows = low.matrix.tocsr()
    if rows.shape[1] > len(x):
        return x
    size = np.maximum(abs(rows) @ np.abs(x) + np.abs(low.rhs), 1e-300)
    found = x
    for _ in range(KEPT_TURNS):
        left = low.rhs - rows @ found
        full = np.flatnonzero(left <= ROW_FULL * low.unit)
        miss = (left[full] - INSIDE * size[full]) / size[full]
        scaled = diags_array(1.0 / size[full]) @ rows[full] @ diags_array(found)
        found = found * (1.0 + scaled.T @ least((scaled @ scaled.T).toarray(), miss))
    near = np.abs(found - x) <= ROW_FULL * np.abs(x)
    return np.asarray(found) if near.all() else x


MANY_ROWS = 500
"""rows of a large system"""
TINY = 1e-13
"""singular values of a smaller part are none"""


def least(matrix: Floats, right: Floats) -> Floats:
    """What solves a symmetric system, the least of it if that is not one; large ones are tried by a
    factor first, which is much faster.

    Parameters
    ----------
    matrix : (M, M). right : (M,).

    Returns
    -------
    (M,); 0, so no step, where an entry is no number or nothing solves it.
    """
    from scipy.linalg import cho_factor, cho_solve

    none = np.zeros(len(right))
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return none
    if len(right) > MANY_ROWS:
        # a matrix that is not definite is one for least squares
        with contextlib.suppress(np.linalg.LinAlgError):
            found = np.asarray(cho_solve(cho_factor(matrix), right), dtype=np.float64)
            if np.isfinite(found).all():
                return found
    try:
        found = np.asarray(np.linalg.lstsq(matrix, right, rcond=TINY)[0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return none
    return found if np.isfinite(found).all() else none


RIDGE, NEARLY = 1e-13, 1e-3
"""part that is added to a diagonal before a factor; part that it may leave of what is wanted"""


def _step(scaled: Any, miss: Floats) -> Floats:
    """The least step (C,) with scaled (M, C) @ step = miss (M,), nearly: what is still missing is
    for the next. Rows that depend on others take no part in it, however they are solved for."""
    from scipy.linalg import cho_factor, cho_solve

    matrix = (scaled @ scaled.T).toarray()
    damped = matrix + np.diag(RIDGE * np.diag(matrix))
    with contextlib.suppress(np.linalg.LinAlgError, ValueError):
        found = np.asarray(cho_solve(cho_factor(damped), miss), dtype=np.float64)
        if np.abs(matrix @ found - miss).max() <= NEARLY * np.abs(miss).max():
            return np.asarray(scaled.T @ found)
    return np.asarray(scaled.T @ least(matrix, miss))


FULL, NOTHING = 1e-8, 1e-9
"""part of a row that is left of a full one; part of a user's tasks that is none"""
TURNS, ENOUGH = 4, 1e-15
ROWS = 10
"""turns in which rows without a price that would be overrun are kept full"""


def tasks(
    start: Floats,
    flow: Floats,
    low: Lowered,
    reached: RoundsReached,
    priced: Bools,
    filled: Bools | None = None,
) -> tuple[Floats, Floats, Floats] | None:
    """Tasks (P,), flows (F,) and changes of levels (K,) near those given at which everybody has
    just its level, rows (M,) with a price being full, or `filled` ones; None if other rows do not
    let it.

    Levels move too: at those that are off by a digit there are no such tasks.
    """
    from scipy.sparse import csr_array, diags_array, hstack, vstack

    users, rows = low.shape[0], low.matrix.tocsr()
    due = reached.due
    x, y = start.copy(), np.clip(flow, low.low, low.high)
    left = (low.rhs - rows @ np.concatenate([x, y])) / low.unit
    alone = (low.kind == PLACE) & (np.diff(rows.indptr) == 1)
    share = np.bincount(low.owner, low.score * x, users)
    free = x * low.score > NOTHING * share[low.owner]
    x[~free] = 0.0
    # a limit of one column is met by that column, which then stays
    met = np.flatnonzero(alone & (left <= FULL))
    at = rows.indices[rows.indptr[met]]
    x[at], free[at] = low.rhs[met] / rows.data[rows.indptr[met]], False
    # a flow at a bound stays, others move in the unit of their rows
    unit = np.asarray(np.abs(rows[:, low.columns :]).T @ low.unit).ravel()
    between = (y > low.low + FULL * unit) & (y < low.high - FULL * unit)
    y = np.where(between, y, np.where(y <= low.low + FULL * unit, low.low, low.high))
    size = np.array([one.jump if one.jump else one.t for one in reached.rounds])
    first = hstack(
        [low.of_user(), csr_array((users, len(y))), csr_array(-reached.line)], format="csr"
    )
    moves = np.concatenate([free, between, reached.line.any(axis=0)])
    whole = np.concatenate([x, y, np.zeros(len(size))])
    # a row without a price may be left a little, if it is not overrun
    binds = (left <= FULL if filled is None else filled) & ~alone & priced
    # who is due nothing holds nothing, and is not asked
    per_due = np.divide(1.0, due, out=np.zeros_like(due), where=due > 0)
    for _ in range(ROWS):
        full = np.flatnonzero(binds)
        second = hstack([rows[full], csr_array((len(full), len(size)))])
        scale = np.concatenate([per_due, 1.0 / low.unit[full]])
        system = csr_array(diags_array(scale) @ vstack([first, second]))
        wanted = scale * np.concatenate([due, low.rhs[full]])
        for _ in range(TURNS):
            miss = wanted - system @ whole
            if np.abs(miss).max() <= ENOUGH:
                break
            each = np.concatenate([whole[: len(x)], unit, size])
            scaled = system @ diags_array(np.where(moves, each, 0.0))
            whole = whole + np.where(moves, each, 0.0) * _step(scaled, miss)
            if not (whole[: len(x)] >= 0).all():
                return None
        held = whole[: len(x) + len(y)]
        y = held[len(x) :]
        if not ((y >= low.low) & (y <= low.high)).all():
            return None
        over = (rows @ held - low.rhs) / low.unit
        more = (over > ENOUGH) & ~alone & ~binds
        if not more.any():
            break
        binds |= more
    good = np.abs(wanted - system @ whole).max() <= 1e-12 and over.max(initial=0.0) <= 1e-11
    if not good:
        return None
    return whole[: len(x)], y, whole[len(held) :]


PASSES = 2
"""times that tasks follow from levels, and targets from these"""
MOST_USERS = 4_000
"""most users, and rows that are not of one column alone, for which this is tried"""


def small(low: Lowered) -> bool:
    """Whether users and rows are few enough that tasks are worked out from levels."""
    return int((~_alone(low)).sum()) + low.shape[0] <= MOST_USERS


def sharpened(found: Rounds, asked: RoundsQuestion) -> Rounds:
    """The rounds with levels and tasks to rounding; as they are where that leads elsewhere."""
    low = asked.low
    flow = np.zeros(len(low.low)) if found.flow is None else found.flow
    if len(low.low) and found.flow is None or not small(low):
        return found
    mine = held(found.x, low)
    rounds = [replace(one, price=tied(one.price, low, mine)) for one in found.rounds]
    reached = followed(rounds, asked, _levels)
    money = np.max([one.price for one in found.rounds], axis=0)
    point = found.x, flow
    for _ in range(PASSES):
        if reached is None:
            return found
        met = tasks(*point, low, reached, money > 0)
        if met is None:
            return found
        x, flow, moved = met
        point = x, flow
        reached = followed(reached.moved(moved), asked)
    if reached is None:
        return found
    return replace(found, rounds=reached.rounds, x=point[0], flow=point[1], share=reached.due)


def _levels(low: Lowered, one: Round, piece: Piece | Jump, base: Floats) -> float | None:
    """How far along a piece the prices of a round say that it is stopped; None if they do not."""
    cost = low.cost(one.price)
    q = np.full(low.shape[0], np.inf)
    np.minimum.at(q, low.owner, cost / low.score)
    pays = np.where(np.isfinite(q), q, 0.0)
    begun = piece.start.due
    line = piece.slope if isinstance(piece, Piece) else piece.end.due - begun
    each = float(pays @ line)
    if not each > 0:
        return None
    return (float(low.budget(one.price)) - float(pays @ (begun + base))) / each


def _alone(low: Lowered) -> Bools:
    """(M,) limits on a server that hold one column."""
    return np.asarray((low.kind == PLACE) & (np.diff(low.matrix.tocsr().indptr) == 1))


def held(x: Floats, low: Lowered) -> Bools:
    """(P,) columns that hold something, and less than all that a limit of their own allows."""
    share = np.bincount(low.owner, low.score * x, low.shape[0])
    found = x * low.score > NOTHING * share[low.owner]
    rows, alone = low.matrix.tocsr(), np.flatnonzero(_alone(low))
    at = rows.indices[rows.indptr[alone]]
    found[at] &= x[at] < (low.rhs[alone] / rows.data[rows.indptr[alone]]) * (1 - FULL)
    return np.asarray(found)


def tied(price: Floats, low: Lowered, mine: Bools) -> Floats:
    """(M,) prices at which what is held costs each user the same, whatever a share of it."""
    from scipy.linalg import lstsq

    rows, alone = low.matrix.tocsr(), _alone(low)
    shared = np.flatnonzero((price > 0) & ~alone)
    cost = low.matrix.T[: low.columns, shared] @ price[shared]
    per = np.where(mine, cost / low.score, np.inf)
    q = np.full(low.shape[0], np.inf)
    np.minimum.at(q, low.owner, per)
    users = np.flatnonzero(np.isfinite(q) & (q > 0))
    position = np.full(low.shape[0], -1)
    position[users] = np.arange(len(users))
    columns = np.flatnonzero(mine & (position[low.owner] >= 0))
    if not len(columns) or not len(shared):
        return price
    body = rows[shared][:, columns].T.toarray()
    system = np.zeros((len(columns), len(shared) + len(users)))
    system[:, : len(shared)] = body * price[shared]
    each = low.owner[columns]
    system[np.arange(len(columns)), len(shared) + position[each]] = -low.score[columns] * q[each]
    system /= (low.score[columns] * q[each])[:, None]
    value = np.ones(system.shape[1])
    for _ in range(3):
        miss = system @ value
        if np.abs(miss).max() <= 1e-15:
            break
        # a rank-revealing factorisation: the normal equations lose half of the digits
        value = (
            value - lstsq(system, miss, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
        )
    if not (value > 0.5).all() or np.abs(system @ value).max() > 1e-12:
        return price
    found = np.zeros_like(price)
    found[shared] = price[shared] * value[: len(shared)]
    # a limit of one column costs what that column is cheaper than what its user pays
    q[users] *= value[len(shared) :]
    cost = low.matrix.T[: low.columns, shared] @ found[shared]
    whole = np.full(low.shape[0], np.inf)
    np.minimum.at(whole, low.owner, low.cost(price) / low.score)
    # who is stopped by its limits alone pays what it did
    paid = np.where(np.isfinite(q), q, np.where(np.isfinite(whole), whole, 0.0))
    paid = paid[low.owner] * low.score
    own = np.flatnonzero(alone & (price > 0))
    at = rows.indices[rows.indptr[own]]
    found[own] = np.maximum(paid[at] - cost[at], 0.0) / rows.data[rows.indptr[own]]
    return found


__all__ = [
    "FULL",
    "MANY_ROWS",
    "NOTHING",
    "held",
    "least",
    "sharpened",
    "small",
    "tasks",
    "tied",
]
