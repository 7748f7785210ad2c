"""Lexicographic max-min, one HiGHS program a level, by its own interface: the model is passed once.

From level to level only the rows of the users frozen change, so that the simplex method starts from
the last basis; the interior method starts afresh and crosses over.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.question import Answer, Data
from benchmarks.peers.sides.highs import pass_model, quiet

SURE = 1e-7
"""a multiplier above this part of the largest freezes its user"""


def solve(given: Data, method: str) -> Answer:
    """max t, s_n / W_n >= t for who is free, s_n >= its level for who is frozen, no slack."""
    from scipy.sparse import csc_array, hstack, vstack

    users, servers, resources = given.shape
    unit = given.unit
    per_pair = given.score * unit
    equal = np.bincount(given.n, per_pair, users)
    share = given.of_user().multiply((per_pair / equal[given.n])[None, :])
    slope = given.weight / equal
    part = slope.max()
    slope = slope / part
    usage = given.usage().multiply(unit[None, :])
    rows = usage.shape[0]
    matrix = vstack(
        [hstack([usage, csc_array((rows, 1))]), hstack([share, csc_array(-slope[:, None])])]
    ).tocsc()
    pairs = len(given.n)
    goal = np.zeros(pairs + 1)
    goal[-1] = 1.0
    low = np.concatenate([np.full(rows, -np.inf), np.zeros(users)])
    high = np.concatenate([np.ones(rows), np.full(users, np.inf)])
    highs = quiet()
    highs.setOptionValue("solver", method)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(name, 1e-10)
    pass_model(highs, goal, matrix, low, high)
    free = np.ones(users, bool)
    levels = []
    status = "none"
    while free.any():
        if method == "ipm":
            highs.clearSolver()
        highs.run()
        status = highs.modelStatusToString(highs.getModelStatus())
        if status != "Optimal":
            break
        found = highs.getSolution()
        y, dual = np.array(found.col_value), np.abs(np.array(found.row_dual))
        levels.append(dual[:rows].reshape(servers, resources))
        worth = np.where(free, dual[rows:] * slope, 0.0)
        if not worth.max() > 0:
            status = "nobody stopped the level"
            break
        for user in np.flatnonzero(worth > SURE * worth.max()).tolist():
            free[user] = False
            highs.changeCoeff(rows + user, pairs, 0.0)
            highs.changeRowBounds(rows + user, slope[user] * y[-1], np.inf)
    if not levels:
        return Answer(None, status=status)
    return Answer(
        y[:-1] * unit,
        None,
        np.array(levels),
        status if not free.any() else f"{status}, {int(free.sum())} users left",
        notes={"programs": len(levels)},
    )
