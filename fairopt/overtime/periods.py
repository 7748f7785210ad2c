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
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> budget = fo.Budget("A", "cpu", most=24)
    >>> day = fo.horizon(pool, {"A": [9, 9], "B": [9, 9]}, hours=12, budgets=[budget])
    >>> answer = fo.solve(day.instance, fo.ProportionalFair())
    >>> float(round(answer.totals[0], 6))  # hours of tasks, each of one cpu
    24.0
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
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> promise = fo.Promise("B", "cpu", least=144)
    >>> day = fo.horizon(pool, {"A": [9, 9], "B": [9, 9]}, hours=12, budgets=[promise])
    >>> answer = fo.solve(day.instance, fo.ProportionalFair())
    >>> float(round(answer.totals[1], 6))  # hours of tasks, each of three cpu
    48.0
    """

    member: str
    resource: str
    least: float = 0.0
    slices: Slices = None


__all__ = ["Budget", "Promise", "Slices"]
