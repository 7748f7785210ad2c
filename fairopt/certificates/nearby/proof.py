"""What the rounds of a point prove, summed up with twice a float's digits and rounded outwards.

For users stopped by prices p, v_n at most the cheapest price of a unit of share, nobody of them
could hold more than a part `room` above what it holds while all others stopped by then hold what
they hold:

    v_n s_n room_n = sum_rows p left + sum_flows |drift| |bound - y|
        + sum_columns of those stopped by then x (cost - v u) + sum_columns of others x cost,

a sum of terms that are never negative.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from fairopt.certificates.nearby.points import NearbyPoint, whole
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.system import System
from fairopt.instance import Bools, Floats, Ints

ALIKE = 1e-9
"""part by which a column may be dearer than its user's cheapest, and be as cheap"""


@dataclass(frozen=True)
class Left:
    """What is left open at a point, (N,) parts of each share: what a user could rise by (`room`),
    and how far it is from the level of its round (`off`); share (N,) in units of the notion.

    stage : (N,) the place of each user's level among all. lots : in order of level.
    money : for each lot, what users (N,) pay who are stopped with it or before. open : for each
        lot, the part of all that money that is open. cheap : (P,) columns that are no dearer than
        any of their user's where it is stopped.
    """

    room: Floats
    off: Floats
    share: Floats
    stage: Ints
    lots: list[Lot]
    money: list[Floats]
    open: list[float]
    cheap: Bools

    @property
    def worst(self) -> float:
        """The largest part of a round's money that is open, or of a share by which somebody is off
        its level; nan if something is not known."""
        return float(np.max([self.off.max(initial=0.0), *self.open]))


def left_open(system: System, point: NearbyPoint, nothing: Floats, floor: Floats) -> Left | None:
    """What is left open; None where the point breaks a rule.

    Parameters
    ----------
    nothing : (N,) shares that count as nothing. floor : (N,) what nobody may have less of, in
        units of shares: who holds no more has it from the first round on.
    """
    of, users = system.columns, len(system.share_unit)
    x, at = point.amount, point.columns
    flow = at >= system.tasks
    left, error = system.left(at, x)
    low, high = system.bounds
    y = x[:, flow]
    inside = (y[0] > low) | ((y[0] == low) & (y[1] >= 0))
    inside &= (y[0] < high) | ((y[0] == high) & (y[1] <= 0))
    if not ((left >= error).all() and (x[0][~flow] >= 0).all() and inside.all()):
        return None
    lots, stage = point.ordered()
    short, wrong = system.shares(point.due, at, x)
    none = stage < 0  # who runs nowhere is due nothing
    off = np.where(
        none, 0.0, (np.abs(short) + wrong) / np.maximum(point.due[0], nothing / system.share_unit)
    )
    mine = at[~flow]
    owner, worth = of.owner(mine), of.worth(mine)
    share = np.bincount(owner, worth * x[0][~flow], users)
    size = np.maximum(share, nothing / system.share_unit)
    room = np.where(none, 0.0, np.inf)
    at_floor = (floor > 0) & (point.due[0] == floor) & (point.due[1] == 0)
    money, parts, cheap = [], list[float](), np.zeros(system.tasks, dtype=bool)
    used, mates = np.zeros(system.tasks, dtype=bool), defaultdict[int, list[Lot]](list)
    used[mine] = True
    place, often = np.full(system.tasks, -1), np.zeros(system.tasks, dtype=np.int64)
    place[mine] = np.arange(len(mine))
    for lot in point.lots:
        mates[lot.stage].append(lot)
    for lot in lots:
        lot = whole(system, lot, mates[lot.stage], stage, used)
        # whoever is stopped by then, or is due by then what it has in the end
        done = (stage <= stage[lot.users[0]]) | at_floor
        if lot.settled is not None:
            done |= lot.settled
        found = _room(system, mine, lot, done, left + error, x[0], place)
        if found is None:
            return None
        open_, value = found
        own = np.zeros(users, dtype=bool)
        own[lot.users] = True
        dear, cost = of.dear(lot.price[0])
        most = np.where(own, lot.value[0] * (1 + ALIKE), 0.0)[of.of_column[dear]]
        cheap[dear[cost <= most * of.score[dear]]] = True
        often[dear] += 1
        with np.errstate(divide="ignore"):
            room[lot.users] = open_ / (value * size)[lot.users]
        pays = np.where(done, value * size, 0.0)
        money.append(pays)
        all_ = float(pays[~none].sum())
        parts.append(open_ / all_ if all_ > 0 else 0.0)
    cheap |= often < len(lots)  # what costs nothing in some round
    return Left(room, off, share * system.share_unit, stage, lots, money, parts, cheap)


