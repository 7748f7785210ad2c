r"""The last digits: the end of the path, without what is of the size of tau.

At the end of the path a sharp user has some of everything, x nu = tau p s / k also where nu is
large, and a full row keeps the rest tau M / lam. With N users such errors add up, while the money
of the lightest user stays what it is. Here everybody is on one side: a sharp user has tasks only
where its money there, as a part of all money, is more than nu / p, and rows are full or their
prices of the size of tau. Unknown are the prices of full rows, and what users of more than one
server move from one to another, y, with

.. math:: use(\lambda) + A' y = c \text{ on full rows}, \qquad A \lambda = 0,

a row of A for each y: the difference of costs, demand on the one server minus demand on the other.
Newton solves both; where a y or a price turns negative, or a server is cheaper than those in use,
it goes to the other side. Servers of one group, equally dear in the end, are divided by differences
of prices in windows of tau, which stay as many while tau falls to `TINY`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fairopt import clock
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.path import Where
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.smooth import Sums

TINY = 1e-15
"""tau of users of servers equally dear: what it leaves is below the rounding of sums"""
ROUNDS, REPAIRS = 7, 25
"""iterations at one tau, and changes of sides"""
MANY_TIES = 4
"""times the number of rows, beyond which ties are too many to be told"""
EXACT, GOOD = 2e-15, 1e-11
"""miss of a full row that is rounding, and largest that is taken"""
RANK = 1e-6
"""singular value, beside the largest, of ties that depend on others"""
FURTHEST = 1e-5
"""part of a price by which a step to the corner may change it"""
CHEAPER = 1e-12
"""part by which a server must be cheaper than those in use, to be used"""


def corner(now: Where, capacity: Floats) -> Where | None:
    """The place at the corner that the end of the path belongs to; None where none is found."""
    tau, prices = now.tau, now.prices
    lam = prices.all
    money = lam * capacity
    full = now.free / capacity < money / money.sum(axis=1)[:, None]
    sides = _Sides.of(now.told.sharp, prices.label, full, float(money.sum()))
    begun = now.told.sums(prices, tau)
    ended = None
    if len(sides.y) > MANY_TIES * capacity.size:
        return None  # servers equally dear that the path has not told
    while len(sides.y) > capacity.size:
        sides = sides.without(int(sides.sure.argmin()))
    for _ in clock.steps(REPAIRS):
        ended = _newton(now, capacity, sides, prices, tau, begun)
        other = sides.less_sure() if ended is None else ended.sides.changed(ended.prices)
        if other is None:
            break
        sides = other
    else:
        return None
    if ended is None:
        return None
    prices = _nearer(ended.prices, ended.sides.full, TINY / tau)
    last = _newton(now, capacity, ended.sides, prices, TINY, None, (ended.matrix, tau))
    if last is None or last.sides.changed(last.prices) is not None:
        return _place(now, ended, tau)  # only those who are divided smoothly are off, by tau
    return _place(now, last, TINY)


def _place(now: Where, ended: _Ended, tau: float) -> Where:
    x, mu = ended.sides.tasks(ended.prices.all)
    sharp = now.told.sharp
    told: Any = now.told
    told = replace(told, sharp=Sharp.of_state(sharp.users, {**sharp.state(), "x": x, "mu": mu}))
    return Where(told, ended.prices, now.free, tau)


def _nearer(prices: ServerPrices, full: Bools, times: float) -> ServerPrices:
    """The prices at a smaller tau: of rows that are not full, and differences in a group, which are
    of the size of tau, less by that factor."""
    paid = prices.common(full.astype(np.float64)) > 0
    heads = prices.heads * np.where(paid, 1.0, times)
    return replace(prices, heads=heads, off=prices.off * times)


@dataclass(frozen=True, eq=False)
class _Sides:
    """Who is where: of S sharp users.

    Parameters
    ----------
    home : (S,) the server that takes what a user wants more or less.
    held : (S, I) tasks that stay: on other servers of a group in which the user has more.
    user, to : (T,) users of several groups, and the server moved to from home; y (T,) how much.
    sure : (T,) how clearly they use that server: the money there, as a part of all money, over
        nu / p.
    full : (I, R) rows that are full.
    """

    sharp: Sharp
    label: Ints
    full: Bools
    home: Ints
    held: Floats
    user: Ints
    to: Ints
    y: Floats
    sure: Floats

    @classmethod
    def of(cls, sharp: Sharp, label: Ints, full: Bools, money: float) -> _Sides:
        """The sides at the end of the path; money : of all users."""
        # a user moves prices by about its part of all money: that much dearer is out of its reach
        clear = sharp.x / sharp.nu * (sharp.p**2 / money)[:, None]
        used = sharp.on & (clear > 1)
        x = np.where(used, sharp.x, 0.0)
        home = x.argmax(axis=1)
        n = np.arange(len(home))
        x[n, home] = 0.0
        held = np.where(label == label[home][:, None], x, 0.0)
        left, user, to = x - held, [], []
        for group in range(int(label.max()) + 1):
            inside = np.where(label == group, left, 0.0)
            there = np.flatnonzero(inside.max(axis=1, initial=0.0) > 0)
            server = inside[there].argmax(axis=1)
            user.append(there)
            to.append(server)
            inside[there, server] = 0.0
            held += inside
        users, servers = np.concatenate(user), np.concatenate(to)
        sure = clear[users, servers]
        return cls(sharp, label, full, home, held, users, servers, x[users, servers], sure)

    def total(self, lam: Floats) -> tuple[Floats, Floats, Bools]:
        """(S,) each: cost of a task at home, tasks, and whether a limit leaves them free."""
        users = self.sharp.users
        cost = (users.demand * lam[self.home]).sum(axis=1)
        tasks = np.exp((users.log_w - np.log(cost)) / users.alpha)
        if users.limit is None:
            return cost, tasks, np.ones(len(cost), bool)
        return cost, np.minimum(tasks, users.limit), tasks < users.limit

    def tasks(self, lam: Floats) -> tuple[Floats, Floats]:
        """(S, I) tasks, and (S,) prices of limits."""
        users, (cost, total, free) = self.sharp.users, self.total(lam)
        x = self.held.copy()
        np.add.at(x, (self.user, self.to), self.y)
        x[np.arange(len(x)), self.home] += total - x.sum(axis=1)
        mu = np.where(free, 0.0, np.exp(users.log_w - users.alpha * np.log(total)) - cost)
        return x, np.maximum(mu, 0.0)

    def curvature(self, lam: Floats) -> Floats:
        """(I R, I R) minus the derivative of use by prices."""
        users, (cost, total, free) = self.sharp.users, self.total(lam)
        servers, resources = lam.shape
        found = np.zeros((servers, resources, servers, resources))
        slope = np.where(free, total / (users.alpha * cost), 0.0)
        for i in range(servers):
            demand = users.demand[self.home == i]
            found[i, :, i, :] = (demand * slope[self.home == i, None]).T @ demand
        return found.reshape(servers * resources, servers * resources)

    def ties(self, shape: tuple[int, ...]) -> Floats:
        """(T, I R) A."""
        found = np.zeros((len(self.user), *shape))
        t, demand = np.arange(len(self.user)), self.sharp.users.demand[self.user]
        found[t, self.to] = demand
        found[t, self.home[self.user]] = -demand
        return found.reshape(len(self.user), shape[0] * shape[1])

    def changed(self, prices: ServerPrices) -> _Sides | None:
        """With one on the other side who is on the wrong one; None if nobody is."""
        lam = prices.all
        x, _ = self.tasks(lam)
        worst = int(self.y.argmin()) if len(self.y) else 0
        if len(self.y) and self.y[worst] < 0:
            return self.without(worst)
        n = np.arange(len(x))
        home = x[n, self.home]
        if len(home) and home.min() < 0:
            return self._moved_home(int(home.argmin()))
        cost = self.sharp.users.demand @ lam.T
        own = cost[n, self.home]
        dearer = np.abs(cost[self.user, self.to] / own[self.user] - 1)
        if len(dearer) and dearer.max() > CHEAPER:
            return self.without(int(dearer.argmax()))
        apart = self.sharp.on & (self.label != self.label[self.home][:, None])
        saved = np.where(apart, 1 - cost / own[:, None], 0.0)
        saved[self.user, self.to] = 0.0
        if saved.size and saved.max() > CHEAPER:
            one, to = np.unravel_index(int(saved.argmax()), saved.shape)
            user, server = np.append(self.user, one), np.append(self.to, to)
            y, sure = np.append(self.y, 0.0), np.append(self.sure, np.inf)
            return replace(self, user=user, to=server, y=y, sure=sure)
        if (lam[self.full] < 0).any():
            return replace(self, full=self.full & (lam >= 0))
        return None

    def without(self, t: int) -> _Sides:
        keep = np.arange(len(self.y)) != t
        return replace(
            self, user=self.user[keep], to=self.to[keep], y=self.y[keep], sure=self.sure[keep]
        )

    def less_sure(self) -> _Sides | None:
        """Without the use of a server that is least sure, where there are too many."""
        return self.without(int(self.sure.argmin())) if len(self.y) else None

    def _moved_home(self, n: int) -> _Sides | None:
        """User n has nothing at home: the first server that it moved to is its home."""
        mine = np.flatnonzero(self.user == n)
        if not len(mine):
            held = self.held.copy()
            held[n] = 0.0
            return replace(self, held=held) if (self.held[n] > 0).any() else None
        home = self.home.copy()
        home[n] = self.to[mine[0]]
        return replace(self.without(int(mine[0])), home=home)


class _Ended(NamedTuple):
    """Prices and sides at which full rows are full and ties are ties, and the last curvature."""

    prices: ServerPrices
    sides: _Sides
    matrix: Floats


def _newton(
    now: Where,
    capacity: Floats,
    sides: _Sides,
    prices: ServerPrices,
    tau: float,
    begun: Sums | None = None,
    frozen: tuple[Floats, float] | None = None,
) -> _Ended | None:
    """The end of Newton's iterations; None if they do not lead to full rows, or further than the
    end of the path can be from the corner, which no pass needs to confirm.

    begun : the sums at these prices, if they are known.
    frozen : a curvature and its tau, to be used as it is: at `TINY` its digits would be lost.
    """
    full, demand = sides.full.ravel(), sides.sharp.users.demand
    best, found = np.inf, None
    for _ in range(ROUNDS):
        lam = prices.all
        if not (lam[sides.full] > 0).all():
            break
        sums, begun = begun or now.told.sums(prices, tau), None
        short = capacity - sums.use - sides.tasks(lam)[0].T @ demand
        miss = float(np.abs(short / capacity)[sides.full].max(initial=0.0))
        if not miss < best:
            break
        matrix = sums.curvature + sides.curvature(lam) if frozen is None else frozen[0]
        slow = miss > 0.5 * best
        best, found = miss, _Ended(prices, sides, matrix)
        if slow or best < EXACT:
            break
        ties = sides.ties(capacity.shape)[:, full]
        step, moved = _step(
            matrix[np.ix_(full, full)], ties, short.ravel()[full], ties @ lam.ravel()[full]
        )
        change = np.zeros(capacity.shape)
        change.ravel()[full] = step
        if not (np.abs(change) <= FURTHEST * lam).all():
            break
        prices = _stepped(prices, change, frozen, tau)
        sides = replace(sides, y=sides.y + moved)
    return found if best < GOOD else None


def _step(matrix: Floats, ties: Floats, short: Floats, apart: Floats) -> tuple[Floats, Floats]:
    """Changes of prices and of y: H dlam - A' dy = -short, A dlam = -apart.

    Ties may be more than prices: of A what is independent counts, and y changes as little as
    possible.
    """
    scale = 1 / np.sqrt(np.diag(matrix))
    rows = ties * scale
    size = 1 / np.maximum(np.sqrt((rows**2).sum(axis=1)), 1e-300)
    left, value, right = np.linalg.svd(rows * size[:, None], full_matrices=False)
    rank = int((value > RANK * value.max(initial=0.0)).sum())
    left, value, right = left[:, :rank], value[:rank], right[:rank]
    n = len(matrix)
    whole = np.zeros((n + rank, n + rank))
    whole[:n, :n] = matrix * scale[:, None] * scale
    whole[:n, n:], whole[n:, :n] = right.T, right
    whole[np.arange(n), np.arange(n)] += 1e-15
    wanted = np.concatenate([-short * scale, -(left.T @ (apart * size)) / value])
    found = np.linalg.solve(whole, wanted)
    found += np.linalg.solve(whole, wanted - whole @ found)
    return found[:n] * scale, -(left @ (found[n:] / value)) * size


def _stepped(
    prices: ServerPrices, change: Floats, frozen: tuple[Floats, float] | None, tau: float
) -> ServerPrices:
    """Prices after a step; with a curvature of another tau, differences in a group in windows."""
    if frozen is None:
        return prices.moved(change)
    common = prices.common(change)
    less = prices.within(change) * (tau / frozen[1])
    return replace(prices, heads=prices.heads + common, off=prices.off + less)
