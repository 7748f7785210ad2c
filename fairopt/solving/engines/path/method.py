r"""A primal-dual path to the alpha-fair answer over any linear rules, steep or not.

.. math:: \max \sum_n W_n g_\alpha(s_n - b_n), \quad s = E z, \quad A z + w = r, \quad
   g_n \cdot z + l_n = 1, \quad s_n - f_n = \sigma_n, \quad z, w, l, f \ge 0

(docs/maths/quotas.md). What vanishes together, a column with what it is dearer than its user
pays, a row's slack with its price, goes to zero in each user's OWN money, a row's in the mean
(harmonic, by use) of those who use it: so users of little money are as exact as others. The
relation of share and value is kept in logarithms, and a large alpha is come to in stages.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt import clock
from fairopt.instance import Floats
from fairopt.solving.engines.path import limits, start
from fairopt.solving.engines.path.basis import Basis
from fairopt.solving.engines.path.state import LIGHTEST, Parts, PathMissing
from fairopt.solving.engines.path.system import PathSystem

MOST, PATIENCE, FLAT = 300, 10, 40
"""most steps at one exponent; those after which it ends if nothing is halved, and the same of an
exponent below 1, at which shares may have to fall by many decades"""
ENOUGH, GOOD, FINE = 5e-15, 1e-14, 1e-11
"""error at which it ends; errors from which one step, or two, without progress end it"""
HALF_WAY = 1e-2
"""error at which the next exponent is gone to"""
DAMP = 1e-7
"""part of what it costs that a column is held at least, relative to itself"""
LAST = 1e-16
"""smallest target of products, in money"""
LONG, FURTHER, SPREAD, CORRECTORS = 0.5, 0.3, 10.0, 2
"""a step of this length is not corrected; by how much a correction tries to lengthen it; the factor
within which products are left alone; most corrections"""
LARGE = 2_000
"""products from which a correction is cheaper than a step"""

Direction = Callable[[Floats, Floats, bool], Floats]
"""the step by which products change so and the relation of share and value bends so; whether its
last digits matter"""


class Path(Basis):
    """The path of one question."""

    steps, mean = 0, np.inf
    stride, pace = 2.0, 25.0
    """the next exponent is at most so many times the last, and such that no value changes by more
    than exp of this"""

    def run(self) -> tuple[Floats, float]:
        """The best state, and its error."""
        state = start.first(self)
        while self.alpha < self.target:
            state, error = self._descended(state, HALF_WAY)
            if not error < 1.0:
                return state, error
            state = self._raised(state)
        return self._descended(state, ENOUGH)

    def _descended(self, state: Floats, enough: float) -> tuple[Floats, float]:
        """Steps at one exponent, until the error is small enough or nothing is gained."""
        best, least, mark, worse, lowest = state, np.inf, np.inf, 0, np.inf
        for _ in clock.steps(MOST):
            state, moved = limits.lowered(self, state)
            missing = self.missing(state)
            error = self.error(state, missing)
            if not error < np.inf:
                break
            worse = 0 if error < 0.5 * mark or moved else worse + 1
            if error < least:
                best, least, mark = state, error, mark if worse else error
            if self.mean < 0.5 * lowest and least > FINE:
                lowest, worse = self.mean, 0
            patience = PATIENCE if self.alpha >= 1 else FLAT
            patience = 1 if least <= GOOD else 2 if least <= FINE else patience
            if least <= enough or worse > patience:
                break
            after = self._stepped(state, missing)
            if after is None or not np.isfinite(after).all():
                break
            self.steps, state = self.steps + 1, after
        return best, least

    def _raised(self, state: Floats) -> Floats:
        """The state at the next exponent: prices, and what is dearer, follow the values that use
        them, so that nothing is far from where it was."""
        frame, layout = self.frame, self.layout
        state = state.copy()
        s = layout.parts(state)
        before = np.where(self.active, s.value, 1.0)
        rent = layout.of_limits(s.rent)
        capped = rent * frame.most_limit > 0.5 * before
        old = frame.smallest(layout.cost(s.price)[: frame.tasks])
        self.free = ~capped
        some = self.active & self.free
        apart = (self.log_phi - self.log_unit - np.log(s.share))[some]
        wide = max(float(np.ptp(apart)) if len(apart) else 0.0, 1e-9)
        further = self.alpha + max(self.pace / wide, 0.02 * self.alpha)
        self.at(min(self.target, self.stride * self.alpha, further))
        self.level(s.share)
        here = np.exp(self.log_w - self.alpha * np.log(s.share))
        more = np.where(some, here / before, 1.0)
        s.price[:] = s.price * self._dearer(s.z, np.where(capped, 0.0, before), more)
        new = frame.smallest(layout.cost(s.price)[: frame.tasks])
        if len(layout.limited):
            self.log_w = limits.capped(self, new)
        value = np.where(self.active, np.exp(self.log_w - self.alpha * np.log(s.share)), 1.0)
        over = np.maximum(value - new, 0.1 * new) / np.where(frame.limited, frame.least_limit, 1.0)
        s.rent[:] = np.where(capped, over, rent * more)[layout.limited]
        s.value[:] = value
        more = np.where(capped, new / old, more)
        s.pledge[:] = s.pledge * more[layout.floored]
        scale = np.where(frame.is_task, frame.to(more), 1.0)
        rise = self._rise(state)
        idle = frame.is_task & (s.z * frame.to(before) < s.dear * frame.to(s.share))
        dear = np.where(idle, np.maximum(rise, scale * s.dear), scale * s.dear)
        s.z[:] = np.where(idle, np.minimum(s.z, s.z * s.dear * scale / dear), s.z)
        s.dear[:] = dear
        return state

    def _dearer(self, z: Floats, value: Floats, more: Floats) -> Floats:
        """(rows,) by how much prices rise where the values (N,) of who uses them do."""
        frame = self.frame
        money, times = z * frame.to(value), frame.to(more)
        paid = np.abs(frame.value) * money[frame.column]
        own = np.abs(frame.bound) * money[frame.bounded]
        before = np.concatenate([np.bincount(frame.row, paid, frame.count), own])
        after = np.bincount(frame.row, paid * times[frame.column], frame.count)
        after = np.concatenate([after, own * times[frame.bounded]])
        return np.where(before > 0, after / np.where(before > 0, before, 1.0), 1.0)

    def _rise(self, state: Floats) -> Floats:
        """(P + F,) what columns are dearer than what their users pay."""
        frame, s = self.frame, self.layout.parts(state)
        rent = self.layout.of_limits(s.rent)
        return self.layout.cost(s.price) + frame.limit * frame.to(rent) - frame.to(self._paying(s))

    def _paying(self, s: Parts) -> Floats:
        """(N,) what a unit of share pays: its value, and the price of its floor."""
        q = np.where(self.active, s.value, 0.0)
        q[self.layout.floored] += s.pledge
        return q

    # -- what is missing -----------------------------------------------------------------------

    def missing(self, state: Floats) -> PathMissing:
        """What a state misses."""
        frame, layout = self.frame, self.layout
        s = layout.parts(state)
        held, q = frame.of(s.z), self._paying(s)
        cost = layout.cost(s.price)
        rent = layout.of_limits(s.rent)
        dual = cost + frame.limit * frame.to(rent) - frame.to(q) - s.dear
        part = frame.of(frame.limit * s.z)[layout.limited]
        own = q * np.maximum(held, 1e-300)
        money = float(own.sum())
        own = np.where(own > 0, own, money / frame.users)
        curve = np.log(s.value) + self.alpha * np.log(s.share) - self.log_w
        used = layout.used(s.z)
        return PathMissing(
            dual,
            layout.rhs - used - s.slack,
            1 - part - s.room,
            (held - self.floor)[layout.floored] - s.above,
            np.where(self.active, held - self.base - s.share, 0.0),
            np.where(self.active, curve, 0.0),
            held,
            q,
            cost,
            used[: frame.count],
            np.maximum(own, LIGHTEST * own.max()),
            money,
        )

    def error(self, state: Floats, missing: PathMissing) -> float:
        """The largest of what is missing, relative, and of each user's losses in its own money."""
        if not missing.money > 0:
            return np.inf
        frame, layout = self.frame, self.layout
        s = layout.parts(state)
        products = layout.products(state)
        dual = np.abs(missing.dual) * s.z
        per_user = frame.of(dual + products[: frame.columns]) / missing.own
        held = np.where(self.active, np.maximum(missing.held, 1e-300), 1.0)
        floor = self.floor[layout.floored]
        found = max(
            float(per_user.max()),
            float(products.sum()) / missing.money,
            float(dual.sum()) / missing.money,
            float(np.abs(missing.rows).max(initial=0.0)),
            float(np.abs(missing.curve).max()) / max(1.0, self.alpha),
            float((np.abs(missing.shares) / held).max()),
            float(np.abs(missing.limits).max(initial=0.0)),
            float((np.abs(missing.floors) / floor).max(initial=0.0)),
        )
        return found if np.isfinite(found) else np.inf

    def due(self, state: Floats, missing: PathMissing) -> Floats:
        """What products are measured in: the money of users, of rows the mean of who uses them."""
        frame, layout = self.frame, self.layout
        mean = missing.money / frame.users
        per = np.full(frame.columns, mean)
        per[: frame.tasks] = missing.own[frame.owner]
        z = layout.parts(state).z
        use = frame.size_of @ z if frame.signed else missing.used
        by_money = frame.size_of @ (z / per)
        rows = np.where(by_money > 0, use / np.where(by_money > 0, by_money, 1.0), mean)
        own = missing.own
        return np.concatenate(
            [per, rows, per[frame.bounded], own[layout.limited], own[layout.floored]]
        )

    # -- steps ---------------------------------------------------------------------------------

    def _direction(self, state: Floats, missing: PathMissing) -> Direction:
        """Steps from a state, by what products change by and how the relation of share and value
        bends."""
        frame, layout = self.frame, self.layout
        s = layout.parts(state)
        shared = slice(0, frame.count)
        slack, price = s.slack[frame.count :], s.price[frame.count :]
        # a row of one column holds that column, and needs no other unknown
        holding = np.bincount(frame.bounded, frame.bound**2 * price / slack, frame.columns)
        paid = np.where(
            frame.is_task, frame.to(missing.q), np.abs(missing.cost) + 1e-3 * s.price.mean()
        )
        most = np.where(frame.is_task, 1e-2 * frame.to(missing.held), 0.0)
        theta = 1.0 / (s.dear / s.z + holding + DAMP * paid / np.maximum(s.z, most))
        fall = np.where(self.active, self.alpha * s.value / s.share, 0.0)
        heat = fall.copy()
        heat[layout.floored] += s.pledge / s.above
        stiff = layout.of_limits(s.rent / s.room) if len(layout.limited) else None
        system = PathSystem(frame, theta, heat, stiff, s.slack[shared] / s.price[shared])

        def direction(change: Floats, bend: Floats, exact: bool) -> Floats:
            t_z, t_slack, t_room, t_above = layout.halves(change)
            lift = np.where(self.active, -fall * missing.shares - s.value * bend, 0.0)
            lift[layout.floored] += (t_above - s.pledge * missing.floors) / s.above
            lack = missing.rows[frame.count :]
            push = (t_slack[frame.count :] - price * lack) / slack
            c = t_z / s.z - missing.dual
            c -= np.bincount(frame.bounded, frame.bound * push, frame.columns)
            at = layout.of_limits((t_room - s.rent * missing.limits) / s.room)
            lacking = missing.rows[shared] - t_slack[shared] / s.price[shared]
            dz, rise, own, dprice = system.step(c, lift, at, lacking, exact)
            share = np.where(self.active, rise + missing.shares, 0.0)
            room = missing.limits - own[layout.limited]
            above = rise[layout.floored] + missing.floors
            dslack = np.concatenate(
                [
                    (t_slack[shared] - s.slack[shared] * dprice) / s.price[shared],
                    lack - frame.bound * dz[frame.bounded],
                ]
            )
            dprice = np.concatenate([dprice, push + price / slack * (lack - dslack[frame.count :])])
            return np.concatenate(
                [
                    dz,
                    dslack,
                    room,
                    above,
                    (t_z - s.dear * dz) / s.z,
                    dprice,
                    (t_room - s.rent * room) / s.room,
                    (t_above - s.pledge * above) / s.above,
                    share,
                    np.where(self.active, -fall * share - s.value * bend, 0.0),
                ]
            )

        return direction

    def _stepped(self, state: Floats, missing: PathMissing) -> Floats | None:
        """The state after a step to the border that aims at the centre; None if it fails."""
        layout = self.layout
        try:
            direction = self._direction(state, missing)
        except (ArithmeticError, np.linalg.LinAlgError):
            return None
        products, due = layout.products(state), self.due(state, missing)
        mean = float((products / due).mean())
        if not mean > 0:
            return None
        self.mean = mean
        # first what would happen if all products were to vanish at once
        aim = direction(-products, missing.curve, False)
        length = min(1.0, layout.length(state, aim))
        square = layout.products(aim)
        rest = (1 - length) * mean + length**2 * float((square / due).mean())
        centre = max(mean * min(1.0, max(rest, 0.0) / mean) ** 3, LAST)
        s, d = layout.parts(state), layout.parts(aim)
        second = ((d.value / s.value) ** 2 + self.alpha * (d.share / s.share) ** 2) / 2
        goal = centre * due
        change = goal - products - np.clip(square, -10 * mean * due, 10 * mean * due)
        bend = missing.curve - np.minimum(second, 0.5)
        step = self._corrected(direction, state, change, bend, goal)
        far = min(1.0, max(mean, float(np.abs(missing.curve).max())))
        short = 1 - min(0.1, max(far**1.5, 1e-9))
        return np.asarray(state + min(1.0, short * layout.length(state, step)) * step)

    def _corrected(
        self, direction: Direction, state: Floats, change: Floats, bend: Floats, goal: Floats
    ) -> Floats:
        """The step; of many products corrected while that makes it much longer."""
        layout = self.layout
        step = direction(change, bend, True)
        reach = min(1.0, layout.length(state, step))
        for _ in range(CORRECTORS if layout.half > LARGE else 0):
            if reach > LONG:
                break
            there = layout.products(state + min(1.0, reach + FURTHER) * step)
            wanted = np.clip(there, goal / SPREAD, SPREAD * goal) - there
            trial = change + np.maximum(wanted, -SPREAD * goal)
            other = direction(trial, bend, True)
            longer = min(1.0, layout.length(state, other))
            if longer < reach + 0.1 * FURTHER:
                break
            step, reach, change = other, longer, trial
        return step
