"""From the rounds of an answer to the point nearby that its rounds mean, in twice a float's digits.

Nothing found here is believed: `proof` judges the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.certificates import digits
from fairopt.certificates.nearby.jointly import Jointly
from fairopt.certificates.nearby.moves import at_bounds, changes, in_use, sizes
from fairopt.certificates.nearby.points import NearbyPoint
from fairopt.certificates.nearby.rows import AGREE, TRIFLE, Lot, sharpened, valued
from fairopt.certificates.nearby.system import System
from fairopt.certificates.nearby.targets import FlatWalk, LostError, Targets, Walk
from fairopt.certificates.nearby.ties import alike, settled
from fairopt.instance import Bools, Floats, Ints

STEPS = 12
"""most corrections of tasks with the same rows and columns"""
SLOW = 2
"""most of them in turn that better nothing: levels settle a step after tasks"""
ROUNDS = 12
"""most times that rows or columns are left out or added"""
ENOUGH = 1e-29
"""part of a share, or of a row, that is known well enough"""
LOST = 1e-20
"""part of a share, or of a row, from which on levels are looked for all at once"""
BELOW = 2.0**-93, 2.0**-90
"""least and most part of a row that is left of it, so that rounding breaks none: what is open of
money grows with it"""
SAFE = 4
"""times the error of a row's sum that is left of it, within these"""
STRAY = 1e-9
"""part of a share that tasks are less than where they may be rounding of none"""
MOVED = 1e-3
"""part of a share that the search may take from where it is too dear"""


def search(
    system: System,
    targets: Targets,
    lots: Sequence[Lot],
    columns: Ints,
    amount: Floats,
    linked: bool = False,
) -> tuple[NearbyPoint | None, bool]:
    """The point nearby, None if the answer's own rounds do not say any; and whether columns might
    come into use for it.

    Parameters
    ----------
    lots : in order, with floats for digits. columns, amount : (C,) what the answer uses.
    linked : whether columns out of use that are as cheap may come into use, so that levels that
        are equal but for rounding become one.
    """
    some, amount = system.some, at_bounds(system, columns, amount)
    stage = np.where(some, len(lots), -1)
    for k, lot in enumerate(lots):
        stage[lot.users] = k
    if (stage == len(lots)).any():
        return None, False
    clear, keep = cleared(system, lots, stage, columns, amount)
    if clear is None:
        return None, False
    columns, amount = columns[keep], amount[keep]
    moves, used = in_use(system, columns, amount)
    shut = np.zeros(system.tasks, dtype=bool)
    least, parts, new = 1.0, list[Lot](), list[Ints]()
    for k, lot in enumerate(clear):
        if clock.over():
            return None, False
        sharp, size, tied = sharpened(system, lot, used, moves, stage <= k)
        at, part = alike(system, sharp, stage <= k)
        other = settled(system, sharp, (at, part), columns, amount, stage <= k, shut)
        if other is not None:
            lot, columns, amount = other
            moves, used = in_use(system, columns, amount)
            sharp, size, tied = sharpened(system, lot, used, moves, stage <= k)
            at, part = alike(system, sharp, stage <= k)
        shut[at[part < -AGREE]] = True
        least = min(least, size)
        by = np.sort(np.concatenate([used, tied])) if linked else used
        several = _apart(system, sharp, by, moves, stage <= k)
        parts += several
        if len(lot.users) > 1:
            new.append(tied)
    came = np.setdiff1d(np.concatenate([used[:0], *new]), columns)
    more = len(came) > 0
    if linked:
        if not more:
            return None, False
        at = np.searchsorted(columns, came)
        columns, amount = np.insert(columns, at, came), np.insert(amount, at, 0.0)
    else:
        came = came[:0]
    left = some.copy()
    for lot in parts:
        left[lot.users] = False
    if left.any():
        return None, more
    return _tasks(system, targets, parts, columns, amount, least, came), more


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
        price = lot.price[0]
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
        exact = digits.few(price / np.ldexp(1.0, int(np.frexp(scale)[1])))
        value = valued(system, exact, none)[0]
        near, cost = of.dear(exact[0])  # what costs nothing is no dearer than anything
        held = place[near] >= 0
        near, cost = near[held], cost[held]
        mine = place[near]
        gross = system.gross_of(near, exact[0], cost)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(gross > 0, (cost - value[n[mine]] * worth[mine]) / gross, 0.0)
        stays[mine] &= ~((over > 1e-9) & (over >= part[mine] * 1e-3)) | (over < 1e-12)
        found.append(replace(lot, price=exact))
    gone = np.bincount(n[~stays], part[~stays], len(stage))
    keep = np.ones(len(columns), dtype=bool)
    keep[task] = stays
    return (found if not (gone > MOVED).any() else None), keep


