"""Properties compare what tasks cost each user, and so take demand to be linear."""

from __future__ import annotations

import functools
from collections.abc import Callable

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check

Property = Callable[[Allocation], Check]


def of_linear_demand(judge: Property) -> Property:
    """The property, refused by name where demand is not linear (UsageError)."""

    @functools.wraps(judge)
    def judged(alloc: Allocation) -> Check:
        alloc.instance.only_linear(judge.__name__.replace("_", "-"))
        return judge(alloc)

    return judged
