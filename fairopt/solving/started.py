"""Answers where users had something already (`Instance.start`): those of the instance before."""

from __future__ import annotations

from typing import Any

from fairopt.allocation import Allocation, objective
from fairopt.formulas.started import before
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
    prices: dict[str, Any] = {"prices": None if found.prices is None else found.prices[:size]}
    if found.limit_on_prices is not None and instance.limit_on is not None:
        prices["limit_on_prices"] = found.limit_on_prices[:, :size]
    mine = Allocation(
        instance,
        notion,
        found.tasks[:, :size],
        limit_prices=found.limit_prices,
        score=score,
        steps=found.steps,
        **prices,
    )
    return mine.with_(**objective.worth(mine))
