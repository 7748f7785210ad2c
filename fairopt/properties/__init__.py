"""Properties of one allocation, each a function (allocation) -> Check; PROPERTIES is the table.

They look at tasks and instance alone, whatever notion or scheduler made the allocation.
"""

from __future__ import annotations

from collections.abc import Callable

from fairopt.allocation import Allocation
from fairopt.check import Check
from fairopt.properties.bottleneck import bottleneck_fair, single_resource_fair
from fairopt.properties.complaints import no_justified_complaints
from fairopt.properties.envy import envy_free
from fairopt.properties.pareto import pareto_optimal
from fairopt.properties.sharing import sharing_incentive

PROPERTIES: dict[str, Callable[[Allocation], Check]] = {
    "sharing-incentive": sharing_incentive,
    "envy-free": envy_free,
    "pareto-optimal": pareto_optimal,
    "bottleneck-fair": bottleneck_fair,
    "single-resource-fair": single_resource_fair,
    "no-justified-complaints": no_justified_complaints,
}

__all__ = [
    "PROPERTIES",
    "bottleneck_fair",
    "envy_free",
    "no_justified_complaints",
    "pareto_optimal",
    "sharing_incentive",
    "single_resource_fair",
]
