"""Tasks moved by the least part of themselves until full rows are kept but for rounding."""

from __future__ import annotations

import numpy as np
from scipy.sparse import diags_array

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats
from fairopt.solving.engines.quotas.least import least

FULL = 1e-8
"""part of a row that is left of a full one"""
INSIDE = 2.0**-51
"""part of what a row adds up by which it stays below full"""
TURNS = 3


def kept(x: Floats, low: Lowered) -> Floats:
    """The tasks (P,); those given where no small change keeps the rows, or beside lending, whose
    flows are not told."""
    rows = low.matrix.tocsr()
    if rows.shape[1] > len(x):
        return x
    size = np.maximum(abs(rows) @ np.abs(x) + np.abs(low.rhs), 1e-300)
    found = x
    for _ in range(TURNS):
        left = low.rhs - rows @ found
        full = np.flatnonzero(left <= FULL * low.unit)
        miss = (left[full] - INSIDE * size[full]) / size[full]
        scaled = diags_array(1.0 / size[full]) @ rows[full] @ diags_array(found)
        found = found * (1.0 + scaled.T @ least((scaled @ scaled.T).toarray(), miss))
    near = np.abs(found - x) <= FULL * np.abs(x)
    return np.asarray(found) if near.all() else x
