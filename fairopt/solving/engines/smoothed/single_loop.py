"""Users with one server in reach, summed by compiled loops where they stand: what `Single` does for
users without limits and scores, with none of them copied or sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairopt.fast import loop
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.passes import PIECE
from fairopt.solving.engines.smoothed.single import changed, surely_quiet
from fairopt.solving.engines.smoothed.smooth import Sums
from fairopt.solving.engines.smoothed.users import UsersRead


class SingleRead:
    """Some of `every`, who they are (N,) and each one's server (N,), as `Single` has them."""

    def __init__(
        self,
        every: UsersRead,
        at: Ints,
        server: NDArray[np.int16],
        lam: Floats | None = None,
        tau: float = 0.0,
    ) -> None:
        self.every, self.at, self.server, self.lam, self.tau = every, at, server, lam, tau

    def __len__(self) -> int:
        return len(self.at)

    def sums(self, prices: Floats) -> Sums:
        """The sums of all users at prices (I, R)."""
        servers, resources = prices.shape
        total = Sums.zero(servers, resources)
        slope = np.zeros((servers, resources, resources))
        loop(_bought)(*self._read(prices), self.every.alpha, total.use, total.spent, slope)
        slope += np.triu(slope, 1).transpose(0, 2, 1)
        blocks = total.curvature.reshape(servers, resources, servers, resources)
        i = np.arange(servers)
        blocks[i, :, i] += slope
        return total

    def _read(self, prices: Floats) -> tuple[Floats, Floats, Floats, Ints, NDArray[np.int16]]:
        """What loops read."""
        every = self.every
        return np.ascontiguousarray(prices), every.demand, every.level, self.at, self.server

    def quiet(self, prices: Floats, reach: float, tau: float) -> Bools:
        """(N,) whose other servers cannot be in reach at prices (I, R): `Single.quiet`."""
        if self.lam is None:
            return np.zeros(len(self), bool)
        most, little = changed(self.lam, prices, reach * (self.tau - tau))
        if surely_quiet(self.lam, most, little):
            return np.ones(len(self), bool)
        found = np.zeros(len(self), bool)
        loop(_quiet)(*self._read(self.lam), most, little / 2.2, found)
        return found

    def kept(self, which: Bools) -> SingleRead:
        """The users of a mask (N,)."""
        return SingleRead(self.every, self.at[which], self.server[which], self.lam, self.tau)

    def fill(self, found: Floats, at: Ints, prices: Floats) -> None:
        """Tasks into a table (N, I) of all, of whom these are some."""
        loop(_filled)(*self._read(prices), self.every.alpha, at, found)

    def tasks(self, prices: Floats) -> tuple[Floats, Floats]:
        """(N,) tasks of each user on its server, and price of its limit, which is none."""
        found = np.zeros((len(self), len(prices)))
        self.fill(found, np.arange(len(self)), prices)
        return found.sum(axis=1), np.zeros(len(self))


def _bought(  # type: ignore[no-untyped-def]
    prices, demand, level, at, server, alpha, use, spent, slope
):
    """Into use, spent and slope (of r <= t)."""
    servers, resources = prices.shape
    power = 1 / alpha
    my_use, my_spent, my_slope = np.zeros(use.shape), np.zeros(servers), np.zeros(slope.shape)
    for start in range(0, len(at), PIECE):
        for k in range(start, min(len(at), start + PIECE)):
            n, i = at[k], server[k]
            cost = 0.0
            for r in range(resources):
                cost += prices[i, r] * demand[n, r]
            x = level[n] / (cost if alpha == 1 else cost**power)
            my_spent[i] += x * cost
            each = power * x / cost
            for r in range(resources):
                my_use[i, r] += x * demand[n, r]
                for t in range(r, resources):
                    my_slope[i, r, t] += each * demand[n, r] * demand[n, t]
        use += my_use
        spent += my_spent
        slope += my_slope
        my_use[:] = 0.0
        my_spent[:] = 0.0
        my_slope[:] = 0.0


def _filled(prices, demand, level, at, server, alpha, place, found):  # type: ignore[no-untyped-def]
    """Into found (N, I)."""
    for k in range(len(at)):
        n, i = at[k], server[k]
        cost = 0.0
        for r in range(prices.shape[1]):
            cost += prices[i, r] * demand[n, r]
        found[place[k], i] = level[n] / (cost if alpha == 1 else cost ** (1 / alpha))


def _quiet(prices, demand, level, at, server, most, part, found):  # type: ignore[no-untyped-def]
    """Into found (N,)."""
    resources = prices.shape[1]
    for k in range(len(at)):
        cost, change = 0.0, 0.0
        for r in range(resources):
            cost += prices[server[k], r] * demand[at[k], r]
            change += most[r] * demand[at[k], r]
        found[k] = change < part * cost
