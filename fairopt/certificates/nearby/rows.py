"""Prices of a round with twice a float's digits: all that a user runs costs its share alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.nearby.least import Least
from fairopt.certificates.nearby.system import System
from fairopt.instance import Bools, Floats, Ints

STEPS = 12
"""most corrections of prices"""
ENOUGH = 1e-30
"""part of what a task costs that is known well enough"""
TRIFLE = 1e-13
"""of all money, a price of less is left out"""
TIED, AGREE = 1e-11, 1e-24
"""part by which a column out of use may be dearer and is as cheap all the same; by which they may
differ then at prices of more digits"""
EVEN = 1e-9
"""part by which prices may differ that are the same but for rounding"""
NOBODY = 1e-9
"""a user's cheapest price below this part of its dearest counts as none"""


@dataclass(frozen=True)
class Lot:
    """Users whom the same prices prove to be stopped.

    Parameters
    ----------
    users : (U,). rank : its priority class. stage : its round. price : (2, M) of rows.
    value : (2, N) of a unit of share, 0 where a column costs nothing.
    level : (2,) what each user's weight is multiplied by.
    beside : (2, M) prices of rows that no user of the lot pays where it runs.
    part : (2,) of the jump in which it is stopped, if targets jump there; the level is that of the
        jump then. jumped : whether its level comes after a jump there.
    settled : (N,) whose due by then is what it is in the end; None without groups.
    by : (N,) what all are due by then in groups, of what is divided. moving : (N,) whose targets
        move there.
    """

    users: Ints
    rank: int
    stage: int
    price: Floats
    value: Floats
    level: Floats
    beside: Floats | None = None
    part: Floats | None = None
    jumped: bool = False
    settled: Bools | None = None
    by: Floats | None = None
    moving: Bools | None = None

    @property
    def place(self) -> tuple[float, ...]:
        """What lots are ordered by: class, level, part of a jump."""
        part = (0.0, 0.0) if self.part is None else self.part.tolist()
        return (self.rank, *self.level.tolist(), *part)

    def moved(self, more: float) -> Lot:
        """The lot with that much more of a level, or of its jump."""
        if self.part is None:
            return replace(self, level=digits.plus(self.level[:, None], np.array([more]))[:, 0])
        return replace(self, part=digits.plus(self.part[:, None], np.array([more]))[:, 0])


def valued(system: System, price: Floats, used: Bools, nobody: float = NOBODY) -> Floats:
    """(2, N) of each user the price of a unit of share where it runs, 0 where it is free, to all
    digits of the prices (2, M).

    Parameters
    ----------
    used : (P,) columns in use. nobody : whose cheapest price is a smaller part of its dearest has
        none.
    """
    columns = system.columns
    dear, cost = columns.dear(price[0])
    # whoever has a column that costs nothing pays nothing
    pays = np.bincount(columns.of_column[dear], minlength=len(columns.many)) == columns.many
    some = pays[columns.of_column[dear]]
    dear, cost = dear[some], cost[some]
    owner, unit = columns.of_column[dear], cost / columns.score[dear]
    cheapest, dearest = np.where(pays, np.inf, 0.0), np.zeros(len(pays))
    np.minimum.at(cheapest, owner, unit)
    gross = system.gross_of(dear, price[0], cost) / columns.score[dear]
    np.maximum.at(dearest, owner, np.where(columns.shut[dear], 0.0, gross))
    value = np.where(cheapest > nobody * dearest, cheapest, 0.0)
    at = np.flatnonzero(used[dear] & (value > 0)[owner])
    order = at[np.argsort(unit[at], kind="stable")[::-1]]
    mine, per = np.full(len(value), -1), np.zeros(len(value))
    mine[owner[order]], per[owner[order]] = dear[order], unit[order]
    some = np.flatnonzero(mine >= 0)
    found = digits.of(value, 2)
    found[0][some] = per[some]
    order = some[np.argsort(mine[some])]
    profit, _ = columns.profit(mine[order], price, found)
    found[1][order] = -profit / columns.score[mine[order]]
    return found


