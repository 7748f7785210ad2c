"""Questions with answers known by hand, and the judge of a point."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import certify
from fairopt.solving.engines.point import AlphaQuestion, Point


def question(inst: fo.Instance, alpha: float, inside: bool = False) -> AlphaQuestion:
    return AlphaQuestion.of(inst, criteria.score(inst, "tasks"), alpha, inside)


def judged(asked: AlphaQuestion, point: Point, inside: bool = False) -> Certificate:
    """The certificate of a point as it stands."""
    p, mu = point.prices(asked.instance)
    notion = fo.AlphaFair(asked.alpha, weight_inside=inside)
    return certify(Allocation(asked.instance, notion, point.tasks(asked.instance), p, mu))


ONE_RESOURCE = fo.Instance([[1.0], [2.0]], [[12.0]], weight=[1.0, 2.0])
"""W s^-alpha = p d: at alpha = 1 money 1 and 2 of 3, so 4 and 4 tasks"""
TWO_SERVERS = fo.Instance(
    [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0]],
    [[9.0, 18.0], [4.0, 2.0]],
    placement=[[1, 0], [1, 1], [0, 1]],
    weight=[1.0, 2.0, 1e-3],
    limit=[np.inf, np.inf, 0.25],
)
