r"""Rounds of max-min to the last digits: levels from prices, then tasks from levels.

A simplex method leaves 1e-10 of rows and prices open, which later rounds multiply. But a level that
is worked out from its prices,

.. math:: t_k = \Big( B - \sum_{m\ earlier} q_m l_m \Big) \Big/ \sum_{m\ free} q_m \phi_m ,

is off by the product of both errors alone. Tasks then follow: rows that are full stay so, everybody
holds just its level, and what changes is changed by the least part of itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.formulas.lowered import PLACE, Lowered
from fairopt.formulas.targets import Jump, Piece
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.filled import FULL, NOTHING, tasks
from fairopt.solving.engines.quotas.reached import followed
from fairopt.solving.engines.quotas.rounds import Round, Rounds, RoundsQuestion

PASSES = 2
"""times that tasks follow from levels, and targets from these"""
LARGEST = 4_000
"""most rows and users for which this is tried"""


def sharpened(found: Rounds, asked: RoundsQuestion) -> Rounds:
    """The rounds with levels and tasks to rounding; as they are where that leads elsewhere."""
    low = asked.low
    flow = np.zeros(len(low.low)) if found.flow is None else found.flow
    if len(low.low) and found.flow is None or len(low.rhs) + low.shape[0] > LARGEST:
        return found
    held = _held(found.x, low)
    rounds = [replace(one, price=_prices(one.price, low, held)) for one in found.rounds]
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


def _held(x: Floats, low: Lowered) -> Bools:
    """(P,) columns that hold something, and less than all that a limit of their own allows."""
    share = np.bincount(low.owner, low.score * x, low.shape[0])
    found = x * low.score > NOTHING * share[low.owner]
    rows = low.matrix.tocsr()
    alone = np.flatnonzero((low.kind == PLACE) & (np.diff(rows.indptr) == 1))
    at = rows.indices[rows.indptr[alone]]
    found[at] &= x[at] < (low.rhs[alone] / rows.data[rows.indptr[alone]]) * (1 - FULL)
    return np.asarray(found)


def _prices(price: Floats, low: Lowered, held: Bools) -> Floats:
    """(M,) prices at which what is held costs each user the same, whatever a share of it."""
    from scipy.linalg import lstsq

    rows = low.matrix.tocsr()
    alone = (low.kind == PLACE) & (np.diff(rows.indptr) == 1)
    shared = np.flatnonzero((price > 0) & ~alone)
    cost = low.matrix.T[: low.columns, shared] @ price[shared]
    per = np.where(held, cost / low.score, np.inf)
    q = np.full(low.shape[0], np.inf)
    np.minimum.at(q, low.owner, per)
    users = np.flatnonzero(np.isfinite(q) & (q > 0))
    position = np.full(low.shape[0], -1)
    position[users] = np.arange(len(users))
    columns = np.flatnonzero(held & (position[low.owner] >= 0))
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
    mine = np.flatnonzero(alone & (price > 0))
    at = rows.indices[rows.indptr[mine]]
    found[mine] = np.maximum(paid[at] - cost[at], 0.0) / rows.data[rows.indptr[mine]]
    return found


__all__ = ["sharpened"]
