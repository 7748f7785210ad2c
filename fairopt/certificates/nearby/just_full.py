"""Rows that users at their limits fill but for rounding: who rises last is stopped by one of them.

Three tasks of 1 and one of .3 fill a server of 3.3, as one reads it. As floats .3 and 3.3 are other
numbers, and the limits ask for 2e-16 more than there is: at the optimum the last user to rise is
stopped by the server, just below its limit. Rounds that say otherwise mean no point at all. Where
several rows are full, which of them leaves least is worked out in fractions.
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
    """The lots with users who are stopped by the rows that leave them least; None where these are
    those that stop them already.

    Parameters
    ----------
    lots : in order. columns, amount : (C,) what the answer uses.
    """
    low, found = system.low, dict(enumerate(lots))
    own = np.isin(low.kind, (LIMIT, PLACE))
    limits = {k: _own_rows(lot, own) for k, lot in found.items()}
    x = _at_limits(system, columns, amount, [rows for rows in limits.values() if rows])
    left = _left(system, columns, amount, x, own)
    claimed, changed = set[int](), False
    # who rises last has what all others leave
    for k in sorted(found, key=lambda k: -k):
        if k not in found or len(found[k].users) > 1:
            continue
        n = int(found[k].users[0])
        held = [c for c in x if low.owner[c] == n and x[c]]
        mine = {r for r in left if any(low.matrix[r, c] > 0 for c in held)} - claimed
        stops = _stops(system, n, left) if mine else None
        if stops is None:  # it may run elsewhere, and what stops it there is told
            continue
        claimed |= mine
        price, least = stops
        rows = set(np.flatnonzero(price).tolist())
        if limits[k] and least >= 0 or rows == set(np.flatnonzero(found[k].price[0] > 0).tolist()):
            continue
        for r in mine:  # it takes so much less in every row
            takes = max(Fraction(float(low.matrix[r, c])) for c in held)
            left[r] -= takes * least
        mates = [j for j in found if limits[j] and _alike(found[j], found[k]) and j != k]
        mates = [j for j in mates if _stopped_by(system, int(found[j].users[0]), left, rows)]
        users = np.sort(np.concatenate([found[j].users for j in (k, *mates)]))
        found[k] = replace(found[k], users=users, price=digits.few(price * system.row_unit))
        changed = True
        for j in mates:
            del found[j]
    return list(found.values()) if changed else None


def _alike(one: Lot, other: Lot) -> bool:
    """Whether two lots are of one round, or of one level."""
    level = one.level[0] > 0 and np.array_equal(one.level, other.level)
    return one.rank == other.rank and (one.stage == other.stage or bool(level))


def _stopped_by(system: System, n: int, left: dict[int, Fraction], rows: set[int]) -> bool:
    """Whether a user runs nowhere but in these rows."""
    stops = _stops(system, n, {r: left[r] for r in rows})
    return stops is not None


def _stops(system: System, n: int, left: dict[int, Fraction]) -> tuple[Floats, Fraction] | None:
    """(M,) prices of those full rows that leave a user least, at which no task of it is worth more
    than it costs, and how many more tasks the least of them leaves; None where it may run where no
    row is full."""
    low = system.low
    by_column, price, least = low.matrix.tocsc(), np.zeros(len(low.rhs)), list[Fraction]()
    for c in np.flatnonzero((low.owner == n) & ~system.columns.shut).tolist():
        part = slice(by_column.indptr[c], by_column.indptr[c + 1])
        takes = dict(zip(by_column.indices[part].tolist(), by_column.data[part], strict=True))
        room = {k: left[k] / Fraction(float(a)) for k, a in takes.items() if k in left and a > 0}
        if not room:
            return None
        k = min(room, key=lambda k: room[k])
        price[k] = max(price[k], low.score[c] / takes[k])
        least.append(room[k])
    return (price, min(least)) if least else None


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
    """What is left of rows that are full but for rounding; below 0 if those at their limits ask for
    more."""
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
        found[k] = Fraction(float(low.rhs[k])) - used
    return found


__all__ = ["by_rows"]
