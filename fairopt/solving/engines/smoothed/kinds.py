"""Who is what at present prices: users of one server, of ties many share, of ties few share.

Told anew whenever tau has fallen by `AGAIN`. A pair is near if its logarithm of cost is within
REACH tau of the user's cheapest: far pairs hold less than rounding until the next telling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.prices import Prices
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.single import Single
from fairopt.solving.engines.smoothed.smooth import Smooth, Sums
from fairopt.solving.engines.smoothed.users import Users

REACH = 60.0
"""a server further than this from the cheapest, in windows of tau, is left out"""
SHARED = 3.0
"""a user shares a tie if both servers are within this of its cheapest"""
MANY = 6.0
"""users of like money that must share a tie, for it to be smooth"""
APART = 0.01
"""difference of logarithms of scores that counts as one"""
SAME = 100.0
"""windows within which prices of servers are equal in the end"""
ALIKE = 1e3
"""windows within which the prices of servers of one group lie"""
PROBE = 4000
"""users on which the change of costs by a step is measured"""


class Kinds:
    """The kinds of all users at prices and tau; y and nu of users once sharp are kept."""

    def __init__(
        self, users: Users, prices: Prices, tau: float, mu: Floats | None, old: Kinds | None = None
    ) -> None:
        self.users, self.tau = users, tau
        self.sharp_at: Ints
        self.sharp: Sharp
        lam = prices.all
        near, held, money, squares = told(users, lam, tau, mu)
        few = rarely_shared(money, squares, lam, tau)
        in_reach = near.sum(axis=1)
        multi = np.flatnonzero(in_reach > 1)
        tied = near[multi].astype(np.float32)
        rare = ((tied @ few.astype(np.float32)) * tied).any(axis=1)
        rare &= ~held[multi] | (in_reach[multi] > 2)
        sharp = np.zeros(len(users), bool)
        sharp[multi[rare]] = True
        if old is not None and len(old.sharp_at):
            sharp[old.sharp_at] = True
            near[old.sharp_at] |= old.sharp.on
        self.prices = Prices.grouped(lam, grouped(lam, ~few, tau, ALIKE))
        self.sharp_at = np.flatnonzero(sharp)
        self.single_at = np.flatnonzero((in_reach == 1) & ~sharp)
        self.smooth_at = np.flatnonzero((in_reach > 1) & ~sharp)
        self.sharp = self._sharp(near, mu, old)
        self.server = near[self.single_at].argmax(axis=1)
        single = users.some(self.single_at, near[self.single_at])
        self.single = Single(single, self.server, len(lam))
        at = self.smooth_at
        self.smooth = Smooth(users.some(at, near[at]), None if mu is None else mu[at])
        every = max(1, len(at) // PROBE)
        at = at[::every]
        self.probe = Smooth(users.some(at, near[at]), None if mu is None else mu[at])

    def _sharp(self, near: Bools, mu: Floats | None, old: Kinds | None) -> Sharp:
        at = self.sharp_at
        users = self.users.some(at, near[at])
        found = Sharp(users, Smooth(users, None if mu is None else mu[at]), self.prices, self.tau)
        if old is not None and len(old.sharp_at):
            found.keep(np.isin(at, old.sharp_at), old.sharp)
        return found

    def sums(self, prices: Prices, tau: float) -> Sums:
        """Sums of the smooth users and of those of one server."""
        total = self.smooth.sums(prices, tau)
        total.add(self.single.sums(prices.all))
        return total

    def again(self, prices: Prices, tau: float) -> Kinds:
        """All users told apart at new prices; once sharp they stay sharp."""
        if self.users.limit is not None:
            for chunk in self.smooth.users.chunks():
                self.smooth.split(chunk, prices, tau)  # mu at the new prices
        return Kinds(self.users, prices, tau, self.limit_prices(prices), self)

    @property
    def smooth_users(self) -> int:
        """How many users are smooth."""
        return len(self.smooth_at)

    def change(self, prices: Floats, tau: float, step: Floats) -> float:
        """Largest change of a difference of log costs in use, in windows, by a step (I, R)."""
        return self.probe.change(Prices.apart(prices), tau, step) if self.smooth_users else 0.0

    def limit_prices(self, prices: Prices) -> Floats | None:
        """(N,) mu, or None without limits."""
        if self.users.limit is None:
            return None
        found = np.zeros(len(self.users))
        if self.smooth.mu is not None:
            found[self.smooth_at] = self.smooth.mu
        found[self.single_at] = self.single.tasks(prices.all)[1]
        found[self.sharp_at] = self.sharp.mu
        return found

    def tasks(self, prices: Prices, tau: float) -> Floats:
        """(N, I) tasks."""
        found = np.zeros(self.users.eligible.shape)
        found[self.single_at, self.server] = self.single.tasks(prices.all)[0]
        found[self.smooth_at] = self.smooth.tasks(prices, tau)
        found[self.sharp_at] = self.sharp.x
        return found


class Told(NamedTuple):
    """(N, I) near, (N,) held by a limit, (I, I) money and squares of money of who share each tie.

    Two servers of different scores are no tie to a user held by its limit: at any prices of
    resources the price of the limit makes them equal.
    """

    near: Bools
    held: Bools
    money: Floats
    squares: Floats


def told(users: Users, lam: Floats, tau: float, mu: Floats | None) -> Told:
    """What is near for whom at prices (I, R) and prices (N,) of limits."""
    size, servers = len(users), len(lam)
    near, held = np.empty((size, servers), bool), np.zeros(size, bool)
    money, squares = np.zeros((servers, servers)), np.zeros((servers, servers))
    power = 1 / users.alpha
    with np.errstate(all="ignore"):
        for chunk in users.chunks():
            # ratios to the cheapest, not logarithms, which would take most of the time
            cost = users.demand[chunk] @ lam.T
            if mu is not None:
                cost += mu[chunk, None]
            if users.log_score is not None:
                cost *= np.exp(-users.log_score[chunk])
            np.copyto(cost, np.inf, where=~users.eligible[chunk])
            least = cost.min(axis=1)
            near[chunk] = cost <= (least * np.exp(REACH * tau))[:, None]
            both = cost <= (least * np.exp(SHARED * tau))[:, None]
            if mu is not None and users.log_score is not None:
                at = np.arange(len(cost)), cost.argmin(axis=1)
                score = users.log_score[chunk]
                most = np.where(near[chunk], score, -np.inf).max(axis=1)
                apart = most - np.where(near[chunk], score, np.inf).min(axis=1) > APART
                rent = least * np.exp(score[at])
                held[chunk] = apart & (mu[chunk] > REACH * tau * rent)
                both[held[chunk] & (both.sum(axis=1) == 2)] = False
            log_least = np.log(least)
            paid = np.exp(users.log_w[chunk] * power + (1 - power) * log_least)[:, None] * both
            money += paid.T @ both
            squares += paid.T @ paid
    return Told(near, held, money, squares)


def rarely_shared(money: Floats, squares: Floats, lam: Floats, tau: float) -> Bools:
    """(I, I) which ties few users of like money share, but for those of servers equally dear.

    Their prices differ by so many windows, which stay as many while tau falls: such a tie never
    becomes a step.
    """
    few: Bools = money**2 / np.maximum(squares, 1e-300) < MANY
    np.fill_diagonal(few, False)
    label = grouped(lam, ~few, tau, SAME)
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
