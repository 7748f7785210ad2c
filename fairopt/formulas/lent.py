"""What can be lent at most, as the rows of those who lend and borrow say as well; who gets none."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats, Ints


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
    least, most = low.copy(), high.copy()
    entries, task, (row, flow, value) = _parts(matrix, len(low))
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


def shutting(matrix: Any, rhs: Floats, low: Floats, high: Floats) -> Ints:
    """(P,) a row that keeps a column of tasks at 0, -1 where there is none: it allows nothing,
    nothing can flow to it, and no task counts against others there. Parameters as of `ends`."""
    entries, task, (row, flow, value) = _parts(matrix, len(low))
    shut = rhs <= 0
    shut[row[np.where(value > 0, low[flow] < 0, high[flow] > 0)]] = False
    shut[entries.row[task & (entries.data < 0)]] = False
    on = np.flatnonzero(task & (entries.data > 0) & shut[entries.row])
    found = np.full(matrix.shape[1] - len(low), -1)
    found[entries.col[on]] = entries.row[on]
    return found


def _parts(matrix: Any, flows: int) -> tuple[Any, Any, tuple[Ints, Ints, Floats]]:
    """All entries, which are of tasks, and row, flow and value of those of the last columns."""
    entries, columns = matrix.tocoo(), matrix.shape[1] - flows
    task = entries.col < columns
    return (
        entries,
        task,
        (entries.row[~task], entries.col[~task] - columns, entries.data[~task]),
    )


__all__ = ["ends", "shutting"]