def _apart(system: System, lot: Lot, used: Ints, moves: Ints, payers: Bools) -> list[Lot]:
    """The lot by what has nothing to do with each other: users of one have a level of their own."""
    if len(lot.users) == 1 or lot.part is not None:
        return [lot]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    columns, users = system.columns, len(system.share_unit)
    free = system.free(lot.price[0], columns.cost(lot.price[0]))
    free &= (lot.value[0] == 0)[columns.of_column]
    mine = used[(payers & (lot.value[0] > 0))[columns.of_column[used]] | free[used]]
    # who holds nothing would run wherever it may
    idle = np.zeros(users, dtype=bool)
    idle[lot.users] = True
    idle[columns.of_column[used]] = False
    if idle.any():
        mine = np.sort(np.concatenate([mine, np.flatnonzero(idle[columns.of_column])]))
    both = np.concatenate([mine, moves])
    row, each, _ = columns.entries(both)
    dear = lot.price[0][row] > 0
    row, each = row[dear], each[dear]
    # nodes: users, rows, flows
    size = users + len(lot.price[0])
    flow = size + np.arange(len(moves))
    node = np.concatenate([columns.of_column[mine], flow])[each]
    links = coo_array((np.ones(len(row)), (node, users + row)), shape=(size + len(moves),) * 2)
    _, name = connected_components(links, directed=False)
    rows, payer = name[users:size], name[:users]
    mine_ = np.unique(payer[lot.users])
    beside = np.where(np.isin(rows, mine_), 0.0, lot.price)
    found = []
    for one in mine_.tolist():
        price = np.where(rows == one, lot.price, 0.0)
        if not price.any():
            return []
        value = np.where(payer == one, lot.value, 0.0)
        own = lot.users[payer[lot.users] == one]
        found.append(replace(lot, users=own, price=price, value=value, beside=beside))
    return found


