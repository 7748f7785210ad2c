"""Quotas and modes as given to an instance, and as it keeps them: checked, and in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.quotas.faults import quota_faults
from fairopt.instance.quotas.order import ordered
from fairopt.instance.quotas.records import Mode, Quotas
from fairopt.instance.quotas.table import Table
from fairopt.instance.quotas.ways import mode_faults, resolved, spare_faults

Kept = tuple[Quotas | None, Table[str, tuple[Mode, ...]] | None]


def kept(
    quotas: Any,
    modes: Any,
    names: Mapping[str, Sequence[str]],
    demand: NDArray[np.float64],
    weight: NDArray[np.float64],
    faults: list[Fault],
) -> Kept:
    """Quotas and modes in the order of the names; None where there are none, or one is at fault.

    Parameters
    ----------
    names : users, servers and resources. demand : (N, R) or (N, I, R). weight : (N,).
    faults : those found are added.
    """
    promised = ways = None
    if isinstance(quotas, Quotas):
        wrong = list(quota_faults(quotas, names, weight))
        faults.extend(wrong)
        promised = None if wrong else ordered(quotas, names["users"], names["resources"])
    elif quotas is not None:
        faults.append(Fault("quotas", f"a {type(quotas).__name__}", "fo.Quotas"))
    if isinstance(modes, Mapping):
        wrong = mode_faults(modes, names, demand)
        if not wrong:
            ways = resolved(modes, names["users"], names["resources"])
            wrong = spare_faults(ways or {}, names["users"], demand)
        faults.extend(wrong)
        ways = None if wrong else ways
    elif modes is not None:
        faults.append(Fault("modes", f"a {type(modes).__name__}", "a dict of lists by user"))
    return promised, ways


__all__ = ["kept"]
