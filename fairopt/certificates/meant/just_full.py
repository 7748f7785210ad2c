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
from typing import Any, NamedTuple

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.meant.lots import Lot
from fairopt.certificates.meant.system import System
from fairopt.formulas.lowered import LIMIT, PLACE
from fairopt.instance import Bools, Floats, Ints

NEARLY_FULL = 1e-11
"""part of a row that is left of it at most where it is full but for rounding"""


class Takes(NamedTuple):
    """What a task of a column is worth, takes of each row, and whether the answer has any."""

    worth: float
    of: dict[int, float]
    held: bool


def by_rows(system: System, lots: Sequence[Lot], columns: Ints, amount: Floats) -> list[Lot] | None:
    """The lots with users who are stopped by the rows that leave them least; None where these are
    those that stop them already.

    Parameters
    ----------
    lots : in order. columns, amount : (C,) what the answer uses.
    """
    own = np.isin(system.low.kind, (LIMIT, PLACE))
    limits = [_own_rows(lot, own) for lot in lots]
    full = _full(system, columns, amount, own)
    if not full:
        return None
    found = dict(enumerate(lots))
    by_column = system.low.matrix.tocsc()
    alone = [int(lot.users[0]) if len(lot.users) == 1 else -1 for lot in lots]
    used = set(columns[amount > 0].tolist())
    takes = [_takes(system, by_column, n, used) if n >= 0 else [] for n in alone]
    last = _last(takes, [_reaches(system, lot, columns[amount > 0]) for lot in lots], full)
    wanted = sorted(set[int]().union(*last.values()))
    left = _left(system, columns, amount, limits, wanted) if wanted else {}
    changed = False
    for k, rows in sorted(last.items()):  # who is stopped first leaves more to others
        if k not in found:
            continue
        stops, least = _least(takes[k], {r: left[r] for r in rows})
        told = set(np.flatnonzero(found[k].price > 0).tolist())
        if (limits[k] and least >= 0) or set(stops) == told:
            continue
        for r in left:  # it takes so much less in every row
            left[r] -= least * Fraction(max(one.of.get(r, 0.0) for one in takes[k]))
        # who comes to its limit at that level, and runs nowhere else, is stopped there too
        mates = [j for j in found if j != k and limits[j] and _alike(found[j], found[k])]
        mates = [j for j in mates if all(set(one.of) & set(stops) for one in takes[j])]
        price = np.zeros(len(own))
        for j in (k, *mates):
            for one in takes[j]:
                r = next(r for r in stops if r in one.of)
                price[r] = max(price[r], one.worth / one.of[r])
        users = np.sort(np.concatenate([found[j].users for j in (k, *mates)]))
        found[k] = replace(found[k], users=users, price=price * system.row_unit)
        changed = True
        for j in mates:
            del found[j]
    return list(found.values()) if changed else None


def _takes(system: System, by_column: Any, n: int, used: set[int]) -> list[Takes]:
    """Of each column that a user may run in what its tasks take; used: columns in use."""
    low = system.low
    first, last = np.searchsorted(low.owner, [n, n + 1])
    found = list[Takes]()
    for c in range(int(first), int(last)):
        part = slice(by_column.indptr[c], by_column.indptr[c + 1])
        rows, entries = by_column.indices[part].tolist(), by_column.data[part].tolist()
        if not system.columns.shut[c]:
            each = {r: a for r, a in zip(rows, entries, strict=True) if a > 0}
            found.append(Takes(float(low.score[c]), each, c in used))
    return found


def _reaches(system: System, lot: Lot, held: Ints) -> set[int]:
    """The rows in which several users of a lot hold something; of one user alone see `Takes`."""
    if len(lot.users) == 1:
        return set()
    mine = held[held < system.tasks]
    mine = mine[np.isin(system.low.owner[mine], lot.users)]
    return set(np.unique(system.columns.matrix[:, mine].indices).tolist())


def _last(takes: list[list[Takes]], crowds: list[set[int]], full: set[int]) -> dict[int, set[int]]:
    """Of each lot of one user that rises last in full rows these rows; not of one that may run
    elsewhere, as what stops it there is told."""
    found, claimed = dict[int, set[int]](), set[int]()
    for k in reversed(range(len(takes))):
        mine = {r for one in takes[k] if one.held for r in one.of if r in full} - claimed
        if mine and all(mine & set(one.of) for one in takes[k]):
            found[k] = mine
            claimed |= mine
        claimed |= crowds[k]
    return found


def _least(takes: list[Takes], left: dict[int, Fraction]) -> tuple[list[int], Fraction]:
    """The rows that leave least in each column, and how many more tasks the least leaves."""
    rooms = [{r: left[r] / Fraction(a) for r, a in one.of.items() if r in left} for one in takes]
    rows = [min(room, key=lambda r: room[r]) for room in rooms]
    return rows, min(room[r] for room, r in zip(rooms, rows, strict=True))


def _alike(one: Lot, other: Lot) -> bool:
    """Whether two lots are of one round, or of one level."""
    level = one.level > 0 and one.level == other.level
    return one.rank == other.rank and (one.stage == other.stage or level)


def _own_rows(lot: Lot, own: Bools) -> list[int]:
    """The limits that alone stop the one user of a lot; none where others do."""
    rows = np.flatnonzero(lot.price > 0)
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


def _full(system: System, columns: Ints, amount: Floats, own: Bools) -> set[int]:
    """Rows that are full but for rounding, and to which nothing is lent."""
    low = system.low
    left = system.left(columns, digits.of(amount, 2))[0]
    near = (np.abs(left) <= NEARLY_FULL * system.size) & ~own & ~low.signed & (low.rhs > 0)
    near[low.matrix.tocsc()[:, system.tasks :].indices] = False  # what is lent there may be less
    return set(np.flatnonzero(near).tolist())


def _left(
    system: System,
    columns: Ints,
    amount: Floats,
    limits: list[list[int]],
    rows: Sequence[int],
) -> dict[int, Fraction]:
    """What is left of rows; below 0 if those at their limits ask for more."""
    low = system.low
    x = _at_limits(system, columns, amount, limits)
    by_row, found = low.matrix.tocsr(), dict[int, Fraction]()
    for k in rows:
        part = slice(by_row.indptr[k], by_row.indptr[k + 1])
        each = zip(by_row.indices[part].tolist(), by_row.data[part].tolist(), strict=True)
        used = sum([Fraction(a) * x[c] for c, a in each if c in x], Fraction(0))
        found[k] = Fraction(float(low.rhs[k])) - used
    return found


__all__ = ["by_rows"]
