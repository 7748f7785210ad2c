"""Demand that comes and goes: fairness judged by what users get over time.

    fo.dynamics.by_themselves(instance, 30, {"n4": (10, 20)})

Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairopt.dynamics.curves import lying_curves as lying_curves
    from fairopt.dynamics.curves import service_curves as service_curves
    from fairopt.dynamics.lying import Lie as Lie
    from fairopt.dynamics.lying import Others as Others
    from fairopt.dynamics.markov import ServiceRates as ServiceRates
    from fairopt.dynamics.markov import service_rates as service_rates
    from fairopt.dynamics.online import Online as Online
    from fairopt.dynamics.online import simulate_online as simulate_online
    from fairopt.dynamics.packets import packet_rates as packet_rates
    from fairopt.dynamics.packets import simulate_packets as simulate_packets
    from fairopt.dynamics.prices import Priced as Priced
    from fairopt.dynamics.prices import by_prices as by_prices
    from fairopt.dynamics.rates import class_rates as class_rates
    from fairopt.dynamics.replications import Estimate as Estimate
    from fairopt.dynamics.runs import Row as Row
    from fairopt.dynamics.runs import Runs as Runs
    from fairopt.dynamics.servers import OverTime as OverTime
    from fairopt.dynamics.servers import by_themselves as by_themselves
    from fairopt.dynamics.tasks import simulate_tasks as simulate_tasks

# public name -> module below fairopt.dynamics that defines it
_PUBLIC = {
    "Estimate": "replications",
    "Online": "online",
    "Lie": "lying",
    "Others": "lying",
    "OverTime": "servers",
    "Priced": "prices",
    "Row": "runs",
    "Runs": "runs",
    "ServiceRates": "markov",
    "by_prices": "prices",
    "by_themselves": "servers",
    "class_rates": "rates",
    "packet_rates": "packets",
    "lying_curves": "curves",
    "service_curves": "curves",
    "service_rates": "markov",
    "simulate_online": "online",
    "simulate_packets": "packets",
    "simulate_tasks": "tasks",
}

__all__ = sorted(_PUBLIC)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.dynamics.{_PUBLIC[name]}"), name)
        raise AttributeError(f"module 'fairopt.dynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
