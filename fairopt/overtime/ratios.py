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
    plan : (T, N, I) tasks at once. answer : of the horizon, judged.
    """
    base = whole.base
    use = np.einsum("tni,nir->tir", plan, base.demand_by_server)
    over = float((use / np.where(base.pool > 0, base.pool, np.inf)).max(initial=0.0))
    return (None if over > 1 + OVER else whole.ratio(plan, answer)), over


__all__ = ["OVER", "ratio_of"]
