"""Refusal of nonlinear demand, quotas and modes: the properties compare demands per task."""

from __future__ import annotations

import functools
from collections.abc import Callable

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check

Property = Callable[[Allocation], Check]


def of_linear_demand(judge: Property) -> Property:
    """The property; it raises UsageError where demand is not linear, or where there are quotas."""

    @functools.wraps(judge)
    def judged(alloc: Allocation) -> Check:
        name = judge.__name__.replace("_", "-")
        alloc.instance.only_linear(name)
        alloc.instance.only_plain(name)
        return judge(alloc)

    return judged
