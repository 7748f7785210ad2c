"""Tasks and prices of max-min levels made exact, once the rows that stop each user are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.point import Point

FILLED = 1e-14
"""largest relative difference of use and capacity of a full row"""
ROUNDS = 3
TRIFLE = 1e-12
"""part of a level's money below which a price is only the error of an engine"""
AT_LIMIT = 1e-9
"""a user that is this part below its limit is at it"""
DUST = 0.5
"""a user at price 0 leaves a priced server that holds a smaller part of its share than this"""


def settled(
    instance: Instance, score: Floats, tasks: Floats, money: Floats
) -> tuple[Floats, Floats]:
    """Tasks (N, I) and money of rows (I, R) of a level, tasks only on each user's cheapest pairs.

    A pair is kept if the part of its user's share there is larger than the part by which it is too
    dear: one of the two is rounding. Prices are then changed, by as little as possible, until all
    pairs kept by a user cost it the same.
    """
    n, i = instance.pairs
    users = instance.shape[0]
    use = instance.pair_demand / np.where(instance.pool > 0, instance.pool, 1.0)[i]
    u, y = score[n, i], tasks[n, i]
    money = np.where(money > TRIFLE * money.sum(), money, 0.0)
    share = np.bincount(n, y * u, users)[n]
    top = score.max(axis=1, where=instance.eligible, initial=0.0)
    uneven = score.min(axis=1, where=instance.eligible, initial=np.inf) < top
    limited = (uneven & (np.bincount(n, y, users) >= instance.limit * (1 - AT_LIMIT)))[n]
    for _ in range(ROUNDS):
        cost = (use * money[i]).sum(axis=1) / u
        cheapest = np.full(users, np.inf)
        np.minimum.at(cheapest, n, cost)
        q = cheapest[n]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            held = y * u / share > np.where(q > 0, cost / q - 1, np.where(cost > 0, DUST, -1.0))
        held |= limited & (y > 0)
        pays = held & (q > 0) & ~limited
        tied = np.flatnonzero(pays & (np.bincount(n[pays], minlength=users)[n] > 1))
        if not len(tied):
            break
        money = _tied(money, use[tied], i[tied], u[tied], n[tied])
    found = tasks.copy()
    found[n[~held], i[~held]] = 0.0
    return found, money


def _tied(money: Floats, use: Floats, i: Any, u: Floats, n: Any) -> Floats:
    """Money of rows moved so that the pairs given (use, server, score, user) cost a user alike."""
    from scipy.sparse import csc_array

    from fairopt.solving.engines.polish.tasks import least_norm

    resources = money.shape[1]
    parts = use * money[i] / u[:, None]
    cost = parts.sum(axis=1)
    pair, r = np.nonzero(parts)
    rows, place = np.unique(i[pair] * resources + r, return_inverse=True)
    names, user = np.unique(n, return_inverse=True)
    level = np.bincount(user, cost) / np.bincount(user)
    entries = np.concatenate([parts[pair, r] / cost[pair], -np.ones(len(n))])
    down = np.concatenate([pair, np.arange(len(n))])
    across = np.concatenate([place, len(rows) + user])
    jacobian = csc_array((entries, (down, across)), shape=(len(n), len(rows) + len(names)))
    step = least_norm(jacobian, level[user] / cost - 1.0)
    if step is None:
        return money
    moved = money.copy()
    moved.reshape(-1)[rows] *= 1 + np.maximum(step[: len(rows)], -0.5)
    return moved


def exactly_full(
    instance: Instance, score: Floats, tasks: Floats, who: Bools, full: Bools
) -> Floats:
    """Tasks of users (N,) that fill these rows (I, R) exactly, at their limits or at one level."""
    from fairopt.program import usage_matrix

    users, servers = np.flatnonzero(who), np.flatnonzero(full.any(axis=1))
    where = np.ix_(users, servers)
    stopped = instance.select(users, servers)
    usage, rows = usage_matrix(stopped)
    usage = usage[full[servers][rows]]
    own, y = score[where], tasks[where][stopped.pairs]
    group = np.zeros(len(users), dtype=np.int64)
    for _ in range(ROUNDS):
        share = np.bincount(stopped.pairs[0], y * own[stopped.pairs], len(users))
        if float(np.abs(usage @ y - 1.0).max()) < FILLED:
            break
        moved = _correct(stopped, own, y, group, usage, share / stopped.weight)
        if moved is None:
            return tasks
        y = moved
    nothing = np.zeros(stopped.pool.shape)
    found = tasks.copy()
    found[where] = Point(y, nothing, np.zeros(len(users))).tasks(stopped)
    return found


def polished(
    instance: Instance,
    score: Floats,
    tasks: Floats,
    prices: list[Floats],
    level: Floats | None = None,
) -> Floats:
    """Tasks (N, I) that fill every priced row exactly and give levels that are exactly equal.

    A least-norm correction of the last program's tasks, relative to each, with the value of every
    level free: the programs' own tolerances disappear.
    """
    from fairopt.program import usage_matrix

    n, i = instance.pairs
    y = tasks[n, i]
    value = (
        level if level is not None else np.bincount(n, y * score[n, i], instance.shape[0])
    ) / instance.weight
    order = np.argsort(value, kind="stable")
    new = np.concatenate([[True], np.diff(value[order]) > 1e-9 * value[order][1:]])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    usage, rows = usage_matrix(instance)
    used = usage @ y
    priced = (np.max(prices, axis=0)[rows] > 0) & (used > 1 - 1e-8)
    for _ in range(3):
        moved = _correct(instance, score, y, group, usage[priced], value)
        if moved is None:
            return tasks
        y = moved
        value = np.bincount(n, y * score[n, i], instance.shape[0]) / instance.weight
    return Point(y, np.zeros(instance.pool.shape), np.zeros(instance.shape[0])).tasks(instance)


def _correct(
    instance: Instance, score: Floats, y: Floats, group: Any, usage: Any, value: Floats
) -> Floats | None:
    from scipy.sparse import csc_array

    from fairopt.solving.engines.polish.tasks import least_norm

    if not (value > 0).all():
        return None
    n, i = instance.pairs
    users, groups = instance.shape[0], int(group.max()) + 1
    held = np.flatnonzero(y > 0)
    share = score[n[held], i[held]] * y[held] / (value * instance.weight)[n[held]]
    full = usage[:, held].multiply(y[held][None, :]).tocoo()
    total = np.bincount(n, y, users)
    # users at their limits stay there
    fixed = total >= instance.limit * (1 - 1e-12)
    # relative: log level of the user's share moves as its group's does; then the full rows
    down = np.concatenate([n[held], np.arange(users), users + full.row])
    across = np.concatenate([np.arange(len(held)), len(held) + group, full.col])
    entries = np.concatenate([share, fixed - 1.0, full.data])
    shape = (users + full.shape[0], len(held) + groups)
    mean = np.array([value[group == k].mean() for k in range(groups)])
    to = mean[group] / value
    to[fixed] = instance.limit[fixed] / total[fixed]
    right = np.concatenate([to - np.bincount(n[held], share, users), 1.0 - full.sum(axis=1)])
    step = least_norm(csc_array((entries, (down, across)), shape=shape), right)
    if step is None:
        return None
    moved = y.copy()
    moved[held] = np.maximum(y[held] * (1 + step[: len(held)]), 0.0)
    return moved
