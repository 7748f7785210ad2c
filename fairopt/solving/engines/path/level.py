r"""One max-min level on the frame of the path: how far all shares can rise together.

.. math:: \max t, \quad E z - w t - b = f \ge 0, \quad A z + v = r, \quad z, v \ge 0

A primal-dual interior method (Mehrotra 1992) with the linear system of the path: what a user's
value falls with its share is here money over what it has above the level, and t is one column more.
Rows that bound one column, as wants of a slice do, hold that column as its sign does:
:math:`b z + h = u`. For wide systems, where a simplex method goes a long way.

Here b is what users keep who rise no more (their w is 0). The multipliers are strictly
complementary. So they show ALL users that a level stops, and all rows that stop them: the money of
one is far more, or far less, than what it has above the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.formulas.lowered import CAPACITY, RULE, UP_OF_TWO, Lowered, lower
from fairopt.instance import Bools, Floats
from fairopt.solving.engines import units
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.level_state import LevelMissing, LevelState, longest, moved
from fairopt.solving.engines.path.system import PathSystem
from fairopt.solving.engines.point import AlphaQuestion

MOST_STEPS, PATIENCE, LAST = 100, 8, 2
"""most steps; those without halving the error after which it ends, and the same once it is FINE"""
NARROW, LONGER, PATIENT = 100, 300, 60
"""rows up to which a step costs next to nothing beside a simplex of as many users; then so many"""
ENOUGH, FINE, GOOD = 1e-15, 1e-13, 1e-9
"""error, in parts of t, at which it ends; of rounding; and from which its end is an answer"""
DAMP, IDLE = 1e-5, 1e-2
"""part of a user's money that holds its columns, of those that hold this part of its share"""
BOLD, CAREFUL, NEAR_PRODUCTS = 0.995, 0.9, 1e-3
"""part of the way to the nearest 0 that is gone, with care while products are above NEAR_PRODUCTS
of t"""
ROUNDING = 2e-15
"""part of a row by which floats may overrun it"""
LITTLE = 1e-12
"""part of a row that is taken off its tasks, where they overrun it by no more"""
APART = 1e-6
"""money of a row, in parts of what is left of it, that is no price"""

DUST = 1e-9
"""part of a share that may be left out"""
PRICED = 1e-8
"""part of all money above which a row stops somebody"""
SURE = 1e-3
"""a condition is decided if multiplier and slack differ by at least this factor"""


class PathLevel(NamedTuple):
    """t, tasks x (P,) and prices (M,) of the rows, in the units of the question; whether rows are
    kept to the last digits."""

    t: float
    x: Floats
    price: Floats
    sharp: bool


@dataclass(frozen=True)
class LevelStops:
    """A level of a plain question, and whom it stops.

    t, tasks x (P,), `money` of rows (I, R), and which of these are `full` and stop somebody.
    `stopped` (N,) : whether a user cannot rise. `clear` : whether every multiplier clearly differs
    from its slack. Rows that stop no user may have a price within rounding.
    """

    t: float
    x: Floats
    money: Floats
    full: Bools
    stopped: Bools
    clear: bool


def highest(low: Lowered, weight: Floats, unit: Floats, good: float = GOOD) -> PathLevel | None:
    """The largest t that every share of at least weight (N,) times t can have.

    Parameters
    ----------
    unit : (N,) > 0, a share of about the size expected of each user. good : error from which its
        end is an answer.

    Returns
    -------
    None if there are flows, or rows of opposite sides, between which there is nothing; if every row
    is of one column; or if it did not come close.
    """
    if len(low.low) or (low.two[low.kind == RULE] == UP_OF_TWO).any() or not (weight > 0).all():
        return None
    with np.errstate(all="ignore"):  # it sees what is no number itself
        leveling = _Leveling(low, weight, unit, np.zeros(len(weight)))
        state = leveling.run(good) if leveling.frame.count else None
        return None if state is None else leveling.answer(state)


def stopping(question: AlphaQuestion, kept: Floats) -> LevelStops | None:
    """The level of all users of a question without limits, whose log_w is the logarithm of their
    weights; users with a share `kept` (N,) above 0 have at least that, and rise no more.

    None if it did not come close.
    """
    inst, unit, free = question.instance, units.alone(question), kept == 0
    log_w = question.log_w - question.log_w[free].max()
    weight = np.where(free, np.exp(log_w), 0.0)
    with np.errstate(all="ignore"):
        leveling = _Leveling(lower(inst, question.score), weight, unit, kept)
        state = leveling.run(GOOD) if leveling.frame.count else None
        return None if state is None else leveling.stops(state, inst.pool.shape)


