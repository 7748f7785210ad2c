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
    """

    member: str
    resource: str
    most: float = math.inf
    slices: Slices = None


@dataclass(frozen=True)
class Promise:
    """At least so much of a resource, times hours, over the slices of a period, to a member who
    wants it; see `fairopt.Guarantee` for what that makes of a bundle of resources."""

    member: str
    resource: str
    least: float = 0.0
    slices: Slices = None


__all__ = ["Budget", "Promise", "Slices"]
