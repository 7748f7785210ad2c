"""Answers for the many small instances of a search, by faster methods than `solve`.

Every answer goes to the same judge, and an instance without a certified answer is solved again in
full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.errors import FairoptError
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, on_its_own
from fairopt.notions.notion import SameAs
from fairopt.notions.way import Levels

_PRICED = 1e-9
"""a multiplier above this freezes a user at the level"""


def quick(instance: Instance, notion: Notion) -> Allocation | None:
    """A certified answer, or None where there is no faster method or it was not certified."""
    answer: Allocation | None
    try:
        way = notion.way(instance)
        shorter = SHORTER.get((notion.family, type(way)))
        if shorter is None or on_its_own(notion):
            return None
        answer = shorter(instance, notion, way)
        if answer is None:
            return None
        certificate = certify(answer)
    except FairoptError:
        return None
    return answer.with_(certificate=certificate) if certificate.certified else None


def _over_time(instance: Instance, notion: Notion, way: SameAs) -> Allocation:
    """Time division by refilling server after server: with time as the one resource, Theorem 1 of
    khamse2016 is the same as its Theorem 2."""
    from fairopt.solving.engines.water import refill

    tasks, _ = refill.refill(
        way.instance, way.instance.part_of_row(), list(range(len(instance.servers)))
    )
    return Allocation(instance, notion, tasks)


def _levels(instance: Instance, notion: Notion, way: Levels) -> Allocation | None:
    """Lexicographic max-min, by one small linear program per level.

    Variables are the tasks of each pair, divided by those of the user alone there, and the level t.
    """
    from scipy.optimize import linprog

    score = criteria.score(instance, notion.criterion)
    n, i = instance.pairs
    if not np.allclose(score[n, i], score.max(axis=1)[n], rtol=1e-12, atol=0.0):
        return None  # tasks are not unique: this method could find others than `solve`
    users, servers, resources = instance.shape
    size = instance.alone[n, i]
    pairs = np.arange(len(n))
    use = np.zeros((servers * resources, len(n) + 1))
    part = instance.pair_part * size[:, None]
    for r in range(resources):
        use[i * resources + r, pairs] = part[:, r]
    share = np.zeros((users, len(n) + 1))
    share[n, pairs] = score[n, i] * size / instance.weight[n]
    scale = share.max()
    share /= scale
    limited = np.flatnonzero(np.isfinite(instance.limit))
    most = np.zeros((len(limited), len(n) + 1))
    for row, user in enumerate(limited):
        most[row, pairs[n == user]] = size[n == user] / instance.limit[user]
    frozen, level = np.zeros(users, dtype=bool), np.zeros(users)
    goal = np.zeros(len(n) + 1)
    goal[-1] = -1.0
    bought = []
    while not frozen.all():
        rows = -share.copy()
        rows[~frozen, -1] = 1.0
        found = linprog(
            goal,
            A_ub=np.vstack([use, most, rows]),
            b_ub=np.concatenate([np.ones(len(use) + len(most)), np.where(frozen, -level, 0.0)]),
            method="highs-ds",
        )
        if found.x is None:
            return None
        price = -np.asarray(found.ineqlin.marginals)
        newly = ~frozen & (price[len(use) + len(most) :] > _PRICED)
        if not newly.any():
            return None
        level[newly] = found.x[-1]
        frozen |= newly
        paid = np.maximum(price[: len(use)], 0.0).reshape(servers, resources)
        bought.append(paid / np.where(instance.pool > 0, instance.pool, 1.0))
    x: Floats = np.asarray(found.x)[:-1]
    x = np.maximum(x, 0.0) / max(1.0, float((np.vstack([use, most])[:, :-1] @ x).max()))
    tasks = np.zeros((users, servers))
    tasks[n, i] = x * size
    return Allocation(instance, notion, tasks, level_prices=np.array(bought), score=score)


SHORTER: dict[tuple[str, type[Any]], Callable[..., Allocation | None]] = {
    ("ps-dsf", SameAs): _over_time,
    ("max-min", Levels): _levels,
}
"""family and way of a notion -> its faster method"""
