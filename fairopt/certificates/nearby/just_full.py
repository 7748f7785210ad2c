"""Rows that users at their limits fill but for rounding: the last of them is stopped by the row.

Three tasks of 1 and one of .3 fill a server of 3.3, as one reads it. As floats .3 and 3.3 are other
numbers, and the limits ask for 2e-16 more than there is: at the optimum the last user to rise is
stopped by the server, just below its limit. Rounds that say otherwise mean no point at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.system import System
from fairopt.formulas.lowered import LIMIT, PLACE
from fairopt.instance import Bools, Floats, Ints

NEAR = 1e-11
"""part of a row that is left of it at most where it is full but for rounding"""


def by_rows(system: System, lots: Sequence[Lot], columns: Ints, amount: Floats) -> list[Lot] | None:
    """The lots with users who are stopped by rows where their limits ask for more than these allow;
    None where nobody is.

    Parameters
    ----------
    lots : in order. columns, amount : (C,) what the answer uses.
    """
    low, found = system.low, list(lots)
    own = np.isin(low.kind, (LIMIT, PLACE))
    place = {int(n): k for k, lot in enumerate(found) for n in lot.users}
    rows_of = {n: rows for n, k in place.items() if len(rows := _own_rows(found[k], own))}
    x = _at_limits(system, columns, amount, list(rows_of.values()))
    left = _left(system, columns, amount, x, own)
    changed = False
    while left and left[row := min(left, key=lambda k: left[k])] < 0:
        inside = {int(low.owner[c]) for c in x if x[c] and low.matrix[row, c] > 0}
        last = max(inside & set(rows_of), key=lambda n: place[n], default=-1)
        price = None if last < 0 else _of_rows(system, last, left)
        if price is None:  # rounds say nothing of who else is stopped there
            del left[row]
            continue
        del rows_of[last]
        k = place[last]
        found[k], changed = replace(found[k], price=digits.few(price * system.row_unit)), True
        for other in left:  # it takes less than its limit wherever it runs
            if price[other]:
                left[other] = max(left[other], Fraction(0))
    return found if changed else None


def _of_rows(system: System, n: int, left: dict[int, Fraction]) -> Floats | None:
    """(M,) prices of full rows, those of which least is left, at which no task of a user is worth
    more than it costs; None where it may run elsewhere."""
    low = system.low
    by_column, price = low.matrix.tocsc(), np.zeros(len(low.rhs))
    for c in np.flatnonzero((low.owner == n) & ~system.columns.shut).tolist():
        part = slice(by_column.indptr[c], by_column.indptr[c + 1])
        takes = dict(zip(by_column.indices[part].tolist(), by_column.data[part], strict=True))
        full = [k for k in takes if k in left and takes[k] > 0]
        if not full:
            return None
        k = min(full, key=lambda k: left[k])
        price[k] = max(price[k], low.score[c] / takes[k])
    return price


def _own_rows(lot: Lot, own: Bools) -> list[int]:
    """The limits that alone stop the one user of a lot; none where others do."""
    rows = np.flatnonzero(lot.price[0] > 0)
    return rows.tolist() if len(lot.users) == 1 and own[rows].all() else []


def _at_limits(
    system: System, columns: Ints, amount: Floats, limits: list[list[int]]
) -> dict[int, Fraction]:
    """The tasks of each column in use, of users at their limits exactly so many."""
    low, tasks = system.low, system.tasks
    at = columns[columns < tasks]
    unit = system.tasks_unit[low.owner[at]]
    x = {int(c): Fraction(float(v)) for c, v in zip(at, amount[: len(at)] * unit, strict=True)}
    by_row = low.matrix.tocsr()
    for rows in limits:
        for k in rows:
            part = slice(by_row.indptr[k], by_row.indptr[k + 1])
            each = [
                (int(c), Fraction(float(a)))
                for c, a in zip(by_row.indices[part], by_row.data[part], strict=True)
                if int(c) in x
            ]
            total = sum((a * x[c] for c, a in each), Fraction(0))
            for c, _ in each if total else ():
                x[c] *= Fraction(float(low.rhs[k])) / total
    return x


def _left(
    system: System, columns: Ints, amount: Floats, x: dict[int, Fraction], own: Bools
) -> dict[int, Fraction]:
    """Of rows that are full but for rounding what is left of them, as a part; below 0 if those at
    their limits ask for more."""
    low = system.low
    left = system.left(columns, digits.of(amount, 2))[0]
    near = (np.abs(left) <= NEAR * system.size) & ~own & ~low.signed & (low.rhs > 0)
    by_row, found = low.matrix.tocsr(), dict[int, Fraction]()
    for k in np.flatnonzero(near).tolist():
        part = slice(by_row.indptr[k], by_row.indptr[k + 1])
        if (by_row.indices[part] >= system.tasks).any():
            continue  # what is lent there may be less
        used = sum(
            (
                Fraction(float(a)) * x[int(c)]
                for c, a in zip(by_row.indices[part], by_row.data[part], strict=True)
                if int(c) in x
            ),
            Fraction(0),
        )
        found[k] = 1 - used / Fraction(float(low.rhs[k]))
    return found


__all__ = ["by_rows"]
