r"""Proximal Newton steps in the prices from the last answer (docs/maths/again.md).

A round solves max sum W g(s_n) - sum (z_h - y_h)^2 / (2 e_h) over what fits, y the tasks of the
round before, by Newton on its dual: the money of rows at which users take (`users`) just what fits,

.. math:: B z + \max(0, s - \lambda / (\delta M)) = 1,

s the room that each row had. The dual is convex with a piecewise linear gradient, so that Newton's
method with a line search changes many pairs at once and cannot cycle. A few rounds end at the
optimum itself, because delta is small beside the curvature of g.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.again.curvature import LIMIT, Curvature
from fairopt.solving.engines.again.matching import Start
from fairopt.solving.engines.again.users import Taken, UsersAgain
from fairopt.solving.engines.interior.layout import GridLayout, Layout, layout_of
from fairopt.solving.engines.point import AlphaQuestion, Point

ETA = 1e-4
"""a pair that was not used moves like one with this part of its user's share"""
USEFUL = 1e-8
"""error with which an answer that gets no better is still worth judging"""
ASTRAY = 0.5
"""misfit, in parts of a row, from which a later round is given up: hits begin far below"""
GREW = 4.0
"""a pair that grew by this factor may move further in the next round"""
STRAY, FAR_OFF, MANY_SERVERS = 1e-5, 10.0, 3
"""part of its money by which a server's rows stray from those of its class, that is so many times
what they do in the median; servers that a class has at least"""
ROUNDS = 12
INNER = 0.1
"""a round ends when its misfit is this part of the error of the round before"""


class RoundsPace(NamedTuple):
    """How rounds are made.

    Parameters
    ----------
    delta : the relative rise of a price at which a pair may double. enough : error at which they
        stop. steps : most Newton steps. early, hope : after so many steps of the first round the
        misfit must be below this part of a row: where many pairs still begin and end to be used,
        most starts are never led to an answer.
    """

    delta: float
    enough: float
    steps: int
    early: int
    hope: float


@dataclass(frozen=True)
class AgainFound:
    """The point, or None, after how many Newton steps and rounds."""

    point: Point | None
    steps: int
    rounds: int