def _tasks(
    system: System,
    targets: Targets,
    lots: list[Lot],
    columns: Ints,
    amount: Floats,
    least: float,
    came: Ints,
) -> NearbyPoint | None:
    """The tasks that fill what is priced and give all what they are due at the lots' levels."""
    x = digits.of(amount, 2)
    least_left, most_left = (part * system.size for part in BELOW)
    aim = np.clip(SAFE * system.left(columns, x)[1], least_left, most_left)
    full = system.equal.copy()
    for lot in lots:
        full |= lot.price[0] > 0
        if lot.beside is not None:
            full |= lot.beside[0] > 0
    full &= ~system.below
    share = system.share(columns, x)[0]
    lots = [targets.begun(lot, share) for lot in lots]
    best: _Found | None = None
    for _ in range(ROUNDS):
        if clock.over():
            return None
        flow = columns >= system.tasks
        on = np.flatnonzero(full)
        size, unit = sizes(system, columns, x[0], came), system.size[on]
        solve = changes(system, columns, size, on)
        off, slow, emptied = np.inf, 0, np.zeros(len(columns), dtype=bool)
        jointly: Jointly | None = None
        for _ in range(STEPS):
            left = system.left(columns, x)[0] - aim
            try:
                if jointly is None:
                    lots, walk, short = _levels(system, targets, lots, columns, x, left)
                else:
                    held, missing = system.share(columns, x), left[on] / unit
                    moves = jointly.moves(missing, _short(targets.walk(lots).due, held))
                    lots = [lot.moved(by) for lot, by in zip(lots, moves.tolist(), strict=True)]
                    walk = targets.walk(lots)
                    short = _short(walk.due, held)
            except LostError:
                return None
            last, off = (
                off,
                max(
                    float(np.abs(left[on] / unit).max(initial=0.0)),
                    float(np.abs(short / np.maximum(walk.due[0], 1e-300)).max(initial=0.0)),
                ),
            )
            slow = 0 if off < last / 2 else slow + 1
            if off > LOST and slow == SLOW and jointly is None and isinstance(walk, FlatWalk):
                jointly, slow, off = Jointly(solve, lots, walk), 0, np.inf
                continue
            if off <= ENOUGH or slow == SLOW:
                break
            change = solve.change(left[on] / unit, short)
            emptied = ~flow & (x[0] + change * size < 0)
            if emptied.any():
                break
            x = digits.plus(x, change * size)
        if emptied.any():
            worst = ~flow & (x[0] + change * size < 0.01 * x[0])
            columns, x = columns[~worst], x[:, ~worst]
            continue
        left, error = system.left(columns, x)
        over = (left < error) & ~full & ~system.below
        # what cannot be met as closely as was aimed at is given more room
        broken = (left < error) & full & ~system.below & (aim < most_left)
        aim = np.where(broken, most_left, aim)
        # a flow that left its bounds stays there
        best = _Found(columns, x, lots, walk, min(least, solve.least), off)
        if not (over | broken).any():
            stray = _stray(system, columns, x[0], (left < error) & full & ~system.below)
            if not stray.any():
                break
            columns, x = columns[~stray], x[:, ~stray]
        full |= over
    return None if best is None else best.point()


class _Found(NamedTuple):
    """A point, before it is worked out who is settled where: of the last one is enough."""

    columns: Ints
    amount: Floats
    lots: list[Lot]
    walk: Walk
    least: float
    off: float

    def point(self) -> NearbyPoint:
        lots, due = self.walk.settled(self.lots), self.walk.due
        return NearbyPoint(self.columns, self.amount, lots, due, self.least, self.off)


def _stray(system: System, columns: Ints, x: Floats, over: Bools) -> Bools:
    """(C,) tasks in rows that stay overrun, as all else in them is due to users at their limits: so
    few of a user's that they are rounding of none."""
    of, tasks = system.columns, system.tasks
    task = columns < tasks
    row, each, entry = of.entries(columns)
    inside = np.zeros(len(columns), dtype=bool)
    inside[each[over[row] & (entry > 0)]] = True
    n, worth = of.owner(columns[task]), of.worth(columns[task])
    part = worth * x[task] / np.bincount(n, worth * x[task], len(system.share_unit))[n]
    inside[~task] = False
    inside[task] &= part < STRAY
    return inside


def _levels(
    system: System, targets: Targets, lots: list[Lot], columns: Ints, x: Floats, left: Floats
) -> tuple[list[Lot], Walk, Floats]:
    """The lots with levels at which all that is priced is spent, what all are due there, and what
    they hold less."""
    held = system.share(columns, x)
    found, walk = [], targets.walk(lots)
    for lot in sorted(lots, key=lambda lot: lot.place):
        due, slope = walk.to(lot)
        value = np.where(np.isinf(lot.value[0]), 0.0, lot.value[0])  # inf: who can have nothing
        per = float(value[lot.users] @ slope[lot.users])
        if per > 0:
            short = _short(due, held)
            lot = lot.moved(float(lot.price[0] @ left - value @ short) / per)
        found.append(walk.stop(lot))
    return found, walk, _short(walk.due, held)


def _short(due: Floats, held: Floats) -> Floats:
    """(N,) what users hold less than is due, both (2, N)."""
    return np.asarray((due[0] - held[0]) + (due[1] - held[1]))
