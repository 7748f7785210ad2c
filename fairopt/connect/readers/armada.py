"""Queues of Armada (`armadactl get queues`): a queue's weight is one over its priority factor.

Which pods are of which queue is said by their label `armada_queue_id`: plan them with
`--group-by label=armada_queue_id`. Limits of a queue are not modelled; its name is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fairopt.instance.reading import Faults, shown

API = "armadaproject.io/"
LIMITS = "limits of queues of Armada"
_LIMITS = ("resourceLimits", "resourceLimitsByPriorityClassName")


def queue(data: Mapping[str, Any], place: str, faults: Faults) -> tuple[str, float, bool]:
    """Name, weight, and whether it has limits, of an object of kind Queue.

    Source: Armada, `Queue` of pkg/api/submit.proto: a priority factor of 2 is half the share of 1.
    """
    name = data.get("name")
    if not isinstance(name, str) or not name:
        faults.add(f"{place}.name", shown(name), "the name of the queue")
        name = ""
    factor = data.get("priorityFactor", 1)
    number = float(factor) if isinstance(factor, int | float | Decimal) else math.nan
    if isinstance(factor, bool) or not 1 <= number < math.inf:
        faults.add(f"Queue {name}.priorityFactor", shown(factor), "a number >= 1")
        number = 1.0
    return name, 1.0 / number, any(data.get(key) for key in _LIMITS)
