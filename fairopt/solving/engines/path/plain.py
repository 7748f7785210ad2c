"""Alpha-fairness without rules on the path: the question of one connected part, and its point."""

from __future__ import annotations

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import lower
from fairopt.solving.engines.path.solve import solve
from fairopt.solving.engines.point import Point, Question
from fairopt.solving.engines.units import expected

FAR = 1e-2
"""error of the path's own beyond which its end is no answer"""


def follow(question: Question) -> Point | None:
    """The end of the path, or None where it did not come close."""
    instance, alpha = question.instance, question.alpha
    low = lower(instance, question.score)
    users = len(question.log_w)
    unit = expected(low, question.log_w, alpha)
    try:
        found = solve(low, question.log_w, alpha, np.zeros(users), False, unit)
    except SolverFailure:
        return None
    if not found.left < FAR:
        return None
    price = low.named(found.price)
    limits = price.limits * np.where(np.isfinite(instance.limit), instance.limit, 0.0)
    return Point(found.x, price.capacity * instance.pool, limits)


__all__ = ["follow"]
