"""The last answer in the arrays of the changed instance: users, servers and resources by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats, Instance, Ints
from fairopt.solving.engines.point import AlphaQuestion

USED = 1e-9
"""part of a user's share from which a pair counts as used by the last answer"""
NEARLY_CHEAPEST = 1e-6
"""a newcomer begins on the servers whose price is within this part of its cheapest"""


@dataclass(frozen=True)
class Start:
    """Where the method begins.

    Parameters
    ----------
    share : (N, I) share of each user on each server, in natural units, 0 where not eligible.
    prices : (I, R) per unit of resource, as they were given but for a common factor.
    log_unit : log of what a price of 1 stands for in marginal values W s^-alpha, which themselves
        are no numbers where alpha is steep and shares are large or small.
    """

    share: Floats
    prices: Floats
    log_unit: float


def matched(
    question: AlphaQuestion, tasks: Floats, prices: Floats, before: Instance
) -> Start | None:
    """The start from tasks (N', I') and prices (I', R) on the instance before; None if useless.

    A server that came takes the middle prices of the others and a part of the tasks of everybody
    who may run there. Whoever came, or lost all it had, begins on its cheapest servers.
    """
    inst = question.instance
    old_users, new_users = _common(before.users, inst.users)
    old_servers, new_servers = _common(before.servers, inst.servers)
    if not (len(new_users) and len(new_servers)):
        return None
    column = np.array([before.resources.index(name) for name in inst.resources])
    held = np.maximum(tasks, 0.0)
    # who lost a server runs as much as before on those it has left
    had = np.zeros(len(inst.users))
    had[new_users] = held.sum(axis=1)[old_users]
    kept = _placed(held, old_users, new_users, len(inst.users))
    kept = _placed(kept.T, old_servers, new_servers, len(inst.servers)).T
    kept = np.ascontiguousarray(np.where(inst.eligible, kept, 0.0))
    left = kept.sum(axis=1)
    more = np.divide(had, left, out=np.ones_like(had), where=left > 0)
    share = kept * question.score * more[:, None]
    price = np.zeros(inst.pool.shape)
    price[new_servers] = np.maximum(prices[np.ix_(old_servers, column)], 0.0)
    came = np.setdiff1d(np.arange(len(inst.servers)), new_servers)
    price[came] = np.median(price[new_servers], axis=0)
    price[inst.pool <= 0] = 0.0
    return _scaled(question, filled(inst, question.score, share, came), price)


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[Ints, Ints]:
    """Positions, in the old and in the new, of the names that are in both."""
    if old == new:
        same = np.arange(len(new))
        return same, same
    at = {name: k for k, name in enumerate(old)}
    both = [(at[name], k) for k, name in enumerate(new) if name in at]
    pairs = np.array(both, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _placed(matrix: Floats, old: Ints, new: Ints, count: int) -> Floats:
    """Rows `old` of a matrix as rows `new` of one with `count` rows, the others 0."""
    same = np.arange(count)
    if len(matrix) == count and np.array_equal(old, same) and np.array_equal(new, same):
        return matrix
    found = np.zeros((count, matrix.shape[1]))
    found[new] = matrix[old]
    return found


def filled(inst: Instance, score: Floats, share: Floats, came: Ints) -> Floats:
    """The shares (N, I) with as much of everybody's moved to each server that came as an equal part
    of it would be on each server it may use, or less where that does not fit."""
    for server in came.tolist():
        total = share.sum(axis=1)
        part = np.where(inst.eligible[:, server], total / inst.eligible.sum(axis=1), 0.0)
        amount = np.divide(part, score[:, server], out=np.zeros_like(part), where=part > 0)
        demand = inst.demand if inst.demand.ndim == 2 else inst.demand[:, server]
        use = amount @ demand
        with np.errstate(divide="ignore", invalid="ignore"):
            over = float(np.nan_to_num(use / inst.pool[server], posinf=0.0).max(initial=0.0))
        part = part / max(over, 1.0)
        share *= np.divide(total - part, total, out=np.ones_like(total), where=total > 0)[:, None]
        share[:, server] += part
    return share


def _scaled(question: AlphaQuestion, share: Floats, price: Floats) -> Start | None:
    """What prices stand for, and whoever has nothing on its cheapest servers."""
    inst, alpha = question.instance, question.alpha
    if not (np.isfinite(price).all() and price.max() > 0):
        return None
    price = price / price.max()
    if inst.demand.ndim == 2:
        cost = inst.demand @ price.T
    else:
        cost = np.einsum("nir,ir->ni", inst.demand, price)
    cost = np.divide(cost, question.score, out=np.full(cost.shape, np.inf), where=inst.eligible)
    cheapest = cost.min(axis=1)
    total = share.sum(axis=1)
    known = (total > 0) & (cheapest > 0)
    if np.isfinite(inst.limit).any():
        known &= total < (1 - USED) * _most(question)
    if not known.any():
        return None
    log_unit = float(
        np.median(question.log_w[known] - alpha * np.log(total[known]) - np.log(cheapest[known]))
    )
    bare = np.flatnonzero(~(total > 0))
    if len(bare):
        floor = np.maximum(cheapest[bare], np.median(cheapest[known]) * USED)
        due = np.exp((question.log_w[bare] - log_unit - np.log(floor)) / alpha)
        due = np.minimum(due, _most(question)[bare])
        near = cost[bare] <= floor[:, None] * (1 + NEARLY_CHEAPEST)
        share[bare] = near * (due / near.sum(axis=1))[:, None]
    return Start(share, price, log_unit) if np.isfinite(share).all() else None


def _most(question: AlphaQuestion) -> Floats:
    """(N,) the share that each user's limit allows, where it has one score on all servers."""
    inst = question.instance
    most: Floats = np.where(inst.eligible, question.score, 0.0).max(axis=1) * inst.limit
    return most
