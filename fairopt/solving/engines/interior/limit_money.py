"""Prices of limits that are far above all other prices, brought into the floating-point range.

At alpha = 100 a user held by its limit to a share of 1e-6 would pay 1e600 times what a user of
share 1 pays. The judge needs the right ratios among the dearest limits, and among the prices of
resources; the ratio between the two groups does not matter beyond a hundred decades.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats

CUT = 600.0
"""log of the money of a limit, above that of the dearest row, at which engines cut it"""
FURTHEST = 600.0
"""log of the money of a limit, above that of all rows together, at most in an answer"""
TOGETHER = 92.0
"""limits within this of the dearest, in logarithms, keep their true ratio"""


def cut(log_money: Floats, log_rows: float) -> Floats:
    """Money of limits from its logarithm: none further above that of all rows than CUT."""
    found: Floats = np.exp(np.minimum(log_money, log_rows + CUT))
    return found


def in_range(log_money: Floats, log_rows: float) -> Floats:
    """(N,) the logarithms moved so that the dearest is FURTHEST above the rows, none upwards."""
    high, top = log_rows + FURTHEST, float(log_money.max())
    if top <= high:
        return log_money
    near = log_money > top - TOGETHER
    return np.where(near, log_money - top + high, np.minimum(log_money, high - TOGETHER))
