"""What a user or group may have, or is promised, over a period: a budget and a promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Slices = Sequence[str | int] | None
"""names or positions of slices, of which a period consists; None: all"""


@dataclass(frozen=True)
class Budget:
    """At most so much of a resource, times hours, over the slices of a period.

    Parameters
    ----------
    member : a user, or a group of the cluster.
    resource : that is counted. most : >= 0, unit of the resource times hours; inf is no bound.
    slices : of the period, names or positions; None: the whole horizon.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> days = fo.horizon(cluster, [[4, 4], [4, 4]], budgets=[fo.Budget("A", "r1", most=2)])
    >>> answer = fo.solve(days.instance, fo.ProportionalFair())
    >>> print(answer.totals.round(6))
    [2.       5.333333]
    """

    member: str
    resource: str
    most: float = math.inf
    slices: Slices = None


@dataclass(frozen=True)
class Promise:
    """At least so much of a resource, times hours, over the slices of a period, to a member who
    wants it; see `fairopt.Guarantee` for what that makes of a bundle of resources.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1], [1]], [[4]], users=["A", "B"], resources=["gpu"])
    >>> promise = fo.Promise("A", "gpu", least=6)
    >>> days = fo.horizon(cluster, [[4, 4], [4, 4]], budgets=[promise])
    >>> print(fo.solve(days.instance, fo.MaxMin("tasks")).totals.round(6))
    [6. 2.]
    """

    member: str
    resource: str
    least: float = 0.0
    slices: Slices = None


__all__ = ["Budget", "Promise", "Slices"]
