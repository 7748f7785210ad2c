r"""The optimality conditions of alpha-fairness over all rules: unknowns, errors, products.

.. math:: \max \sum_n W_n g_\alpha(s_n - b_n), \quad A z + w = r, \quad g^T z + l = 1,
          \quad e z + o = 1, \quad s - f = \sigma, \quad s = S z

z, w, l, o, f are not negative, with the duals dear, price, rent, own and nu. The equation of a
value, W (s - b)^-alpha, is taken in logarithms, so that steep alpha needs no more steps. What goes
to zero together is measured in each user's own money, value times share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.frame import Frame

LIGHTEST = 1e-280
"""least money of a user, in that of the richest"""


class Parts(NamedTuple):
    """Views of one array of all unknowns: what is not negative, its duals, shares and values.

    z, dear : (columns,). w, price : (m,). room, rent : of limits. left, own : of columns bounded
    alone. above, nu : of floors. share : (N,) s - b. value : (N,) marginal; 1 of who counts not.
    """

    z: Floats
    w: Floats
    room: Floats
    left: Floats
    above: Floats
    dear: Floats
    price: Floats
    rent: Floats
    own: Floats
    nu: Floats
    share: Floats
    value: Floats


class Errors(NamedTuple):
    """What the conditions miss. share, cost, used : what users hold, what columns cost at these
    prices, what rows are used. pays : (N,) value and price of the floor. money : (N,) of each user;
    whole, of all. The rest: of columns, rows, limits, lone columns, shares, floors and values."""

    share: Floats
    cost: Floats
    used: Floats
    pays: Floats
    money: Floats
    whole: float
    columns: Floats
    rows: Floats
    limits: Floats
    lone: Floats
    shares: Floats
    floors: Floats
    curve: Floats


class Conditions:
    """The conditions of one question; alpha and log_w change on the way (`weights`).

    Parameters
    ----------
    floor : (N,) in units of `unit`. added : whether shares count above floors. active : (N,) who
        counts; others keep their floors.
    """

    def __init__(self, frame: Frame, floor: Floats, added: bool, active: Bools) -> None:
        self.frame, self.active = frame, active
        self.base = np.where(active & added, floor, 0.0)
        self.floor = floor
        self.floored = np.flatnonzero((floor > 0) & ~(active & added))
        self.limited = np.flatnonzero(frame.limited)
        first = [frame.columns, frame.m, len(self.limited), len(frame.place), len(self.floored)]
        self.pairs = sum(first)
        ends = np.cumsum([*first, *first, frame.users, frame.users]).tolist()
        self.slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.alpha, self.log_w = 1.0, np.zeros(frame.users)

    def parts(self, state: Floats) -> Parts:
        """Views of a state."""
        return Parts(*(state[part] for part in self.slices))

    def of_users(self, some: Floats, which: str) -> Floats:
        """(N,) what is known of `limited` or `floored` users alone; 0 of others."""
        found = np.zeros(self.frame.users)
        found[getattr(self, which)] = some
        return found

    def cost(self, s: Parts) -> Floats:
        """(columns,) what columns cost at the prices of rows and of lone columns."""
        cost = np.asarray(self.frame.at @ s.price)
        np.add.at(cost, self.frame.place, self.frame.by * s.own)
        return cost

    def errors(self, state: Floats) -> Errors:
        """What a state misses."""
        s, frame, active = self.parts(state), self.frame, self.active
        share, cost, used = frame.of(s.z), self.cost(s), np.asarray(frame.a @ s.z)
        pays = np.where(active, s.value, 0.0)
        pays[self.floored] += s.nu
        columns = cost - frame.to(pays) - s.dear
        if len(self.limited):
            columns = columns + frame.g * frame.to(self.of_users(s.rent, "limited"))
        money = pays * np.maximum(share, 1e-300)
        whole = float(money.sum())
        money = np.where(money > 0, money, whole / frame.users)
        log_s, log_v = (np.log(np.where(active, part, 1.0)) for part in (s.share, s.value))
        return Errors(
            share,
            cost,
            used,
            pays,
            np.maximum(money, LIGHTEST * money.max()),
            whole,
            columns,
            frame.rhs - used - s.w,
            1 - frame.of(frame.g * s.z)[self.limited] - s.room,
            1 - frame.by * s.z[frame.place] - s.left,
            np.where(active, share - self.base - s.share, 0.0),
            (share - self.floor)[self.floored] - s.above,
            np.where(active, log_v + self.alpha * log_s - self.log_w, 0.0),
        )

    def products(self, state: Floats) -> Floats:
        """(pairs,) of what goes to zero together."""
        return np.asarray(state[: self.pairs] * state[self.pairs : 2 * self.pairs])

    def largest(self, state: Floats, e: Errors) -> float:
        """The largest error, each in its own measure."""
        frame = self.frame
        if not e.whole > 0:
            return np.inf
        products = self.products(state)
        dual = np.abs(e.columns) * state[: frame.columns]
        each = frame.of(dual + products[: frame.columns]) / e.money
        held = np.where(self.active, np.maximum(e.share, 1e-300), 1.0)
        parts = [
            each.max(),
            products.sum() / e.whole,
            dual.sum() / e.whole,
            np.abs(e.rows).max(),
            np.abs(e.curve).max() / max(1.0, self.alpha),
            (np.abs(e.shares) / held).max(),
            np.abs(e.limits).max(initial=0.0),
            np.abs(e.lone).max(initial=0.0),
            (np.abs(e.floors) / self.floor[self.floored]).max(initial=0.0),
        ]
        return float(np.max(parts))  # nan where any is

    def measure(self, state: Floats, e: Errors) -> Floats:
        """(pairs,) what products are measured in: the user's money; of a row, the mean of its
        users' by what they take."""
        frame = self.frame
        z, mean = state[: frame.columns], e.whole / frame.users
        own = np.full(frame.columns, mean)
        own[: frame.count] = e.money[frame.owner]
        taken, down = frame.size_of_a @ z, frame.size_of_a @ (z / own)
        rows = np.where(down > 0, taken / np.where(down > 0, down, 1.0), mean)
        parts = [own, rows, e.money[self.limited], own[frame.place], e.money[self.floored]]
        return np.concatenate(parts)


__all__ = ["Conditions", "Errors", "Parts"]
