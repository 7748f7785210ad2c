"""How much of hindsight a plan reaches, if it keeps to what there is."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Floats
from fairopt.overtime.horizon import Horizon

OVER = 1e-6
"""part by which a plan may use more than there is"""


def ratio_of(whole: Horizon, plan: Floats, answer: Allocation) -> tuple[float | None, float]:
    """The ratio (see `Horizon.ratio`), None of a plan that uses too much; and the largest use of
    what there is.

    Parameters
    ----------
    plan : (T, K, I) tasks at once of each way of `whole.base.ways`; where one may not run they
        count as use, and for nothing. answer : of the horizon, judged.
    """
    base, ways = whole.base, whole.base.ways
    use = ways.used(plan)
    over = float((use / np.where(base.pool > 0, base.pool, np.inf)).max(initial=0.0))
    if over > 1 + OVER:
        return None, over
    return whole.ratio(np.where(ways.eligible, plan, 0.0), answer), over


__all__ = ["OVER", "ratio_of"]
