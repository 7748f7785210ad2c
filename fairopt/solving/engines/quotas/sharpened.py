r"""Rounds of plain max-min to the last digits: levels from prices, then tasks from levels.

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
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.quotas.kept import least
from fairopt.solving.engines.quotas.rounds import Rounds

NEAR = 1e-6
"""a level that would change by a larger part is left as it was found"""
FULL, NOTHING = 1e-8, 1e-9
"""part of a row that is left of a full one; part of a user's tasks that is none"""
TURNS, ENOUGH = 4, 1e-15
ROWS = 4
"""turns in which rows without a price that would be overrun are kept full"""


def sharpened(found: Rounds, low: Lowered, weight: Floats) -> Rounds:
    """The rounds with levels and tasks to rounding; as they are where that leads elsewhere.

    Parameters
    ----------
    found : rounds of users without groups, floors or classes. weight : (N,) phi.
    """
    due, done = np.zeros(len(weight)), np.zeros(len(weight), bool)
    rounds = []
    held = _held(found.x, low)
    for one in found.rounds:
        one = replace(one, price=_prices(one.price, low, held))
        cost = low.cost(one.price)
        q = np.full(len(weight), np.inf)
        np.minimum.at(q, low.owner, cost / low.score)
        pays = np.where(np.isfinite(q), q, 0.0)
        each = float(pays[~done] @ weight[~done])
        t = (float(low.budget(one.price)) - float(pays[done] @ due[done])) / each if each else 0.0
        if not abs(t - one.t) <= NEAR * one.t:
            t = one.t
        rounds.append(replace(one, t=t))
        due = np.where(one.users, t * weight, due)
        done |= one.users
    money = np.max([one.price for one in found.rounds], axis=0)
    own = np.argmax([one.users for one in found.rounds], axis=0)
    levels = np.array([one.t for one in rounds])
    met = _tasks(found.x, low, levels, own, weight, money > 0)
    if met is None:
        return found
    x, levels = met
    rounds = [replace(one, t=float(t)) for one, t in zip(rounds, levels, strict=True)]
    return replace(found, rounds=tuple(rounds), x=x, share=levels[own] * weight)


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


def _tasks(
    start: Floats, low: Lowered, levels: Floats, own: Ints, weight: Floats, priced: Bools
) -> tuple[Floats, Floats] | None:
    """Tasks (P,) and levels (K,) near those given at which everybody has just its level, rows (M,)
    with a price being full; None if other rows do not let it.

    Levels move too: at those that are off by a digit there are no such tasks.
    """
    from scipy.sparse import csr_array, diags_array, hstack, vstack

    users, rows = len(weight), low.matrix.tocsr()
    due = levels[own] * weight
    x = start.copy()
    left = (low.rhs - rows @ x) / low.unit
    alone = (low.kind == PLACE) & (np.diff(rows.indptr) == 1)
    share = np.bincount(low.owner, low.score * x, users)
    free = x * low.score > NOTHING * share[low.owner]
    x[~free] = 0.0
    # a limit of one column is met by that column, which then stays
    met = np.flatnonzero(alone & (left <= FULL))
    at = rows.indices[rows.indptr[met]]
    x[at], free[at] = low.rhs[met] / rows.data[rows.indptr[met]], False
    of_level = csr_array((-weight, (np.arange(users), own)), shape=(users, len(levels)))
    first = hstack([low.of_user(), of_level])
    moves, both = np.append(free, levels > 0), np.append(x, levels)
    # a row without a price may be left a little, if it is not overrun
    binds = (left <= FULL) & ~alone & priced
    # who is due nothing holds nothing, and is not asked
    per_due = np.divide(1.0, due, out=np.zeros_like(due), where=due > 0)
    for _ in range(ROWS):
        full = np.flatnonzero(binds)
        nothing = csr_array((len(full), len(levels)))
        scale = np.concatenate([per_due, 1.0 / low.unit[full]])
        system = csr_array(diags_array(scale) @ vstack([first, hstack([rows[full], nothing])]))
        wanted = scale * np.concatenate([np.zeros(users), low.rhs[full]])
        for _ in range(TURNS):
            miss = wanted - system @ both
            if np.abs(miss).max() <= ENOUGH:
                break
            scaled = system @ diags_array(np.where(moves, both, 0.0))
            step = scaled.T @ least((scaled @ scaled.T).toarray(), miss)
            both = both + np.where(moves, both, 0.0) * step
            if not (both >= 0).all():
                return None
        x, levels = both[: len(x)], both[len(x) :]
        over = (rows @ x - low.rhs) / low.unit
        more = (over > ENOUGH) & ~alone & ~binds
        if not more.any():
            break
        binds |= more
    good = np.abs(wanted - system @ both).max() <= 1e-12 and over.max(initial=0.0) <= 1e-11
    return (x, levels) if good else None


__all__ = ["sharpened"]
