"""Users whom the same prices prove to be stopped, and which of these prices and columns count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates.meant.system import System
from fairopt.instance import Bools, Floats, Ints

TRIFLE = 1e-13
"""of all money, a price of less is left out"""
NOBODY = 1e-9
"""a user's cheapest price below this part of its dearest counts as none"""
MOVED = 1e-3
"""part of a share that may be left out where it is too dear"""


@dataclass(frozen=True)
class Lot:
    """Users whom the same prices prove to be stopped.

    Parameters
    ----------
    users : (U,). rank : its priority class. stage : its round. price : (M,) of rows.
    level : what each user's weight is multiplied by; 0 where it is not told.
    """

    users: Ints
    rank: int
    stage: int
    price: Floats
    level: float = 0.0


def valued(system: System, price: Floats, used: Bools) -> Floats:
    """(N,) of each user the price of a unit of share where it runs, 0 where it is free.

    Parameters
    ----------
    price : (M,). used : (P,) columns in use.
    """
    columns = system.columns
    dear, cost = columns.dear(price)
    # whoever has a column that costs nothing pays nothing
    pays = np.bincount(columns.of_column[dear], minlength=len(columns.many)) == columns.many
    some = pays[columns.of_column[dear]]
    dear, cost = dear[some], cost[some]
    owner, unit = columns.of_column[dear], cost / columns.score[dear]
    cheapest, dearest = np.where(pays, np.inf, 0.0), np.zeros(len(pays))
    np.minimum.at(cheapest, owner, unit)
    gross = system.gross_of(dear, price, cost) / columns.score[dear]
    np.maximum.at(dearest, owner, np.where(columns.shut[dear], 0.0, gross))
    value = np.where(cheapest > NOBODY * dearest, cheapest, 0.0)
    at = np.flatnonzero(used[dear] & (value > 0)[owner])
    order = at[np.argsort(unit[at], kind="stable")[::-1]]
    value[owner[order]] = unit[order]
    return np.asarray(value)


def cleared(
    system: System, lots: Sequence[Lot], stage: Ints, columns: Ints, amount: Floats
) -> tuple[list[Lot] | None, Bools]:
    """The lots without prices that say nothing, and the columns that are as cheap as any."""
    of, tasks = system.columns, system.tasks
    task = columns < tasks
    at, x = columns[task], amount[task]
    n, worth = of.owner(at), of.worth(at)
    share = np.bincount(n, worth * x, len(stage))
    part = worth * x / share[n]
    row, each, entry = of.entries(columns)
    unit = system.size
    left = system.rhs - np.bincount(row, entry * amount[each], len(system.rhs))
    left = np.abs(left) / unit
    lent = np.bincount(row[~task[each]], minlength=len(left)) > 0
    stays, found = np.ones(len(at), dtype=bool), list[Lot]()
    # entries row by row: most lots have few rows with a price
    order = np.argsort(row, kind="stable")
    begin = np.searchsorted(row[order], np.arange(len(left) + 1))
    place, none = np.full(tasks, -1), np.zeros(tasks, dtype=bool)
    place[at] = np.arange(len(at))
    for lot in lots:
        price = lot.price
        money = price * unit
        total = float(money.sum())
        if not (np.isfinite(price).all() and total > 0):
            return None, stays
        on = np.flatnonzero(price)
        dear = np.concatenate([order[:0], *(order[begin[r] : begin[r + 1]] for r in on.tolist())])
        pays = np.abs(entry[dear] * price[row[dear]])
        spent = np.bincount(each[dear], pays, len(columns))
        mine = task[each[dear]]
        takes = np.zeros(len(price))
        np.maximum.at(
            takes, row[dear[mine]], pays[mine] / np.maximum(spent[each[dear[mine]]], 1e-300)
        )
        takes = np.where(lent, np.maximum(takes, money / total), takes)
        price = np.where((takes > left) & (money > TRIFLE * total), price, 0.0)
        scale = float((price * unit).max(initial=0.0))
        if not scale > 0:
            return None, stays
        price = price / np.ldexp(1.0, int(np.frexp(scale)[1]))
        value = valued(system, price, none)
        near, cost = of.dear(price)  # what costs nothing is no dearer than anything
        held = place[near] >= 0
        near, cost = near[held], cost[held]
        mine = place[near]
        gross = system.gross_of(near, price, cost)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(gross > 0, (cost - value[n[mine]] * worth[mine]) / gross, 0.0)
        stays[mine] &= ~((over > 1e-9) & (over >= part[mine] * 1e-3)) | (over < 1e-12)
        found.append(replace(lot, price=price))
    gone = np.bincount(n[~stays], part[~stays], len(stage))
    keep = np.ones(len(columns), dtype=bool)
    keep[task] = stays
    return (found if not (gone > MOVED).any() else None), keep


def inside(system: System, columns: Ints, amount: Floats) -> Bools:
    """(C,) tasks, and flows that are not at one of their bounds."""
    flow = columns >= system.tasks
    low, high = system.bounds
    found, y = np.ones(len(columns), dtype=bool), amount[flow]
    room = np.minimum(y - low, high - y)
    found[flow] = room > 1e-11 * np.maximum(np.abs(y), 1e-3)
    return found


def at_bounds(system: System, columns: Ints, amount: Floats) -> Floats:
    """(C,) the amounts, flows that are at one of their bounds but for rounding just there."""
    flow = columns >= system.tasks
    low, high = system.bounds
    y = amount[flow]
    found = amount.copy()
    ends = np.where(np.abs(y - low) <= np.abs(high - y), low, high)
    found[flow] = np.where(inside(system, columns, amount)[flow], y, ends)
    return found


__all__ = ["Lot", "at_bounds", "cleared", "inside", "valued"]
