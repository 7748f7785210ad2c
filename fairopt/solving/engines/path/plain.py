"""Alpha-fairness without rules on the path: the question of one connected part, and its point."""

from __future__ import annotations

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.blocked import task_cost
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats
from fairopt.solving.engines.path.solve import solve
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.units import expected

FAR = 1e-2
"""error of the path's own beyond which its end is no answer"""
NOTHING, ROUNDING = 30.0, 1e-12
"""log of others' money above a user's from which that is less than their rounding; what others may
lose of their shares then"""


def follow(question: AlphaQuestion) -> Point | None:
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
    return Point.paid(question.instance, found.x, low.named(found.price))


def least_last(question: AlphaQuestion, share: Floats, p: Floats, mu: Floats) -> Point | None:
    """The users of next to no money once more, all others held at their shares; None where nobody
    has so little, or it did not come close. Beside others' money theirs is less than rounding, so
    that where others are placed, which may be open, is decided as if they were not there.

    Parameters
    ----------
    share : (N,). p, mu : (I, R), (N,) prices, right but for the users of next to no money.
    """
    instance, alpha = question.instance, question.alpha
    log_value = question.log_w - question.log_w.max() - alpha * np.log(share)
    log_money = log_value + np.log(share)
    held = log_money > log_money.max() - NOTHING
    if held.all():
        return None
    p = np.where(p > p.max() * np.exp(-NOTHING), p, 0.0)
    mu = np.where(held, mu, 0.0)
    low = lower(instance, question.score)
    unit = expected(low, question.log_w, alpha)
    floor = np.where(held, share * (1 - ROUNDING), 0.0)
    try:
        found = solve(low, question.log_w, alpha, floor, False, unit, ~held)
    except SolverFailure:
        return None
    if not found.left < FAR:
        return None
    last = Point.paid(question.instance, found.x, low.named(found.price))
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = task_cost(instance, p, slice(None), mu) / question.score
    first = int(log_money.argmax())
    cheapest = float(np.where(instance.eligible, cost, np.inf)[first].min())
    if not cheapest > 0:
        return None
    scale = np.exp(log_value[first]) / cheapest
    limit = np.where(np.isfinite(instance.limit), instance.limit, 0.0)
    rows = np.where(p > 0, scale * p * instance.pool, last.rows)
    return Point(last.x, rows, np.where(held, scale * mu * limit, last.limits))


__all__ = ["follow", "least_last"]
