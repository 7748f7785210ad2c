r"""Lexicographic max-min on one HiGHS model that is kept: between levels only frozen users change.

In units of what an equal division would give, with w_n the weight in these units, the model is

.. math:: \max t, \quad \sum_h y_h - w_n t \ge 0, \quad B y \le 1, \quad
          \sum_h y_h \sigma_h / L_n \le 1

A user that the level t stops keeps it: its row becomes sum y >= w_n t, by one coefficient and one
bound. The last basis stays feasible, so the primal simplex method goes on from it.

A positive multiplier of its row stops a user. So does a price on each of its pairs, even if its own
money is below the tolerances. At a degenerate vertex a multiplier may be 0 although the user cannot
rise; the next level is then found at the same t, which costs a program and no error.

A limit has a row only where the share it allows depends on the server. Elsewhere it is left out: t
is then at most too low, so whoever reaches its limit below t does reach it, keeps that, and the
level of the others is found again. What such a user holds beyond its limit is on servers that cost
nothing, and is given back at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.point import Point
from fairopt.solving.engines.programs.level_model import Begin, KeptModel, RefinedModel
from fairopt.solving.engines.programs.sequence import Sequence


def levels(
    instance: Instance,
    score: Floats,
    progress: Callable[[int, int], None] | None = None,
    refined: bool = False,
    begin: Begin | None = None,
) -> Sequence:
    """All levels of a connected part.

    Parameters
    ----------
    score : (N, I). progress : called with (frozen, N) after each level.
    refined : every level from the vertex of its basis to thirty digits (`vertex`), as is needed
        where prices of one level span many decades.
    begin : where the first level begins; None: with nobody having anything.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum, or nobody stopped a level.
    """
    model = RefinedModel(instance, score) if refined else KeptModel(instance, score)
    users = instance.shape[0]
    level, prices, steps = np.zeros(users), list[Floats](), list[dict[str, Any]]()
    free = np.ones(users, bool)
    owner, server = instance.pairs
    needs, pool = instance.pair_demand > 0, np.where(instance.pool > 0, instance.pool, np.inf)

    def blocked(money: Floats, sure: float) -> Bools:
        """(N,) whether a task costs something on every server of the user: it cannot rise."""
        pays = (needs & (money > sure)[server]).any(axis=1)
        return np.asarray(np.bincount(owner[~pays], minlength=users) == 0)

    def told(t: float, who: Bools, money: Floats, at_limit: Bools) -> None:
        total = float(money.sum())
        prices.append(money / pool / (total if total > 0 else 1.0))
        steps.append(
            {
                "step": "level",
                "status": model.status,
                "solver": "highs",
                "level": t,
                "users": [instance.users[k] for k in np.flatnonzero(who).tolist()],
                "full": [
                    [instance.servers[a], instance.resources[b]]
                    for a, b in np.argwhere(money > 0).tolist()
                ],
                "at limit": [instance.users[k] for k in np.flatnonzero(who & at_limit).tolist()],
            }
        )

    if begin is not None:
        for known in begin.before:
            level[known.who] = known.t
            told(known.t, known.who, known.money, np.zeros(users, bool))
            free &= ~known.who
            model.freeze(known.who, level)
        model.begin(begin)
    while free.any():
        try:
            t, tasks, money, limits, worth = model.highest()
        except clock.OutOfTime:
            if not steps:
                raise
            break  # the tasks of the last level are an answer
        if begin is not None and any(t < known.t for known in begin.before):
            raise SolverFailure("kept model: levels of the last answer are not the lowest any more")
        stopped = free & (model.ceiling <= t)
        if stopped.any():
            level[stopped] = model.ceiling[stopped]
            for value in np.unique(level[stopped]).tolist():
                told(value, stopped & (level == value), np.zeros_like(money), stopped)
        else:
            everything = float(worth[free].sum())
            # where limits alone stop a level, the prices of rows are a solver's noise
            money = np.where(money > model.noise * everything, money, 0.0)
            sure = model.sure * everything
            stopped = free & ((worth > sure) | blocked(money, sure))
            if not stopped.any():
                raise SolverFailure(f"kept model, level {len(steps)}: nobody stopped it")
            level[stopped] = t
            told(t, stopped, money, limits > 0)
        free &= ~stopped
        model.freeze(stopped, level)
        if progress is not None:
            progress(users - int(free.sum()), users)
    # `tasks` gives back what is beyond a limit
    last = Point(tasks, np.zeros(instance.pool.shape), np.zeros(users)).tasks(instance)
    return Sequence(last, level, np.array(prices), tuple(steps))
