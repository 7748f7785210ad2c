"""Tasks at which everybody holds just what it is due, and rows with a price are full."""

from __future__ import annotations

import numpy as np

from fairopt.formulas.lowered import PLACE, Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.kept import least
from fairopt.solving.engines.quotas.reached import RoundsReached

FULL, NOTHING = 1e-8, 1e-9
"""part of a row that is left of a full one; part of a user's tasks that is none"""
TURNS, ENOUGH = 4, 1e-15
ROWS = 10
"""turns in which rows without a price that would be overrun are kept full"""


def tasks(
    start: Floats, flow: Floats, low: Lowered, reached: RoundsReached, priced: Bools
) -> tuple[Floats, Floats, Floats] | None:
    """Tasks (P,), flows (F,) and changes of levels (K,) near those given at which everybody has
    just its level, rows (M,) with a price being full; None if other rows do not let it.

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
    binds = (left <= FULL) & ~alone & priced
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
            step = scaled.T @ least((scaled @ scaled.T).toarray(), miss)
            whole = whole + np.where(moves, each, 0.0) * step
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


__all__ = ["FULL", "NOTHING", "tasks"]