class _Leveling:
    """Parameters: as of `highest`, and `base` (N,) what users without a weight keep."""

    def __init__(self, low: Lowered, weight: Floats, unit: Floats, base: Floats) -> None:
        self.low = low
        self.frame = Frame(low, unit, together=True)
        self.weight = weight / unit
        self.scale = float(self.weight.max())
        self.weight /= self.scale
        self.base = base / unit

    def run(self, good: float) -> LevelState | None:
        """The best state on the way; None if it is not close."""
        state, since, mark = self._first(), 0, np.inf
        best, kept = np.inf, state
        narrow = self.frame.count <= NARROW
        most, patience = (LONGER, PATIENT) if narrow else (MOST_STEPS, PATIENCE)
        for _ in clock.steps(most):
            left = self._left(state)
            products = sum(float(part.sum()) for part in state.products())
            error = max(products / state.t, self._off(state, left))
            if not np.isfinite(error):
                break
            if error < best:
                best, kept = error, state
            mark, since = (error, 0) if error < 0.5 * mark else (mark, since + 1)
            if error <= ENOUGH or since > (LAST if best <= FINE else patience):
                break
            try:
                state = self._stepped(state, left, products)
            except ArithmeticError:
                break
        return kept if best <= good else None

    def _first(self) -> LevelState:
        """Everybody a part of each server by weight, half full; prices of about that value."""
        frame, w, base = self.frame, self.weight, self.base
        free, some = base == 0, np.bincount(frame.owner, minlength=frame.users)
        room = np.maximum(frame.rhs_shared, 0.0) + (frame.rhs_shared <= 0)
        t = 1.0  # if all are free it is of no account: what all have is scaled below
        if not free.all():  # a level that fills half of what those who rise no more leave
            taken, asked = (frame.a @ frame.to(part / some) for part in (base, w))
            t = 0.5 * float(np.maximum(room - taken, 0.1 * room).sum() / asked.sum())
        each = np.where(free, w * t, base)
        y = frame.to(each / some)
        used = np.asarray(frame.a @ y) / room
        over = np.full(frame.columns, 1e-300)
        np.maximum.at(over, frame.column, used[frame.row])
        most = np.maximum(frame.rhs_alone, 0.0) + (frame.rhs_alone <= 0)
        np.maximum.at(over, frame.bounded, np.abs(frame.bound) * y[frame.bounded] / most)
        z = 0.5 * y / over
        share = frame.of(z)
        money = t / (np.count_nonzero(free) * each)
        t *= 0.5 * float((share / each)[free].min())
        slack = np.maximum(frame.rhs_shared - frame.a @ z, 0.1 * room)
        value = frame.to(money)
        many = np.bincount(frame.column, minlength=frame.columns)
        price = np.bincount(frame.row, (value * z / many)[frame.column], frame.count)
        price = np.maximum(price, 1e-3 * price.max())
        left = np.maximum(frame.rhs_alone - frame.bound * z[frame.bounded], 0.1 * most)
        own = 1e-3 * value[frame.bounded] / np.abs(frame.bound)
        cost = frame.cost(price, own)
        dear = np.maximum(cost - value, 0.3 * np.maximum(value, np.abs(cost)))
        above = np.maximum(share - w * t - base, 0.1 * base)
        return LevelState(z, slack, left, above, t, dear, price, own, money)

    def _left(self, state: LevelState) -> LevelMissing:
        frame = self.frame
        return LevelMissing(
            frame.cost(state.price, state.own) - frame.to(state.money) - state.dear,
            frame.rhs_shared - frame.a @ state.z - state.slack,
            frame.rhs_alone - frame.bound * state.z[frame.bounded] - state.left,
            frame.of(state.z) - self.weight * state.t - self.base - state.f,
            1.0 - float(self.weight @ state.money),
        )

    def _off(self, state: LevelState, missing: LevelMissing) -> float:
        return max(
            float(np.abs(missing.columns * state.z).sum()) / state.t,
            float(np.abs(missing.rows).max(initial=0.0)),
            float(np.abs(missing.alone).max(initial=0.0)),
            float((np.abs(missing.shares) / self.frame.of(state.z)).max()),
            abs(missing.money),
        )

    def _stepped(self, at: LevelState, missing: LevelMissing, products: float) -> LevelState:
        """A step towards the end of the path, corrected."""
        frame, w = self.frame, self.weight
        columns, rows, alone, shares, money = missing
        paid = frame.to(at.money)
        held = np.maximum(at.z, IDLE * frame.to(frame.of(at.z)))
        heat, pull = at.money / at.f, frame.bound * at.own / at.left
        stays = at.dear / at.z + DAMP * paid / held
        stays += np.bincount(frame.bounded, pull * frame.bound, frame.columns)
        system = PathSystem(frame, 1.0 / stays, heat, None, at.slack / at.price)
        nobody = np.zeros(frame.users)
        z_t, _, _, p_t = system.step(
            np.zeros(frame.columns), heat * w, nobody, np.zeros(frame.count)
        )
        # how much faster than the level shares rise, without a difference
        above = (frame.of(system.theta * -np.asarray(frame.at @ p_t)) - w) / system.det
        steep = -(w * heat) @ above

        def direction(z: Floats, slack: Floats, left: Floats, f: Floats) -> LevelState:
            """The change that makes products of these sizes."""
            push = (f - at.money * shares) / at.f
            near = frame.bound * left / at.left - pull * alone
            held = z / at.z - columns - np.bincount(frame.bounded, near, frame.columns)
            dz, rise, _, dp = system.step(held, push, nobody, rows - slack / at.price)
            dt = float((money - w @ (push - heat * rise)) / steep)
            df = rise + dt * above + shares
            dz, dp = dz + dt * z_t, dp + dt * p_t
            less = alone - frame.bound * dz[frame.bounded]
            return LevelState(
                dz,
                (slack - at.slack * dp) / at.price,
                less,
                df,
                dt,
                (z - at.dear * dz) / at.z,
                dp,
                (left - at.own * less) / at.left,
                (f - at.money * df) / at.f,
            )

        ahead = direction(*[-part for part in at.products()])
        many = sum(len(part) for part in at.mine)
        mean = products / many
        there = moved(at, ahead, *longest(at, ahead))
        after = sum(float(part.sum()) for part in there.products()) / many
        centred = 1e-4 if self._off(at, missing) < products / at.t else 0.05
        aim = max((after / mean) ** 3, centred) * mean
        pairs = zip(at.products(), ahead.products(), strict=True)
        # of the second order no more than what is aimed at: a few large products would rule all
        wanted = [aim - now - np.clip(more, -mean, mean) for now, more in pairs]
        change = direction(*wanted)
        part = CAREFUL if mean / at.t > NEAR_PRODUCTS else BOLD
        return moved(at, change, *[min(1.0, part * each) for each in longest(at, change)])

    def stops(self, state: LevelState, servers: tuple[int, int]) -> LevelStops:
        """Whom the level stops, and the rows (I, R) that do."""
        frame, low = self.frame, self.low
        # of its user's own money and share, so that users of little money lose their rounding too
        own, share = frame.to(state.money), frame.to(frame.of(state.z))
        dust = np.minimum(APART * state.dear / own, DUST) * share
        x = np.where(state.z < dust, 0.0, state.z * frame.size)
        # what each user is to have at least: its part of the level, or the share it keeps
        need = self.weight * state.t + self.base
        part, above = need * state.money / state.t, state.f / need
        paid, left = np.zeros(frame.rows), np.ones(frame.rows)
        paid[frame.shared] = state.price * frame.rhs_shared
        paid[frame.alone] = state.own * frame.rhs_alone
        left[frame.shared] = state.slack / frame.rhs_shared
        left[frame.alone] = state.left / frame.rhs_alone
        full = paid > np.maximum(left, PRICED) * paid.sum()
        # these users have a full row on every server, however little of all money they pay
        some = full.astype(np.float64)
        cost = frame.cost(some[frame.shared], some[frame.alone])
        blocked = frame.smallest(cost[: frame.tasks]) > 0
        capped = self.base > 0
        told = np.minimum(part, above) / np.maximum(part, above)
        clear = blocked | capped | (told < SURE)
        at = low.kind == CAPACITY
        money, rows = np.zeros(servers), np.zeros(servers, dtype=bool)
        where = low.one[at], low.two[at]
        money[where], rows[where] = paid[at], full[at]
        stopped = blocked | (part > above) & ~capped
        return LevelStops(state.t / self.scale, x, money, rows, stopped, bool(clear.all()))

    def answer(self, state: LevelState) -> PathLevel:
        """Prices of rows that are full, and tasks that are no more than rounding left out."""
        frame, low = self.frame, self.low
        price = np.zeros(frame.rows)
        for rows, paid, left in (
            (frame.shared, state.price, state.slack),
            (frame.alone, state.own, state.left),
        ):
            price[rows] = np.where(paid * frame.users < APART * left, 0.0, paid)
        x = np.where(state.z * state.dear.max() < APART * state.dear * state.z.max(), 0.0, state.z)
        x = x * frame.size[: len(x)]
        unit = np.where(low.rhs != 0, np.abs(low.rhs), low.unit)
        over = (low.matrix @ x - low.rhs) / unit
        if ROUNDING < over.max() <= LITTLE:
            entries, worst = low.matrix.tocoo(), np.zeros(len(x))
            np.maximum.at(worst, entries.col, np.maximum(over, 0.0)[entries.row])
            less = x / (1.0 + worst)
            after = (low.matrix @ less - low.rhs) / unit
            x, over = (less, after) if after.max() < over.max() else (x, over)
        return PathLevel(state.t / self.scale, x, price / low.unit, bool(over.max() <= ROUNDING))


__all__ = ["LevelStops", "PathLevel", "highest", "stopping"]
