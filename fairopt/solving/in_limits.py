"""Answers of notions that know limits alone, where ceilings and rules are such in other words."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.limits import limited
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import answering
from fairopt.solving.engines.point import How
from fairopt.solving.engines.quotas import naming


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of the instance in limits alone, its prices those of the rows given.

    Raises
    ------
    UsageError : something that is no limit of a single user, named.
    """
    found = limited(instance, notion.name)
    plain = answering.reduced(found.instance, notion, score, how)
    prices: dict[str, Any] = {}
    if plain.prices is not None:
        limits = plain.limit_prices
        limits = np.zeros(len(instance.users)) if limits is None else limits
        prices = naming.priced(found.low, found.of_limits(plain.prices, limits))
    return Allocation(
        instance,
        notion,
        plain.tasks,
        level_prices=plain.level_prices,
        score=score,
        steps=plain.steps,
        objective=plain.objective,
        equivalent=plain.equivalent,
        **prices,
    )