def _room(
    system: System, at: Ints, lot: Lot, done: Bools, left: Floats, x: Floats, place: Ints
) -> tuple[float, Floats] | None:
    """What money is open at the prices of a lot, and a value (N,) that no column is below.

    Parameters
    ----------
    at : columns of tasks in use. done : (N,) who may not have less than it holds. left : (M,).
    x : amounts of `at`, then of flows. place : (P,) of each column in `at`, -1 of others.
    """
    of, tasks = system.columns, system.tasks
    price = np.where(lot.price[0] > 0, lot.price, 0.0)
    dear, paid_at = of.dear(price[0])
    cost = np.zeros(tasks)
    cost[dear] = paid_at
    value = np.where(lot.value[0] > 0, lot.value, 0.0)
    paid_for = system.free(price[0], cost)
    if paid_for.any():
        paid_for &= (value[0] == 0)[of.of_column]
    y, of_dear = x[len(at) :], of.of_column[dear]
    cheap = paid_at <= (value[0] * (1 + 1e-9))[of_dear] * of.score[dear]
    looked = paid_for.copy()
    looked[dear[cheap & (value[0] > 0)[of_dear]]] = True
    # whoever pays has most often no column that costs nothing: then others are not looked at
    odd = (value[0] > 0) & (np.bincount(of_dear, minlength=len(done)) < of.many)
    if odd.any():
        looked |= odd[of.of_column]
    elif not paid_for.any():
        here = place[dear]
        at, x = at[here[here >= 0]], x[here[here >= 0]]
    looked[at[(value[0] > 0)[of.of_column[at]]]] = True
    flows = tasks + np.arange(system.bounds.shape[1])
    near = np.concatenate([np.flatnonzero(looked), flows])
    profit, error = of.profit(near, price, value)
    count = len(near) - len(flows)
    n, worth = of.owner(near[:count]), of.worth(near[:count])
    less = np.zeros(len(done))
    np.maximum.at(less, n, (profit + error)[:count] / worth * (1 + 2.0**-50))
    owner = of.owner(at)
    paid = done[owner] & (value[0][owner] > 0)
    held = x[: len(at)]
    on = np.searchsorted(near[:count], at[paid])
    lost = less[owner[paid]] * of.worth(at[paid])
    open_ = float((held[paid] * (lost - profit[on] + error[on])).sum())
    if paid_for.any():
        # tasks that rules pay for may cost less than nothing, as often as they may run
        brings = np.where(paid_for[near[:count]], np.maximum(profit + error, 0.0)[:count], 0.0)
        some = brings > 0
        open_ += float(brings[some] @ system.most[near[:count][some]])
        cost[paid_for] = (error - profit)[np.searchsorted(near[:count], np.flatnonzero(paid_for))]
        if (value[0] < less)[value[0] > 0].any():
            return None
    open_ += float(held[~paid] @ cost[at[~paid]])
    open_ += float(price[0] @ left)
    drift = profit[count:]
    to = np.where(drift > 0, system.bounds[1], system.bounds[0])
    with np.errstate(invalid="ignore"):
        brought = np.abs(drift) * np.abs(to - y)
    open_ += float(np.where(drift == 0, 0.0, brought).sum())
    return open_ * (1 + 1e-9), np.maximum(value[0] - less, 0.0)
