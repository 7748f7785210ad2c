"""What can be lent at most, as the rows of those who lend and borrow say as well; who gets none."""

from __future__ import annotations

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Ints


def ends(low: Lowered) -> tuple[Floats, Floats]:
    """(F,) the least and the most of each flow, of all that keeps the rows: its own bounds, or 0.

    Who has nothing, and is lent nothing from below, lends nothing. Who is the only one that could
    lend anything to such a one borrows nothing from it, as long as it borrows nothing itself. In a
    row that allows nothing, with tasks x >= 0, what goes out y and what comes in z,

        sum a x + y <= sum z, a >= 0:   y <= 0 if no z can be above 0,
                                        z_i >= 0 if no other z can be, and y cannot be below 0.
    """
    least, most = low.low.copy(), low.high.copy()
    entries = low.matrix.tocoo()
    task = entries.col < low.columns
    row, flow, value = entries.row[~task], entries.col[~task] - low.columns, entries.data[~task]
    out, rows = value > 0, len(low.rhs)
    poor = (low.rhs == 0) & (np.bincount(row[out], minlength=rows) <= 1)
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


def shutting(low: Lowered) -> Ints:
    """(P,) a rule that keeps a column at 0: it allows nothing, nothing can flow to it, and no task
    counts against others there; -1 where there is none."""
    least, most = ends(low)
    entries = low.matrix.tocoo()
    task = entries.col < low.columns
    row, flow, value = entries.row[~task], entries.col[~task] - low.columns, entries.data[~task]
    brings = np.where(value > 0, least[flow] < 0, most[flow] > 0)
    shut = (low.rhs <= 0) & ~low.signed
    shut[row[brings]] = False
    on = np.flatnonzero(task & (entries.data > 0) & shut[entries.row])
    found = np.full(low.columns, -1)
    found[entries.col[on]] = entries.row[on]
    return found


def empty(low: Lowered) -> Bools:
    """(P,) columns that a rule keeps at 0."""
    return np.asarray(shutting(low) >= 0)


__all__ = ["empty", "ends", "shutting"]
