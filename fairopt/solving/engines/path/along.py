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
from fairopt.solving.engines.path import start
from fairopt.solving.engines.path.basis import EASY, Basis
from fairopt.solving.engines.path.state import PathMissing
from fairopt.solving.engines.path.system import PathSystem

MOST_STEPS, PATIENCE, FLAT = 300, 10, 40
"""most steps at one exponent; those after which it ends if nothing is halved, and the same of an
exponent below 1, at which shares may have to fall by many decades"""
ENOUGH, GOOD, FINE = 5e-15, 1e-14, 1e-11
"""error at which it ends; errors from which one step, or two, without progress end it"""
HALF_WAY = 1e-2
"""error at which the next exponent is gone to"""
NEAR_PRODUCTS, APART, QUICK = 0.1, 0.5, 1.7
"""products and distances of prices, and of shares at alpha 3, from which it is gone to at once; by
what factor then"""
DAMP = 1e-10, 1e-7
"""part of what it costs that a column is held at least, relative to itself: the mean of what
products still are, within these bounds; beside own rules, and where patience is large, always the
last. What holds it is missing of its price in the end, and would
vanish by a tenth a step alone where many columns cost nearly the same"""
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
    quick = False
    """whether exponents follow quickly on each other"""
    stride, pace = 2.0, 25.0
    """the next exponent is at most so many times the last, and such that no value changes by more
    than exp of this"""
    touches = False
    """whether a step may end at the border, where that is as long as it is meant to be"""
    patience = PATIENCE
    """steps in which nothing is halved after which an exponent of 1 and more is ended"""

    def run(self) -> tuple[Floats, float]:
        """The best state, and its error."""
        state = start.first(self)
        while self.alpha < self.target:
            state, error = self._descended(state, HALF_WAY)
            if not error < 1.0:
                return state, error
            state = self._quickly(state) if self.quick else self._raised(state)
        return self._descended(state, ENOUGH)

    def _descended(self, state: Floats, enough: float) -> tuple[Floats, float]:
        """Steps at one exponent, until the error is small enough or nothing is gained."""
        best, least, mark, worse, lowest = state, np.inf, np.inf, 0, np.inf
        for _ in clock.steps(MOST_STEPS):
            state, moved = start.lowered(self, state)
            self.levelled(state)
            missing = self.missing(state)
            error = self.error(state, missing)
            if not error < np.inf:
                break
            worse = 0 if error < 0.5 * mark or moved else worse + 1
            if error < least:
                best, least, mark = state, error, mark if worse else error
            if self.mean < 0.5 * lowest and least > FINE:
                lowest, worse = self.mean, 0
            patience = self.patience if self.alpha >= 1 else FLAT
            patience = 1 if least <= GOOD else 2 if least <= FINE else patience
            if least <= enough or worse > patience:
                break
            if self.quick and self.alpha < self.target and self._settled(state, missing):
                # somebody may be far off in its own money, as long as all are not
                return state, min(error, HALF_WAY)
            after = self._stepped(state, missing)
            if after is None or not np.isfinite(after).all():
                break
            self.steps, state = self.steps + 1, after
        return best, least

    def _settled(self, state: Floats, missing: PathMissing) -> bool:
        """Whether a state is so near to the path that the exponent may be raised."""
        layout, frame = self.layout, self.frame
        s = layout.parts(state)
        mean = float((layout.products(state) / self.targets(state, missing)).mean())
        dual = np.abs(missing.dual) / (np.abs(missing.cost) + frame.to(missing.q) + s.dear)
        least = min(1.0, EASY / self.alpha)
        return (
            mean < NEAR_PRODUCTS
            and float(dual.max()) < NEAR_PRODUCTS
            and self.off(state, missing) < APART * least
        )

    def _quickly(self, state: Floats) -> Floats:
        """The state at the next exponent, at the same prices and values: where there are no limits
        and weights are not far apart, steps bring them to what is due then."""
        state = state.copy()
        s = self.layout.parts(state)
        self.at(min(self.target, QUICK * self.alpha))
        self.levelled(state)
        short = s.share - self.due(s.value)
        s.spare[:] = np.clip(short, 0.1 * s.share / self.alpha, 0.3 * s.share / self.alpha)
        return state

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
        # where a rule pays for tasks, what it pays may have risen beyond what they cost
        new = np.where(new > 0, new, np.where(old > 0, old, before))
        if len(layout.limited):
            self.log_w = start.capped(self, new)
        value = np.where(self.active, np.exp(self.log_w - self.alpha * np.log(s.share)), 1.0)
        over = np.maximum(value - new, 0.1 * new) / np.where(frame.limited, frame.least_limit, 1.0)
        s.rent[:] = np.where(capped, over, rent * more)[layout.limited]
        s.value[:] = value
        if self.steep:
            s.spare[:] = 0.1 * s.share / self.alpha
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
        return self.layout.cost(s.price) + frame.limit * frame.to(rent) - frame.to(self.paying(s))

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
        paid = frame.to(missing.q)
        if (
            frame.columns > frame.tasks
        ):  # flows bring, or cost, what rows do between which they lend
            paid = np.where(frame.is_task, paid, frame.size_of.T @ s.price[shared])
        most = np.where(frame.is_task, 1e-2 * frame.to(missing.held), 0.0)
        slowly = frame.ruled or self.patience > PATIENCE
        damp = DAMP[1] if slowly else float(np.clip(self.mean, *DAMP))
        theta = 1.0 / (s.dear / s.z + holding + damp * paid / np.maximum(s.z, most))
        if self.steep:
            falls = s.value / ((missing.curve + s.share - s.spare) / self.alpha + s.spare)
        else:
            falls = self.alpha * s.value / s.share
        fall = np.where(self.active, falls, 0.0)
        heat = fall.copy()
        heat[layout.floored] += s.pledge / s.above
        stiff = layout.of_limits(s.rent / s.room) if len(layout.limited) else None
        system = PathSystem(frame, theta, heat, stiff, s.slack[shared] / s.price[shared])

        def direction(change: Floats, bend: Floats, exact: bool) -> Floats:
            t_z, t_slack, t_room, t_above, t_spare = layout.changes(change)
            up = fall * (bend + t_spare / s.value) if self.steep else -s.value * bend
            up = np.where(self.active, up, 0.0)
            lift = up - fall * missing.shares
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
            value = up - fall * share
            spare = (t_spare - s.spare * value) / s.value if self.steep else share[:0]
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
                    spare,
                    value,
                ]
            )

        return direction

    def _stepped(self, state: Floats, missing: PathMissing) -> Floats | None:
        """The state after a step to the border that aims at the centre; None if it fails."""
        layout = self.layout
        products, due = layout.products(state), self.targets(state, missing)
        mean = float((products / due).mean())
        if not mean > 0:
            return None
        self.mean = mean
        try:
            direction = self._direction(state, missing)
        except (ArithmeticError, np.linalg.LinAlgError):
            return None
        # first what would happen if all products were to vanish at once
        aim = direction(-products, missing.curve, False)
        mine, paid = self._lengths(state, aim)
        there = layout.products(layout.moved(state, aim, mine, paid))
        rest = float((there / due).mean())
        centre = max(mean * min(1.0, max(rest, 0.0) / mean) ** 3, LAST)
        square = layout.products(aim)
        goal = centre * due
        change = goal - products - np.clip(square, -10 * mean * due, 10 * mean * due)
        bend = missing.curve + self._bend(state, aim, missing)
        step, mine, paid = self._corrected(direction, state, change, bend, goal)
        far = min(1.0, max(mean, self.off(state, missing)))
        short = 1 - min(0.1, max(far**1.5, 1e-9))
        # no whole step to the border: a row whose slack vanishes there would have no other step
        least = 1.0 if self.touches else np.inf
        mine, paid = (1.0 if each >= least else min(1.0, short * each) for each in (mine, paid))
        return layout.moved(state, step, mine, paid)

    def _lengths(self, state: Floats, step: Floats) -> tuple[float, float]:
        """The lengths of a step, the same where that is asked."""
        mine, paid = self.layout.lengths(state, step)
        return (min(mine, paid),) * 2 if self.together else (mine, paid)

    def _bend(self, state: Floats, aim: Floats, missing: PathMissing) -> Floats:
        """How far the relation of share and value is from its tangent after a step, at most a
        half."""
        s, d = self.layout.parts(state), self.layout.parts(aim)
        if not self.steep:
            second = ((d.value / s.value) ** 2 + self.alpha * (d.share / s.share) ** 2) / 2
            return -np.minimum(second, 0.5)
        # taken where the relation itself has that change; where its tangent has, it is too much
        due = missing.curve + s.share - s.spare
        flat = np.clip(1 - d.value / s.value / self.alpha, 0.2, 5.0)
        c = np.clip(np.expm1(-np.log(flat) * self.alpha), -0.9, 10.0)
        above = due * (np.expm1(-np.log1p(c) / self.alpha) + c / self.alpha)
        return np.asarray(np.minimum(above, 0.5 * due))

    def _corrected(
        self, direction: Direction, state: Floats, change: Floats, bend: Floats, goal: Floats
    ) -> tuple[Floats, float, float]:
        """The step and its lengths; of many products corrected while that makes it much longer."""
        layout = self.layout
        step = direction(change, bend, True)
        mine, paid = self._lengths(state, step)
        for _ in range(CORRECTORS if layout.half > LARGE else 0):
            if min(mine, paid) > LONG:
                break
            end = layout.moved(state, step, min(1.0, mine + FURTHER), min(1.0, paid + FURTHER))
            there = layout.products(end)
            wanted = np.clip(there, goal / SPREAD, SPREAD * goal) - there
            trial = change + np.maximum(wanted, -SPREAD * goal)
            other = direction(trial, bend, True)
            reached = self._lengths(state, other)
            if min(reached) < min(mine, paid) + 0.1 * FURTHER or sum(reached) < mine + paid:
                break
            step, change, (mine, paid) = other, trial, reached
        return step, mine, paid
