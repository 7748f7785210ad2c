r"""The conditions of optimality of an answer, number by number, for a reader to check by eye.

Read from the tasks and prices that an answer holds; nothing is solved. Each family of notions has
its tables:

====================  ==============================================================================
alpha-fair, tradeoff  marginal value, cost and reduced cost of every pair, and every row; of
                      alpha-fairness beside ceilings, guarantees, own rules and modes as well
max-min               the same for each level, with the multiplier of each user's level
equal-m, sum-m        the same for (9) and (10) of kesidis2016
ps-dsf, tdm           the same with the price of time (khamse2016 Theorem 2)
ps-dsf, rdm           virtual dominant shares and bottlenecks (khamse2016 (8), Theorem 1)
per-server-drf, bmf   shares and bottlenecks
====================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import in_limits
from fairopt.errors import MissingExtra, UsageError
from fairopt.formulas.limits import in_limits_alone
from fairopt.instance import Floats
from fairopt.kkt import bottlenecks, levels, pools, ruled, smooth, time
from fairopt.kkt.table import ConditionsTable

if TYPE_CHECKING:
    from pandas import DataFrame


def _ps_dsf(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    timed = alloc.kind["parameters"].get("division", "rdm") == "tdm"
    return time.tables(alloc) if timed else bottlenecks.tables(alloc)


_FAMILIES: dict[str, Callable[[Allocation], tuple[ConditionsTable, ...]]] = {
    "alpha-fair": smooth.tables,
    "tradeoff": smooth.tables,
    "max-min": levels.tables,
    "equal-m": pools.tables,
    "sum-m": pools.tables,
    "per-server-drf": bottlenecks.tables,
    "bmf": bottlenecks.tables,
    "ps-dsf": _ps_dsf,
}


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """The tables of an answer: one, or one for each level of a max-min answer.

    Raises
    ------
    UsageError : the answer has no prices where its notion needs them; quotas, modes or demand that
        is not linear; a notion whose conditions are not known.
    """
    inst, family = alloc.instance, alloc.kind["name"]
    if not inst.linear:
        raise UsageError("kkt: found demand that is not linear; wanted tasks that cost alike")
    if family == "alpha-fair" and not (inst.plain or in_limits_alone(inst)):
        return ruled.tables(alloc)
    alloc = in_limits(alloc, "kkt")
    if family not in _FAMILIES:
        known = ", ".join(_FAMILIES)
        raise UsageError(f"kkt: found an answer of {alloc.notion['name']}; wanted one of {known}")
    return _FAMILIES[family](alloc)


def duals(alloc: Allocation) -> Floats | None:
    """The multipliers: what one more unit of each resource adds to the objective as it is stated.

    Returns
    -------
    (I, R), or (levels, I, R) of a max-min answer, each level's as what t of that level gains; None
    for notions whose conditions are no multipliers of resources (PS-DSF, DRF by server, BMF).
    """
    found = [table.duals for table in tables(alloc)]
    if any(each is None for each in found):
        return None
    if alloc.kind["name"] == "max-min":
        return np.array(found)
    return found[0]


def frame(alloc: Allocation, what: str = "pairs") -> DataFrame:
    """The table of pairs or rows; see `Allocation.kkt`."""
    if what not in ("pairs", "rows"):
        raise UsageError(f"kkt: found {what!r}; wanted pairs or rows")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("kkt needs pandas: pip install 'fairopt[frame]'") from error
    found = tables(alloc)
    index = ["user", "server"] if what == "pairs" else ["server", "resource"]
    frames = [pd.DataFrame(dict(getattr(table, what))).set_index(index) for table in found]
    if alloc.kind["name"] != "max-min":
        return frames[0]
    return pd.concat(frames, keys=range(1, len(frames) + 1), names=["level"])


__all__ = ["ConditionsTable", "duals", "frame", "tables"]
