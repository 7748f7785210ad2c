"""Answers where users had something already (`Instance.start`): those of the instance before."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation, objective
from fairopt.formulas.started import before, held
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import quotas
from fairopt.solving.engines.answer import How


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of a notion of the families max-min or alpha-fair.

    Raises
    ------
    UsageError : of another notion, or with what a start is not known beside.
    """
    whole, scores = before(instance, score)
    found = quotas.answer(whole, notion, scores, how)
    size = instance.shape[1]
    tasks = _beside(found.tasks, scores, held(instance, score))
    prices: dict[str, Any] = {"prices": None if found.prices is None else found.prices[:size]}
    if found.limit_on_prices is not None and instance.limit_on is not None:
        prices["limit_on_prices"] = found.limit_on_prices[:, :size]
    mine = Allocation(
        instance,
        notion,
        tasks,
        limit_prices=found.limit_prices,
        score=score,
        steps=found.steps,
        **prices,
    )
    return mine.with_(**objective.worth(mine))


def _beside(tasks: Floats, score: Floats, had: Floats) -> Floats:
    """Tasks (N, I) where all that was had counts first, with the same shares.

    Where a user has room left on the server of what was had, its last tasks elsewhere could as well
    run there. They have to: its limit does not count what was had, and it could be above it.

    Parameters
    ----------
    tasks, score : (N, I + 1), the last column of what was had. had : (N,) in tasks.
    """
    ours, share = tasks[:, :-1], (tasks * score)[:, :-1].sum(axis=1)
    room = np.maximum(had - tasks[:, -1], 0.0) * score[:, -1]
    kept = np.divide(share - room, share, out=np.zeros_like(share), where=share > room)
    moved: Floats = ours * kept[:, None]
    return moved
