"""The passes of `path` over users in partitions: only sums of servers x resources come back.

Every partition is read anew in every pass, by whoever computes it; sums are added in the order of
the partitions, so that they do not depend on where they were computed. Sharp users, some hundreds,
stay with the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from fairopt.formulas.asked import AlphaAsked
from fairopt.instance import Bools, Floats, Ints
from fairopt.instance.partition import Partition
from fairopt.solving.engines.smoothed.kinds import (
    ALIKE,
    swaying_of,
    told,
)
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.rough import REACH
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.single import Single, grouped, rarely_shared
from fairopt.solving.engines.smoothed.smooth import Smooth, Sums
from fairopt.solving.engines.smoothed.users import UsersRead


class SpreadSource(Protocol):
    """Where partitions are read."""

    def read(self, k: int) -> Partition:
        """The users of a partition."""


@dataclass(frozen=True, eq=False)
class SpreadTerms:
    """What is asked, the sum of all capacities (R,), and whether users are told apart by compiled
    loops, wherever they are."""

    asked: AlphaAsked
    total: Floats
    compiled: bool = False

    @property
    def alpha(self) -> float:
        """The exponent."""
        return self.asked.alpha

    def users(self, part: Partition) -> UsersRead:
        """The users of a partition in units of the engine."""
        limit = part.limit if np.isfinite(part.limit).any() else None
        demand, log_w = part.demand / self.total, self.asked.log_w(part)
        return UsersRead(self.alpha, demand, log_w, part.placement, None, limit, self.compiled)


Args = tuple[SpreadSource, int, SpreadTerms, Ints, ServerPrices, float]
"""of every pass: where and which partition, what is asked, whom to leave out, where on the path"""
APART = 1e-3
"""tau below which users of one near server are told from the others"""
WIDE = 700.0
"""windows within which servers count before that"""


def smooth_of(
    source: SpreadSource, k: int, terms: SpreadTerms, skip: Ints, prices: ServerPrices, tau: float
) -> Smooth:
    """The users of a partition but those to skip, with the prices of their limits known."""
    users = terms.users(source.read(k))
    if len(skip):
        users = users.some(np.delete(np.arange(len(users)), skip))
    found = Smooth(users)
    if users.limit is not None:
        # the first division finds the prices of limits, later ones their last digits
        for chunk in users.chunks():
            found.split(chunk, prices, tau)
    return found


class Parted(NamedTuple):
    """The users of a partition who are not sharp: those of one near server, and the others."""

    rest: Ints
    single_at: Ints
    single: Single
    smooth_at: Ints
    smooth: Smooth

    def sums(self, prices: ServerPrices, tau: float) -> Sums:
        """The sums of both."""
        total = self.smooth.sums(prices, tau)
        total.add(self.single.sums(prices.all))
        return total


def parted(args: Args) -> Parted:
    """The users of one partition, told apart at the present prices."""
    source, k, terms, skip, prices, tau = args
    known = smooth_of(source, k, terms, skip, prices, tau)
    users, mu, lam = known.users, known.mu, prices.all
    near = told(users, lam, tau, mu).near if tau < APART else users.eligible
    reach = near.sum(axis=1)
    one, more = np.flatnonzero(reach == 1), np.flatnonzero(reach != 1)
    single = Single(users, one, near[one].argmax(axis=1), len(lam))
    smooth = Smooth(users.some(more, near[more]), None if mu is None else mu[more])
    return Parted(np.delete(np.arange(len(users) + len(skip)), skip), one, single, more, smooth)


def summed(args: Args) -> Sums:
    """The sums of one partition."""
    source, k, terms, skip, prices, tau = args
    if terms.compiled:
        users = terms.users(source.read(k))
        if users.limit is None:
            from fairopt.solving.engines.smoothed import passes  # which loads the compiler

            reach = REACH if tau < APART else WIDE
            return passes.summed(users, prices, tau, reach, skip)
    return parted(args).sums(args[4], args[5])


def shared(args: Args) -> tuple[Floats, Floats]:
    """(I, I) money, and squares of money, of those who share each tie."""
    source, k, terms, _, prices, tau = args
    smooth = smooth_of(source, k, terms, np.zeros(0, np.int64), prices, tau)
    found = told(smooth.users, prices.all, tau, smooth.mu)
    return found.money, found.squares


class Swaying(NamedTuple):
    """Users who move the prices of a tie that few share: their positions, themselves with their
    near servers, and prices of limits."""

    at: Ints
    users: UsersRead
    mu: Floats | None


def swaying(args: Args, few: Bools, inverse: Floats) -> Swaying:
    """Of one partition; those who swayed before are among them."""
    source, k, terms, skip, prices, tau = args
    smooth = smooth_of(source, k, terms, np.zeros(0, np.int64), prices, tau)
    users, mu, lam = smooth.users, smooth.mu, prices.all
    found = told(users, lam, tau, mu)
    chosen = swaying_of(users, found, few, lam, tau, mu, inverse)
    chosen[skip] = True
    at = np.flatnonzero(chosen)
    return Swaying(at, users.some(at, found.near[at]), None if mu is None else mu[at])


Each = Callable[..., list[Any]]
"""calls a function with each of a list of arguments, and returns the results in their order"""


@dataclass
class SpreadPrices:
    """All partitions at prices and tau, as `path.Told` wants them."""

    source: SpreadSource
    parts: int
    terms: SpreadTerms
    each: Each
    size: int
    sample: UsersRead
    prices: ServerPrices
    tau: float
    sharp: Sharp
    at: list[Ints] = field(default_factory=list)
    probe: tuple[Ints, Bools] | None = None
    same: int = 0

    @property
    def smooth_users(self) -> int:
        """How many users are not sharp."""
        return self.size - len(self.sharp.k)

    def _args(self, prices: ServerPrices, tau: float) -> list[Any]:
        return [(self.source, k, self.terms, self.at[k], prices, tau) for k in range(self.parts)]

    def sums(self, prices: ServerPrices, tau: float) -> Sums:
        """Sums over all users that are not sharp, in the order of partitions."""
        total = Sums.zero(*prices.off.shape)
        for part in self.each(summed, self._args(prices, tau)):
            total.add(part)
        return total

    def roughly(self, prices: ServerPrices, tau: float) -> None:
        """Every pass is over all."""

    def change(self, prices: Floats, tau: float, step: Floats) -> float:
        """Largest change of differences of log costs, in windows, on a sample of smooth users."""
        probe = self.sample if self.probe is None else self.sample.some(*self.probe)
        return Smooth(probe).change(ServerPrices.apart(prices), tau, step) if len(probe) else 0.0

    def _smooth_of_sample(
        self, few: Bools, lam: Floats, tau: float, inverse: Floats
    ) -> tuple[Ints, Bools]:
        """Users of the sample on whose change of costs a step may be too long, and their near
        servers: sharp ones keep their own tasks, those of one server have no differences."""
        found = told(self.sample, lam, tau, None)
        sharp = swaying_of(self.sample, found, few, lam, tau, None, inverse)
        many = np.flatnonzero((found.in_reach > 1) & ~sharp)
        return many, found.near[many]

    def again(self, prices: ServerPrices, tau: float, inverse: Floats) -> SpreadPrices:
        """Ties counted and sharp users fetched at new prices; once sharp they stay sharp."""
        args, lam = self._args(prices, tau), prices.all
        money, squares = 0.0, 0.0
        for one, two in self.each(shared, args):
            money, squares = money + one, squares + two
        few = rarely_shared(np.asarray(money), np.asarray(squares), lam, tau)
        grouping = ServerPrices.grouped(lam, grouped(lam, ~few, tau, ALIKE))
        probe = self._smooth_of_sample(few, lam, tau, inverse)
        if not few.any() and not len(self.sharp.k):
            return replace(self, prices=grouping, tau=tau, probe=probe)
        found: list[Swaying] = self.each(swaying, args, [few] * len(args), [inverse] * len(args))
        known = np.concatenate(
            [np.isin(one.at, old) for one, old in zip(found, self.at, strict=True)]
        )
        users = joined([one.users for one in found])
        near = users.eligible.copy()
        near[known] |= self.sharp.on
        users = users.some(slice(None), near)
        mus = [np.zeros(len(one.at)) if one.mu is None else one.mu for one in found]
        mu = None if users.limit is None else np.concatenate(mus)
        sharp = Sharp(users, Smooth(users, mu), grouping, tau)
        if known.any():
            sharp.keep(known, self.sharp, lam, tau)
        return replace(
            self, prices=grouping, tau=tau, sharp=sharp, at=[one.at for one in found], probe=probe
        )


def joined(parts: list[UsersRead]) -> UsersRead:
    """All users of several parts, in their order; limits where any part has them."""
    limit = None
    if any(part.limit is not None for part in parts):
        limit = np.concatenate(
            [np.full(len(part), np.inf) if part.limit is None else part.limit for part in parts]
        )
    return UsersRead(
        parts[0].alpha,
        np.concatenate([part.demand for part in parts]),
        np.concatenate([part.log_w for part in parts]),
        np.concatenate([part.eligible for part in parts]),
        None,
        limit,
        parts[0].compiled,
    )


def answered(args: Args, sharp: Floats) -> tuple[Floats, Floats | None]:
    """(n, I) tasks of one partition, those of sharp users as given, and (n,) prices of limits."""
    prices, tau, skip = args[4], args[5], args[3]
    part = parted(args)
    servers = len(prices.label)
    tasks = np.zeros((len(part.rest) + len(skip), servers))
    mu = np.zeros(len(tasks))
    rows = part.rest[part.single_at]
    found, own = part.single.tasks(prices.all)
    tasks[rows, part.single.server] = found
    mu[rows] = own
    rows = part.rest[part.smooth_at]
    tasks[rows] = part.smooth.tasks(prices, tau)
    if part.smooth.mu is not None:
        mu[rows] = part.smooth.mu
    tasks[skip] = sharp[:, :servers]
    mu[skip] = sharp[:, servers]
    return tasks, mu if part.smooth.users.limit is not None else None
