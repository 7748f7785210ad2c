"""Demand that comes and goes: fairness judged by what users get over time.

    fo.dynamics.by_themselves(instance, 30, {"n4": (10, 20)})

Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairopt.dynamics.lying import Lie as Lie
    from fairopt.dynamics.lying import Others as Others
    from fairopt.dynamics.markov import ServiceRates as ServiceRates
    from fairopt.dynamics.markov import service_rates as service_rates
    from fairopt.dynamics.rates import class_rates as class_rates
    from fairopt.dynamics.servers import OverTime as OverTime
    from fairopt.dynamics.servers import by_themselves as by_themselves

# public name -> module below fairopt.dynamics that defines it
_PUBLIC = {
    "Lie": "lying",
    "Others": "lying",
    "OverTime": "servers",
    "ServiceRates": "markov",
    "by_themselves": "servers",
    "class_rates": "rates",
    "service_rates": "markov",
}

__all__ = sorted(_PUBLIC)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.dynamics.{_PUBLIC[name]}"), name)
        raise AttributeError(f"module 'fairopt.dynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
