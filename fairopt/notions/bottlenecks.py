"""Every user has a bottleneck: the constraints common to the mixed-integer programs of bmf, ps-dsf.

Levels are scaled so that none exceeds 1, which is the big M of every rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Choose
from fairopt.program import FeasibleSet, usage_matrix

OBJECTIVES = ("most-tasks", "fewest-tasks")


def gain(instance: Instance, objective: str | None) -> Floats:
    """(N,) gain per task: 1 for most tasks, -1 for fewest, 1 for one user alone; 0 without one.

    Raises
    ------
    BadInput : neither of these, nor the name of a user.
    """
    users = instance.users
    if objective is None:
        return np.zeros(len(users))
    if objective == "most-tasks":
        return np.ones(len(users))
    if objective == "fewest-tasks":
        return -np.ones(len(users))
    if objective not in users:
        wanted = f"{', '.join(OBJECTIVES)} or a user"
        raise BadInput([Fault("objective", repr(objective), wanted)])
    return np.array([float(user == objective) for user in users])


def total(space: FeasibleSet, of: Floats) -> Any:
    """The objective: the sum over pairs of gain `of` (P,) times tasks, the largest gain 1."""
    gains = of * space.pair_unit
    return (gains / max(float(np.abs(gains).max()), 1e-300)) @ space.y


def everybody_stopped(
    instance: Instance, space: FeasibleSet, level: Any, choose: Choose
) -> list[Any]:
    """Rules: every eligible pair has a full resource whose holders' levels are not above its own.

    With booleans "stopped" for each resource a pair demands, "holds" for each pair and "at limit"
    for each user with a limit, who then needs no other bottleneck.

    Parameters
    ----------
    level : cvxpy expression (K,) in [0, 1], the level of a pair at each resource it demands, in
        the order of the entries of `usage_matrix`; no answer has a larger one than 1.
    """
    import cvxpy as cp

    n, _ = instance.pairs
    entries = usage_matrix(instance)[0].tocoo()
    row, pair, pairs = entries.row, entries.col, len(n)
    stopped = choose("stopped", len(row))
    holds = choose("holds", pairs)
    top = cp.Variable(entries.shape[0], nonneg=True, name="highest level of a holder")
    used = entries.tocsr().multiply(space.pair_unit[None, :]).tocsr() @ space.y
    # one row a pair: which of its entries there are
    mine = _indicator(pair, pairs)
    enough = mine @ stopped
    rules = [
        space.y <= cp.multiply(_alone(instance) / space.pair_unit, holds),
        used[row] >= stopped,
        top[row] >= level - (1 - holds[pair]),
        level >= top[row] - (1 - stopped),
        top <= 1,
    ]
    if len(space.limited):
        at_limit = choose("at limit", len(space.limited))
        total = _indicator(n, len(instance.users))[space.limited] @ cp.multiply(
            space.pair_unit, space.y
        )
        rules.append(total / instance.limit[space.limited] >= at_limit)
        place = np.full(len(instance.users), -1)
        place[space.limited] = np.arange(len(space.limited))
        limited = np.flatnonzero(place[n] >= 0)
        enough = enough + _spread(limited, pairs, place[n[limited]], len(space.limited)) @ at_limit
    return [*rules, enough >= 1]


def _alone(instance: Instance) -> Floats:
    """(P,) most tasks of each pair: alone on the server, the user's limit kept."""
    n, i = instance.pairs
    return np.minimum(instance.alone[n, i], instance.limit[n])


def _indicator(of: Any, size: int) -> Any:
    """(size, K) 1 where entry k belongs to row of[k]."""
    return _spread(of, size, np.arange(len(of)), len(of))


def _spread(down: Any, rows: int, across: Any, columns: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(down)), (down, across)), shape=(rows, columns)).tocsr()
