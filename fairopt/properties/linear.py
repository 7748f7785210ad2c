"""Refusal of nonlinear demand: the properties compare demands per task."""

from __future__ import annotations

import functools
from collections.abc import Callable

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check

Property = Callable[[Allocation], Check]


def of_linear_demand(judge: Property) -> Property:
    """The property; it raises UsageError, naming itself, where demand is not linear."""

    @functools.wraps(judge)
    def judged(alloc: Allocation) -> Check:
        alloc.instance.only_linear(judge.__name__.replace("_", "-"))
        return judge(alloc)

    return judged