def sharpened(
    system: System, lot: Lot, used: Ints, moves: Ints, payers: Bools
) -> tuple[Lot, float, Ints]:
    """The lot with prices of more digits, the least singular value of what tells them, and the
    columns out of use that are as cheap.

    Columns out of use that are as cheap tell them as well, if they agree.

    Parameters
    ----------
    used : columns in use. moves : flows between their bounds, as columns. payers : (N,) who is
    stopped by then.
    """
    columns = system.columns
    if int((lot.price[0] > 0).sum()) == 1:  # one price is a unit of money
        return replace(lot, value=valued(system, lot.price, _mask(system, used))), 1.0, used[:0]
    value, cost = valued(system, lot.price, _mask(system, used))[0], columns.cost(lot.price[0])
    worth = value[columns.of_column] * columns.score
    near = (np.abs(cost - worth) <= TIED * cost) & (worth > 0) & ~columns.shut
    near[used] = False
    tied = np.flatnonzero(near & payers[columns.of_column])
    free = system.free(lot.price[0], cost) & (value == 0)[columns.of_column]
    for out in (tied, tied[:0]) if len(tied) else (tied,):
        found, apart, least = _sharpened(system, lot, used, out, moves, payers, free)
        if apart <= AGREE:
            break
    return found, least, out


def _evened(system: System, price: Floats) -> Floats:
    """Prices (2, M), of rows between which a flow has no bound the same to the last digit, if all
    but rounding is: it would bring what is endless times the least difference."""
    flows = system.tasks + np.arange(system.bounds.shape[1])
    row, each, entry = system.columns.entries(flows)
    size, off = np.zeros(len(flows)), np.zeros(len(flows))
    np.add.at(size, each, np.abs(entry * price[0][row]))
    np.add.at(off, each, entry * price[0][row])
    np.add.at(off, each, entry * price[1][row])
    # the end to which a flow would go is without bound
    bad = (off != 0) & np.isinf(np.where(off < 0, system.bounds[1], system.bounds[0]))
    near = np.abs(off) <= np.maximum(EVEN * size, AGREE * price[0].max(initial=0.0))
    some = np.isinf(system.bounds).any(axis=0) & near
    if not (bad & some).any():
        return price
    keep = some[each]
    row, each, entry = row[keep], each[keep], entry[keep]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, found = len(price[0]), price.copy()
    links = coo_array((np.ones(len(row)), (row, rows + each)), shape=(rows + len(flows),) * 2)
    _, name = connected_components(links, directed=False)
    # entries are powers of two, so that nothing is rounded here
    unit = np.ones(rows)
    unit[row] = np.abs(entry)
    order = np.argsort(price[0] * unit, kind="stable")
    of = np.zeros(int(name.max()) + 1, dtype=np.int64)
    of[name[order]] = order  # the dearest row of each
    on = np.unique(row)
    top = of[name[on]]
    found[:, on] = price[:, top] * (unit[top] / unit[on])
    return found


def _mask(system: System, columns: Ints) -> Bools:
    found = np.zeros(system.tasks, dtype=bool)
    found[columns] = True
    return found


def _sharpened(
    system: System, lot: Lot, used: Ints, tied: Ints, moves: Ints, payers: Bools, free: Bools
) -> tuple[Lot, float, float]:
    """The same with these tied columns; and what is left of the largest difference of costs.

    Parameters
    ----------
    free : (P,) columns that cost nothing at prices that pay for them as well.
    """
    columns, mask = system.columns, _mask(system, used)
    while True:
        price = lot.price
        on = np.flatnonzero(price[0] > 0)
        value = valued(system, price, mask)
        mine = used[(payers & (value[0] > 0))[columns.of_column[used]] | free[used]]
        mine = np.sort(np.concatenate([mine, tied]))
        both = np.concatenate([mine, moves])
        row, each, entry = columns.entries(both)
        place = np.full(len(price[0]), -1)
        place[on] = np.arange(len(on))
        keep = place[row] >= 0
        row, each, entry = row[keep], each[keep], entry[keep]
        paid = entry * price[0][row]
        size = np.bincount(each, np.abs(paid), len(both))
        size = np.where(size > 0, size, 1.0)
        owner = system.owner(both)
        worth = np.concatenate([columns.worth(mine), np.zeros(len(moves))])
        own = worth * value[0][np.maximum(owner, 0)] / size
        least = Least(len(on), place[row], each, paid / size[each], owner, own)
        best, found = np.inf, price
        for _ in range(STEPS):
            profit, _ = columns.profit(both, price, valued(system, price, mask))
            off = profit / size
            worst = float(np.abs(least.apart(off)).max(initial=0.0))
            last, best = best, min(worst, best)
            found = price if worst == best else found
            if worst <= ENOUGH or not worst < last / 2:
                break
            price = price.copy()
            price[:, on] = digits.plus(price[:, on], price[0, on] * least.fit(off))
        bad = found[0] < 0
        if not bad.any() or bad.all():
            break
        lot = replace(lot, price=np.where(bad, 0.0, found))
    found = _evened(system, found)
    if not found[0].any():  # all that costs nothing agrees
        best = np.inf
    return replace(lot, price=found, value=valued(system, found, mask)), best, least.least
