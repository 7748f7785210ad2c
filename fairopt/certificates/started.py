"""Answers where users had something already, as answers of the instance before (`formulas`)."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.started import before, held


def whole(alloc: Allocation) -> Allocation:
    """The answer with all that was had beside it: to be judged, by prices that the judge finds.

    Its shares are start + share, and so is what is proved of each user to a millionth.
    """
    instance, score = before(alloc.instance, alloc.score)
    tasks = np.column_stack([alloc.tasks, held(alloc.instance, alloc.score)])
    return Allocation(instance, dict(alloc.notion), tasks, score=score)


__all__ = ["whole"]
