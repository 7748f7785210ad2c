r"""Users with one server in reach: their tasks in closed form, without exponentials.

.. math:: x = \min(L, W^{1/\alpha} u^{1/\alpha - 1} a^{-1/\alpha}), \quad a = d \cdot \lambda,

and a price that rises changes them by -x / (alpha a) d_r, or not at all at the limit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.smooth import Sums
from fairopt.solving.engines.smoothed.users import UsersRead

MANY_ALIKE = 6.0
"""users of like money that must share a tie, for it to be smooth"""
SAME_WINDOWS = 100.0
"""windows within which prices of servers are equal in the end"""


def rarely_shared(money: Floats, squares: Floats, lam: Floats, tau: float) -> Bools:
    """(I, I) which ties few users of like money share, but for those of servers equally dear.

    Their prices differ by so many windows, which stay as many while tau falls: such a tie never
    becomes a step.
    """
    few: Bools = money**2 / np.maximum(squares, 1e-300) < MANY_ALIKE
    np.fill_diagonal(few, False)
    label = grouped(lam, ~few, tau, SAME_WINDOWS)
    found: Bools = few & (label[:, None] != label)
    return found


def grouped(lam: Floats, joined: Bools, tau: float, windows: float) -> Ints:
    """(I,) number of the group of each server: joined (I, I), with prices within some windows.

    A base far from the prices would cost the differences their digits.
    """
    apart = np.abs(lam[:, None] - lam).max(axis=2) / lam.max(axis=1)
    joined = joined & (apart < windows * tau)
    label = np.arange(len(joined))
    for i, k in zip(*np.nonzero(np.tril(joined, -1)), strict=True):
        label[label == label[i]] = label[k]
    found: Ints = np.unique(label, return_inverse=True)[1]
    return found


def changed(before: Floats, prices: Floats, apart: float) -> tuple[Floats, float]:
    """(R,) how far prices (I, R) moved at most, and by what part costs may have, if all others were
    so far out of reach."""
    return np.abs(prices - before).max(axis=0), min(0.1, apart)


def surely_quiet(before: Floats, most: Floats, little: float) -> bool:
    """Whether no cost can have changed by more than that: by no larger part than any price of its
    server did."""
    part = np.divide(most, before, out=np.full(before.shape, np.inf), where=before > 0)
    return bool(np.where(most > 0, part, 0.0).max() * 2.2 < little)


PIECE = 16_384
"""users at once"""


def _across(users: UsersRead) -> UsersRead:
    """The same users, the demand for each resource side by side: sums over users are then products
    of two vectors, which take half as long as those of narrow tables."""
    return replace(users, demand=np.asfortranarray(users.demand))


class Single:
    """Some users, sorted by their server (N,)."""

    def __init__(
        self,
        every: UsersRead,
        at: Ints,
        server: Ints,
        servers: int,
        lam: Floats | None = None,
        tau: float = 0.0,
    ) -> None:
        """at, server : (N,) of `every` who they are, and on which server each. lam, tau : prices
        (I, R) at which all other servers were out of reach, in windows."""
        self.lam, self.tau = lam, tau
        self.server = server
        self.order = np.argsort(server.astype(np.int16), kind="stable")  # by digits: few servers
        self.power = 1 / every.alpha
        none = np.zeros((len(at), 0), bool)
        self.users = users = _across(every.some(at[self.order], none))
        log_x = users.log_w * self.power
        if users.log_score is not None:
            own = users.log_score[np.arange(len(users)), server[self.order]]
            log_x = log_x + (self.power - 1) * own
        self.level = np.exp(log_x)
        self.first = np.searchsorted(server[self.order], np.arange(servers + 1))

    def __len__(self) -> int:
        return len(self.users)

    def sums(self, prices: Floats) -> Sums:
        """The sums of all users at prices (I, R)."""
        servers, resources = prices.shape
        total = Sums.zero(servers, resources)
        blocks = total.curvature.reshape(servers, resources, servers, resources)
        for i, piece in self._pieces():
            demand = self.users.demand[piece].T
            cost, tasks, free = self._bought(piece, prices[i])
            total.use[i] += demand @ tasks
            total.spent[i] += tasks @ cost
            slope = tasks / cost
            slope *= self.power
            if free is not None:
                slope *= free
                total.of_limits += float((tasks * self._mu(piece, cost, free)).sum())
            for r, one in enumerate(demand):
                blocks[i, r, i] += demand @ (slope * one)
        return total

    def quiet(self, prices: Floats, reach: float, tau: float) -> Bools:
        """(N,) in the order given: whose other servers cannot be in reach at prices (I, R).

        A cost changes by at most d . most, and all were at least what is paid: so a logarithm of a
        ratio of costs changes by at most 2.2 times that part, if it is small.
        """
        found = np.zeros(len(self.users), bool)
        if self.lam is None:
            return found
        most, little = changed(self.lam, prices, reach * (self.tau - tau))
        if surely_quiet(self.lam, most, little):
            return ~found
        for i, piece in self._pieces():
            demand = self.users.demand[piece].T
            part = (most @ demand) / (self.lam[i] @ demand)
            found[self.order[piece]] = part * 2.2 < little
        return found

    def kept(self, which: Bools) -> Single:
        """The users of a mask (N,) in the order given."""
        found = Single.__new__(Single)
        found.lam, found.tau, found.power = self.lam, self.tau, self.power
        mine = which[self.order]
        found.server = self.server[which]
        found.order = (np.cumsum(which) - 1)[self.order[mine]]
        found.users = _across(self.users.some(np.flatnonzero(mine)))
        found.level = self.level[mine]
        found.first = np.searchsorted(found.server[found.order], np.arange(len(self.first)))
        return found

    def tasks(self, prices: Floats) -> tuple[Floats, Floats]:
        """(N,) tasks of each user on its server, and price of its limit, in the order given."""
        found, mu = np.empty(len(self.users)), np.zeros(len(self.users))
        for i, piece in self._pieces():
            cost, tasks, free = self._bought(piece, prices[i])
            found[self.order[piece]] = tasks
            if free is not None:
                mu[self.order[piece]] = self._mu(piece, cost, free)
        return found, mu

    def fill(self, found: Floats, at: Ints, prices: Floats) -> None:
        """Tasks into a table (N, I) of all, of whom these are some."""
        found[at, self.server] = self.tasks(prices)[0]

    def _mu(self, piece: slice, cost: Floats, free: Bools) -> Floats:
        """(n,) price of the limit: at it, cost + mu is what the last task is worth."""
        assert self.users.limit is not None
        worth = (self.level[piece] / self.users.limit[piece]) ** self.users.alpha
        found: Floats = np.where(free, 0.0, np.maximum(worth - cost, 0.0))
        return found

    def _bought(self, piece: slice, price: Floats) -> tuple[Floats, Floats, Bools | None]:
        """Cost of a task, tasks, and whether the limit leaves them free, of users of a server."""
        cost = price @ self.users.demand[piece].T
        tasks = self.level[piece] / (cost if self.power == 1 else cost**self.power)
        if self.users.limit is None:
            return cost, tasks, None
        free = tasks < self.users.limit[piece]
        return cost, np.where(free, tasks, self.users.limit[piece]), free

    def _pieces(self) -> list[tuple[int, slice]]:
        return [
            (i, slice(a, min(int(self.first[i + 1]), a + PIECE)))
            for i in range(len(self.first) - 1)
            for a in range(int(self.first[i]), int(self.first[i + 1]), PIECE)
        ]