class AgainRounds:
    """The rounds from a start.

    Parameters
    ----------
    over : which layout of pairs. same : (I,) classes of servers of one price; it gives up as soon
        as some need another, `strays` (I,).
    """

    def __init__(
        self,
        question: AlphaQuestion,
        start: Start,
        pace: RoundsPace,
        over: Callable[[AlphaQuestion, Floats], Layout] = layout_of,
        same: Ints | None = None,
    ) -> None:
        self.same, self.strays = same, np.zeros(len(start.prices), dtype=bool)
        self.question, self.pace = question, pace
        inst, alpha = question.instance, question.alpha
        self.unit = start.share.sum(axis=1)
        self.layout = over(question, self.unit)
        # in the unit of the start's prices, in which they are numbers at any alpha
        log_w = question.log_w - start.log_unit
        self.w = np.exp(log_w + (1 - alpha) * np.log(self.unit))
        best = np.where(inst.eligible, question.score, 0.0).max(axis=1)
        self.limit = inst.limit * best / self.unit
        self.live = self.layout.rows
        self.money = np.where(self.live, start.prices * inst.pool, 0.0)
        self.mean = float(self.money.sum()) / max(int(self.live.sum()), 1)
        y = start.share / self.unit[:, None]
        self.y: Floats = y if isinstance(self.layout, GridLayout) else y[question.pairs]
        room = np.maximum(1.0 - self.layout.used(self.y), 0.0)
        self.room = np.where(self.live & (self.money <= 1e-9 * self.mean), room, 0.0)
        self.curvature = Curvature(self.layout)
        self.e: Floats | None = None
        self.steps = 0
        self.last: Taken | None = None
        cost = self.layout.cost(self.money)
        p = self.layout.least(cost)
        self.p = np.maximum(p, 1e-9 * float(np.median(p)))
        self.gain = self.layout.spread(self.p) - cost

    def run(self) -> AgainFound:
        """The rounds, until they are near enough or are given up."""
        number, error, before = 0, np.inf, np.inf
        while number < ROUNDS and not clock.over():
            number += 1
            taken = self._round(before)
            if taken is None:
                break
            self.y, self.p, self.gain = taken.z, taken.p, taken.gain
            error = self._error(taken)
            if error <= self.pace.enough or not error < 0.5 * before:
                break
            before = error
        useful = error <= USEFUL
        return AgainFound(self._point() if useful else None, self.steps, number)

    def _round(self, before: float) -> Taken | None:
        """One proximal problem; None if it was given up."""
        e, none = self._ease(), np.zeros(self.money.shape)
        users = UsersAgain(
            self.layout, self.question.alpha, self.w, self.limit, self.y, e, self.gain, self.p
        )
        give = 1.0 / (self.pace.delta * self.mean)
        if self.last is None:
            taken, dearer = users.take(none, np.zeros(len(self.p))), none
        else:
            found = self._predicted(users, self.last, give)
            if found is None:
                return None
            taken, dearer = found
        enough = INNER * min(before, 1e-3)
        while True:
            miss, room = self._miss(taken, dearer, give)
            if float(np.abs(miss).max()) <= max(enough, self.pace.enough):
                self.money, self.room = self.money + dearer, room
                self.last = taken
                return taken
            if self.steps >= self.pace.steps or self._hopeless(float(np.abs(miss).max())):
                return None
            rho = np.where(room > 0, give, LIMIT / self.mean)
            if not self.curvature.update(taken, e, rho):
                return None
            self.steps += 1
            moved = self._searched(users, taken, dearer, miss, give)
            if moved is None:
                return None
            taken, dearer = moved
            if self.same is not None and self._strayed(self.same, dearer):
                return None

    def _strayed(self, same: Ints, dearer: Floats) -> bool:
        """Whether money of rows (I, R) would change otherwise than that of others of a class."""
        change = dearer / self.money.sum(axis=1, keepdims=True)
        for each in np.flatnonzero(np.bincount(same) >= MANY_SERVERS):
            mine = np.flatnonzero(same == each)
            off = np.abs(change[mine] - np.median(change[mine], axis=0)).max(axis=1)
            self.strays[mine] = off > max(STRAY, FAR_OFF * float(np.median(off)))
        return bool(self.strays.any())

    def _hopeless(self, miss: float) -> bool:
        """Whether a cold answer is likely to be faster than going on."""
        if self.last is None:
            return self.steps >= self.pace.early and not miss < self.pace.hope
        return not miss < ASTRAY

    def _ease(self) -> Floats:
        """e over pairs: kept from round to round, so that H is too, but where a pair grew."""
        layout = self.layout
        e = np.maximum(self.y, ETA * layout.spread(layout.of_user(self.y)))
        e = e / (self.pace.delta * layout.spread(self.p)) * layout.mask
        if self.e is not None:
            e = np.where(e > GREW * self.e, e, self.e)
        self.e = e
        return e

    def _predicted(
        self, users: UsersAgain, last: Taken, give: float
    ) -> tuple[Taken, Floats] | None:
        """The first step of a round, along the pairs that the round before ended with."""
        layout = self.layout
        theta = np.where(last.held, users.e, 0.0)
        mass = layout.of_user(theta)
        away = theta * last.gain
        rise = -layout.of_user(away) / (mass + last.slope)
        z = last.z + away + theta * layout.spread(rise)
        free = self.room > 0
        room = np.where(free, self.room - self.money * give, 0.0)
        linear = Taken(z, last.held, last.gain, last.p + rise, last.x, last.slope, mass)
        if not self.curvature.update(linear, users.e, np.where(free, give, LIMIT / self.mean)):
            return None
        self.steps += 1
        miss = np.where(self.live, 1.0 - room - layout.used(z), 0.0)
        step = self.curvature.solve(-miss)
        rise = rise + layout.of_user(theta * layout.cost(step)) / (mass + last.slope)
        return users.take(step, np.maximum(rise, -0.9 * last.p)), step

    def _searched(
        self, users: UsersAgain, taken: Taken, dearer: Floats, miss: Floats, give: float
    ) -> tuple[Taken, Floats] | None:
        """The Newton step, shortened until the dual's slope along it has at least halved."""
        step = self.curvature.solve(-miss)
        rise = self.layout.of_user(np.where(taken.held, users.e, 0.0) * self.layout.cost(step))
        rise = rise / (taken.mass + taken.slope)
        slope = float((miss * step).sum())
        if not slope < 0:
            return None
        low, at_low, high, at_high, length = 0.0, slope, 0.0, 0.0, 1.0
        for _ in range(8):
            tried = dearer + length * step
            guess = taken.p - self.p + np.maximum(length * rise, -0.9 * taken.p)
            new = users.take(tried, guess)
            after = float((self._miss(new, tried, give)[0] * step).sum())
            if abs(after) <= 0.5 * abs(slope) or (after < 0 and high == 0.0):
                return new, tried
            if after < 0:
                low, at_low = length, after
            elif after > 0:
                high, at_high = length, after
            else:  # not a number
                return None
            part = -at_low / (at_high - at_low)
            length = low + (high - low) * min(max(part, 0.1), 0.9)
        return new, tried

    def _miss(self, taken: Taken, dearer: Floats, give: float) -> tuple[Floats, Floats]:
        """(1 - room - use, room) of the rows, where they cost so much more."""
        room = np.maximum(self.room - (self.money + dearer) * give, 0.0)
        room = np.where(self.live, room, 0.0)
        return np.where(self.live, 1.0 - room - self.layout.used(taken.z), 0.0), room

    def _error(self, taken: Taken) -> float:
        """The largest error of the optimality conditions, relative to each user's own share."""
        layout = self.layout
        # x is what is due at p; what is left is the money paid above the cheapest of the held pairs
        off = taken.gain * taken.held
        below_p = float((off / layout.spread(taken.p)).max())
        above = layout.of_user(taken.z * np.abs(off)) / (taken.p * taken.x)
        use = layout.used(taken.z)
        idle = float((np.maximum(self.money, 0.0) * np.maximum(1.0 - use, 0.0)).sum())
        over = float(np.where(self.live, use - 1.0, 0.0).max(initial=0.0))
        below = -float(self.money.min()) / self.mean
        found = max(
            float(above.max()) + max(below_p, 0.0), idle / float(self.money.sum()), over, below
        )
        return found if np.isfinite(found) else np.inf

    def _point(self) -> Point:
        if isinstance(self.layout, GridLayout):
            own, score = self.y * self.unit[:, None], self.question.score
            tasks = np.divide(own, score, out=np.zeros_like(own), where=self.layout.eligible)
        else:
            tasks = self.y * self.unit[self.question.pairs[0]] / self.question.share_per_task
        money = np.where(self.room > 0, 0.0, np.maximum(self.money, 0.0))
        limits = np.zeros(len(self.unit))
        limited = np.isfinite(self.limit)
        if limited.any():
            x = self.layout.of_user(self.y)
            cheapest = self.layout.least(self.layout.cost(money))
            rent = np.maximum(self.w * x**-self.question.alpha - cheapest, 0.0)
            at = limited & (x >= (1 - 1e-9) * self.limit)
            # money of the limit: its price per share, in units, times the share that it allows
            limits = np.where(at, rent * np.where(limited, self.limit, 1.0), 0.0)
        return Point(tasks, money, limits)
