"""Properties of one allocation, each a function (allocation) -> Check; PROPERTIES is the table.

They look at tasks and instance alone, whatever notion or scheduler made the allocation.

Properties of a notion are searched for a violation by solving again, each by a function
(instance, notion, trials, seed) -> Searched; NOTION_PROPERTIES names them. As they use `solve`,
they are imported only when asked for by name. All are defined in docs/maths/properties.md.

References
----------
bonald2015 : Bonald and Roberts, Multi-resource fairness: objectives, algorithms and performance,
    SIGMETRICS (2015).
khamse2016 : Khamse-Ashari et al., Per-Server Dominant-Share Fairness, arXiv 1611.00404 (2016).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.bottleneck import bottleneck_fair, single_resource_fair
from fairopt.properties.complaints import no_justified_complaints
from fairopt.properties.envy import envy_free
from fairopt.properties.pareto import pareto_optimal
from fairopt.properties.pool import pool_sharing_incentive, single_bottleneck_fair
from fairopt.properties.sharing import sharing_incentive

if TYPE_CHECKING:
    from fairopt.properties.lies import strategy_proof as strategy_proof
    from fairopt.properties.monotone import population_monotone as population_monotone
    from fairopt.properties.monotone import resource_monotone as resource_monotone
    from fairopt.properties.scaling import scale_invariant as scale_invariant
    from fairopt.properties.searching import Searched as Searched

PROPERTIES: dict[str, Callable[[Allocation], Check]] = {
    "sharing-incentive": sharing_incentive,
    "pool-sharing-incentive": pool_sharing_incentive,
    "envy-free": envy_free,
    "pareto-optimal": pareto_optimal,
    "bottleneck-fair": bottleneck_fair,
    "single-resource-fair": single_resource_fair,
    "single-bottleneck-fair": single_bottleneck_fair,
    "no-justified-complaints": no_justified_complaints,
}

NOTION_PROPERTIES = {
    "strategy-proof": "strategy_proof",
    "scale-invariant": "scale_invariant",
    "resource-monotone": "resource_monotone",
    "population-monotone": "population_monotone",
}
"""name -> the function here that searches for a violation"""

# name -> module below fairopt.properties
_LATE = {
    "strategy_proof": "lies",
    "scale_invariant": "scaling",
    "resource_monotone": "monotone",
    "population_monotone": "monotone",
    "Searched": "searching",
}


if not TYPE_CHECKING:  # a checker that sees this function takes every misspelt name for Any

    def __getattr__(name: str) -> object:
        if name in _LATE:
            return getattr(importlib.import_module(f"fairopt.properties.{_LATE[name]}"), name)
        raise AttributeError(f"module 'fairopt.properties' has no attribute {name!r}")


__all__ = [
    "NOTION_PROPERTIES",
    "PROPERTIES",
    "bottleneck_fair",
    "envy_free",
    "no_justified_complaints",
    "pareto_optimal",
    "pool_sharing_incentive",
    "sharing_incentive",
    "single_bottleneck_fair",
    "single_resource_fair",
]
