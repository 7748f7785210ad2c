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
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import lower
from fairopt.instance import Instance
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

    Where scores differ by server tasks are not unique, and `solve` could find others.
    """
    score = criteria.score(instance, notion.criterion)
    low = lower(instance, score)
    if not np.allclose(low.score, score.max(axis=1)[low.owner], rtol=1e-12, atol=0.0):
        return None
    program, unit = LinearProgram(low), (instance.alone * score).sum(axis=1)
    frozen, level = np.zeros(len(unit), dtype=bool), np.zeros(len(unit))
    bought, x = [], np.zeros(low.columns)
    while not frozen.all():
        found = program.most(floor=level, slope=np.where(frozen, 0.0, instance.weight), unit=unit)
        if found is None:
            return None
        newly = ~frozen & (found.paid * unit > _PRICED * (found.paid * unit).max())
        if not newly.any():
            return None
        level[newly] = found.t * instance.weight[newly]
        frozen |= newly
        bought.append(low.named(found.price).capacity)
        x = found.x
    used = low.matrix @ x / low.rhs
    tasks = low.tasks(x / max(1.0, float(used.max())), len(unit))
    return Allocation(instance, notion, tasks, level_prices=np.array(bought), score=score)


SHORTER: dict[tuple[str, type[Any]], Callable[..., Allocation | None]] = {
    ("ps-dsf", SameAs): _over_time,
    ("max-min", Levels): _levels,
}
"""family and way of a notion -> its faster method"""
