"""Refusal of nonlinear demand, quotas and modes: the properties compare demands per task."""

from __future__ import annotations

import functools
from collections.abc import Callable

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check

Property = Callable[[Allocation], Check]
GROUPS = ("envy-free", "sharing-incentive")
"""properties that say what they mean where there are groups and quotas"""


def of_linear_demand(judge: Property) -> Property:
    """The property; it raises UsageError where demand is not linear, or there are quotas, modes."""

    @functools.wraps(judge)
    def judged(alloc: Allocation) -> Check:
        name = judge.__name__.replace("_", "-")
        alloc.instance.only_linear(name)
        alloc.instance.only_plain(name, modes=name in GROUPS)
        alloc.instance.no_limit_on(name)
        return judge(alloc)

    return judged
