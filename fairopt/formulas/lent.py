"""What can be lent at most, as the rows of those who lend and borrow say as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats


def ends(matrix: Any, rhs: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(F,) the least and the most of each flow, of all that keeps the rows: its own bounds, or 0.

    Who has nothing, and is lent nothing from below, lends nothing. Who is the only one that could
    lend anything to such a one borrows nothing from it, as long as it borrows nothing itself. In a
    row that allows nothing, with tasks x >= 0, what goes out y and what comes in z,

        sum a x + y <= sum z, a >= 0:   y <= 0 if no z can be above 0,
                                        z_i >= 0 if no other z can be, and y cannot be below 0.

    Parameters
    ----------
    matrix, rhs : sparse (M, P + F), (M,) the rows. low, high : (F,) the flows' own bounds.
    """
    least, most, entries = low.copy(), high.copy(), matrix.tocoo()
    columns = matrix.shape[1] - len(low)
    task = entries.col < columns
    row, flow, value = entries.row[~task], entries.col[~task] - columns, entries.data[~task]
    out, rows = value > 0, len(rhs)
    poor = (rhs == 0) & (np.bincount(row[out], minlength=rows) <= 1)
    poor[entries.row[task & (entries.data < 0)]] = False
    up, down = (row[out], flow[out]), (row[~out], flow[~out])
    while True:
        lends = most[down[1]] > 0
        many = np.bincount(down[0], lends, rows)
        none = up[1][poor[up[0]] & (many[up[0]] == 0) & (most[up[1]] > 0)]
        borrows = np.bincount(up[0], least[up[1]] < 0, rows) > 0
        alone = poor & ~borrows
        nobody = down[1][alone[down[0]] & (many[down[0]] == lends) & (least[down[1]] < 0)]
        if not len(none) and not len(nobody):
            return least, most
        most[none] = 0.0
        least[nobody] = 0.0


__all__ = ["ends"]
