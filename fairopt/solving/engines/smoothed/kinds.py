"""Who is what at present prices: users of one server, of ties many share, of ties few share.

Told anew whenever tau has fallen by `AGAIN`. A pair is near if its logarithm of cost is within
REACH tau of the user's cheapest: far pairs hold less than rounding until the next telling.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.rough import LEAST_HALF, REACH, TIMES, Rough, smooth_sums
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.single import SAME_WINDOWS, Single, grouped, rarely_shared
from fairopt.solving.engines.smoothed.smooth import Smooth, Sums
from fairopt.solving.engines.smoothed.sway import swaying
from fairopt.solving.engines.smoothed.users import UsersRead, picked

if TYPE_CHECKING:
    from fairopt.solving.engines.smoothed.single_loop import SingleRead

SHARED = 3.0
"""a user shares a tie if both servers are within this of its cheapest"""
APART = 0.01
"""difference of logarithms of scores that counts as one"""
ROUNDED = 1e-7
"""tau below which the curvature is not known to the digits that would tell who sways a tie of
servers that are equally dear in the end"""
GROWN = 0.3
"""users of one server new since the others were settled, as a part of those, that are settled
too"""
ALIKE = 1e3
"""windows within which the prices of servers of one group lie"""
PROBE = 2000
"""users on which the change of costs by a step is measured"""


Settled = tuple[tuple[Ints, "Single | SingleRead"], ...]


class Kinds:
    """The kinds of all users at prices and tau; y and nu of users once sharp are kept.

    Users of one server whose other servers are too dear for the prices to have changed that since
    are not told again: `settled`, some and where they are, as they came.
    """

    def __init__(
        self,
        users: UsersRead,
        prices: ServerPrices,
        tau: float,
        mu: Floats | None,
        old: Kinds | None = None,
        inverse: Floats | None = None,
        wary: bool = False,
    ) -> None:
        self.users, self.tau, self.wary = users, tau, wary
        self.rough: Rough | None = None
        self.same = 0
        self.sharp_at: Ints
        self.sharp: Sharp
        self.settled: Settled
        self.rest: Ints
        self.part: UsersRead
        self.smooth: Smooth
        self.probe: Smooth
        self.settled = () if old is None else _quiet(old.settled, prices.all, tau)
        lam, rest = prices.all, np.arange(len(users))
        part, part_mu = users, mu
        if self.settled:
            part_mu = None  # with limits nobody is settled
            rest = np.delete(rest, self.settled_at)
            same = old is not None and np.array_equal(rest, old.rest)
            part = old.part if old is not None and same else users.some(rest)
        self.rest, self.part = rest, part
        found = told(part, lam, tau, part_mu)
        near, few = found.near, rarely_shared(found.money, found.squares, lam, tau)
        in_reach = found.in_reach
        sharp = np.zeros(len(part), bool)
        if inverse is not None:
            sharp = swaying_of(part, found, few, lam, tau, part_mu, inverse, wary)
        if old is not None and len(old.sharp_at):
            at = np.searchsorted(rest, old.sharp_at)
            sharp[at] = True
            near[at] |= old.sharp.on
        self.prices = ServerPrices.grouped(lam, grouped(lam, ~few, tau, ALIKE))
        self.label = grouped(lam, ~few, tau, SAME_WINDOWS)
        self.sharp_at = rest[sharp]
        self.sharp = self._sharp(near[sharp], mu, old)
        one = np.flatnonzero((in_reach == 1) & ~sharp)
        server = found.first[one]
        if len(one) > GROWN * (len(users) - len(rest)) and settles(users):
            new = rest[one], _single(part, one, server, lam, tau)
            self.settled = *self.settled, new
            one, server = one[:0], server[:0]
        self.single_at = rest[one]
        self.single = _single(part, one, server, lam, tau)
        many = np.flatnonzero((in_reach > 1) & ~sharp)
        self.smooth_at = rest[many]
        own = picked(near, many)
        if old is not None and mu is None and old.smooth_is(self.smooth_at, own):
            self.smooth, self.probe = old.smooth, old.probe
            if np.array_equal(self.sharp_at, old.sharp_at):
                self.rough, self.same = old.rough, old.same + 1
            return
        smooth, mu = part.some(many, own), None if mu is None else mu[self.smooth_at]
        self.smooth = Smooth(smooth, mu)
        every = slice(None, None, max(1, len(many) // PROBE))
        self.probe = Smooth(smooth.some(every), None if mu is None else mu[every])

    def smooth_is(self, at: Ints, near: Bools) -> bool:
        """Whether these are the smooth users, with these servers near."""
        same = np.array_equal(at, self.smooth_at)
        return same and np.array_equal(near, self.smooth.users.eligible)

    def _sharp(self, near: Bools, mu: Floats | None, old: Kinds | None) -> Sharp:
        at = self.sharp_at
        users = self.users.some(at, near)
        found = Sharp(users, Smooth(users, None if mu is None else mu[at]), self.prices, self.tau)
        if old is not None and len(old.sharp_at):
            known = np.isin(at, old.sharp_at)
            found.keep(known, old.sharp, self.prices.all, self.tau)
        return found

    def sums(self, prices: ServerPrices, tau: float) -> Sums:
        """Sums of the smooth users and of those of one server."""
        smooth, total = smooth_sums(self.smooth, prices, tau), Sums.zero(*prices.off.shape)
        for _, single in self._singles():
            if len(single):
                total.add(single.sums(prices.all))
        if self.smooth_users > TIMES * LEAST_HALF:
            one = copy.deepcopy(total)
            self.rough = Rough(self.smooth, self.label, prices, tau, smooth, one)
        total.add(smooth)
        return total

    def roughly(self, prices: ServerPrices, tau: float) -> tuple[Sums, Floats] | None:
        """The same from a part of the users, and how wrong use may be, if they were summed."""
        return None if self.rough is None else self.rough.at(prices, tau)

    def again(self, prices: ServerPrices, tau: float, inverse: Floats) -> Kinds:
        """All users told apart at new prices; once sharp they stay sharp."""
        if self.users.limit is not None:
            for chunk in self.smooth.users.chunks():
                self.smooth.split(chunk, prices, tau)  # mu at the new prices
        return Kinds(self.users, prices, tau, self.limit_prices(prices), self, inverse, self.wary)

    def _singles(self) -> Settled:
        return *self.settled, (self.single_at, self.single)

    @property
    def settled_at(self) -> Ints:
        """Where users are who are settled."""
        return np.concatenate([at for at, _ in self.settled] or [np.zeros(0, np.int64)])

    @property
    def smooth_users(self) -> int:
        """How many users are smooth."""
        return len(self.smooth_at)

    def change(self, prices: Floats, tau: float, step: Floats) -> float:
        """Largest change of a difference of log costs in use, in windows, by a step (I, R)."""
        return (
            self.probe.change(ServerPrices.apart(prices), tau, step) if self.smooth_users else 0.0
        )

    def limit_prices(self, prices: ServerPrices) -> Floats | None:
        """(N,) mu, or None without limits."""
        if self.users.limit is None:
            return None
        found = np.zeros(len(self.users))
        if self.smooth.mu is not None:
            found[self.smooth_at] = self.smooth.mu
        for at, single in self._singles():
            found[at] = single.tasks(prices.all)[1]
        found[self.sharp_at] = self.sharp.mu
        return found

    def tasks(self, prices: ServerPrices, tau: float) -> Floats:
        """(N, I) tasks."""
        found = np.zeros(self.users.eligible.shape)
        for at, single in self._singles():
            single.fill(found, at, prices.all)
        found[self.smooth_at] = self.smooth.tasks(prices, tau)
        found[self.sharp_at] = self.sharp.x
        return found


def _single(
    users: UsersRead, at: Ints, server: NDArray[np.int16], lam: Floats, tau: float
) -> Single | SingleRead:
    """Some users, each on its server, told so at prices (I, R) and tau."""
    if users.compiled and settles(users):
        from fairopt.solving.engines.smoothed.single_loop import SingleRead  # loads the compiler

        return SingleRead(users, at, server, lam, tau)
    return Single(users, at, server.astype(np.int64), len(lam), lam, tau)


def settles(users: UsersRead) -> bool:
    """Whether bounds on changes of costs are known: not with scores of servers, or limits."""
    return users.log_score is None and users.limit is None


def _quiet(settled: Settled, lam: Floats, tau: float) -> Settled:
    """Users of one server who need not be told again, and where they are."""
    found = []
    for at, single in settled:
        quiet = single.quiet(lam, REACH, tau)
        if quiet.all():
            found.append((at, single))
        elif quiet.any():
            found.append((at[quiet], single.kept(quiet)))
    return tuple(found)


class Ties(NamedTuple):
    """(N, I) near, (N,) how many, (N,) held by a limit, (I, I) money and squares of money of who
    share each tie; log_least (N,) of the least price, of users with a tie that is close, else 0.

    Two servers of different scores are no tie to a user held by its limit: at any prices of
    resources the price of the limit makes them equal.
    """

    near: Bools
    first: NDArray[np.int16]
    in_reach: NDArray[np.int16]
    held: Bools
    money: Floats
    squares: Floats
    log_least: Floats


def told(users: UsersRead, lam: Floats, tau: float, mu: Floats | None) -> Ties:
    """What is near for whom at prices (I, R) and prices (N,) of limits."""
    size, servers = len(users), len(lam)
    if users.compiled and mu is None:
        from fairopt.solving.engines.smoothed import passes  # which loads the compiler

        near, first, in_reach, *rest = passes.told(users, lam, (REACH, SHARED), tau)
        log_least, money, squares = rest
        return Ties(near, first, in_reach, np.zeros(size, bool), money, squares, log_least)
    in_reach = np.empty(size, np.int16)
    near, held = np.empty((servers, size), bool), np.zeros(size, bool)
    first, log_least = np.empty(size, np.int16), np.empty(size)
    money, squares = np.zeros((servers, servers)), np.zeros((servers, servers))
    power = 1 / users.alpha
    with np.errstate(all="ignore"):
        for chunk in users.chunks():
            # ratios to the cheapest, not logarithms, which would take most of the time
            cost = lam @ users.demand[chunk].T
            if mu is not None:
                cost += mu[chunk]
            if users.log_score is not None:
                cost *= np.exp(-users.log_score[chunk].T)
            np.copyto(cost, np.inf, where=~users.eligible[chunk].T)
            least = cost.min(axis=0)
            near[:, chunk] = cost <= least * np.exp(REACH * tau)
            first[chunk] = cost.argmin(axis=0)
            both = cost <= least * np.exp(SHARED * tau)
            if mu is not None and users.log_score is not None:
                at, score = (first[chunk], np.arange(cost.shape[1])), users.log_score[chunk].T
                most = np.where(near[:, chunk], score, -np.inf).max(axis=0)
                apart = most - np.where(near[:, chunk], score, np.inf).min(axis=0) > APART
                rent = least * np.exp(score[at])
                held[chunk] = apart & (mu[chunk] > REACH * tau * rent)
                both[:, held[chunk] & (both.sum(axis=0) == 2)] = False
            np.add.reduce(near[:, chunk], axis=0, out=in_reach[chunk], dtype=np.int16)
            several = in_reach[chunk] > 1
            log_least[chunk] = np.where(several, np.log(least), 0.0)
            money_of = np.exp(users.log_w[chunk] * power + (1 - power) * log_least[chunk])
            paid = both * np.where(several, money_of, 0.0)
            money += paid @ both.T
            squares += paid @ paid.T
    near = np.ascontiguousarray(near.T)
    return Ties(near, first, in_reach, held, money, squares, log_least)


def swaying_of(
    users: UsersRead,
    found: Ties,
    few: Bools,
    lam: Floats,
    tau: float,
    mu: Floats | None,
    inverse: Floats,
    wary: bool = False,
) -> Bools:
    """(N,) who moves the prices of its tie, of those told, where few share the tie; if wary, where
    many do too, but for ties equal in the end once the curvature is not known to enough digits."""
    ties = few
    if wary:
        label = grouped(lam, np.ones_like(few), tau, SAME_WINDOWS if tau < ROUNDED else 0.0)
        ties = label[:, None] != label
    sharp = swaying(users, found.near, found.log_least, ties, lam, mu, tau, inverse)
    sharp &= ~found.held | (found.in_reach > 2)
    return sharp
