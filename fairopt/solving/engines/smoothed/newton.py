r"""Alpha-fairness of very many users on few servers: Newton in prices (docs/maths/many-users.md).

An interior step is linear in every pair, so it is short while many users are near a tie, and its
number of iterations grows with the number of users. Here users are eliminated exactly at given
prices, and only the prices are unknown: every pass over the users returns sums of servers times
resources. A sample of the users gives the first prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.smoothed import path
from fairopt.solving.engines.smoothed.kinds import Kinds
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.rough import smooth_sums
from fairopt.solving.engines.smoothed.smooth import Smooth
from fairopt.solving.engines.smoothed.users import UsersRead

USERS, DENSE, TIMES = 5_000, 0.4, 10
"""users from which the method is faster than the interior one, measured: TIMES as many where at
least this part of all pairs is eligible, for there its iterations grow late"""
STEEP = 10.0
"""alpha up to which the same number is enough where limits count tasks of different scores"""
PER_ROW, ROWS = 200, 200
"""and users a row of capacity; most rows, since every user adds a matrix of rows by rows"""
SAMPLE, FEW_USERS = 20_000, 2_000
"""users of the sample, and users on which the first prices are found"""
SAMPLED, EARLIEST, LAST = 40.0, 0.02, 2e-12
"""tau at the end of the sample's path, per user, but no smaller than this, and of the whole"""
MORE, SECOND = 5, 4e-3
"""users of a second sample, as many times the first, and tau at the end of its path: taken where
there are twice as many, for passes over all of them take the longest while tau is large"""
CLOSER = 2e-14, 1e-12
"""tau, and miss of a capacity, to which the path may go on"""
FEWEST = 20.0
"""tau at the end of its path once corrected, per user"""
FIRST = 0.5
"""tau at the beginning"""
FLATTEST = 0.1
"""smallest alpha"""


@dataclass(frozen=True)
class SmoothedFound:
    """A point, with its iterations and how often all users were passed over."""

    point: Point
    iterations: int
    passes: float
    end: path.Where
    compiled: bool = False

    @property
    def ended(self) -> bool:
        """Whether the path was not cut off by the number of its iterations."""
        return self.end.iterations < path.MOST_ITERATIONS

    @property
    def told(self) -> str:
        """The numbers in words."""
        how = ", compiled" if self.compiled else ""
        return f"{self.iterations} iterations, {self.passes:.3g} passes over the users{how}"


def worthwhile(question: AlphaQuestion, users: int | None = None) -> bool:
    """Whether to try first: the method applies, and there are many users a row."""
    size, servers, resources = question.instance.shape
    if not applies(question):
        return False
    if users is None:
        dense = np.count_nonzero(question.instance.eligible) >= DENSE * size * servers
        late = dense and not (question.timed and question.alpha <= STEEP)
        users = max(USERS * (TIMES if late else 1), PER_ROW * servers * resources)
    return size >= users


def applies(question: AlphaQuestion) -> bool:
    """Whether the method can: demand that does not depend on the server, and not many rows."""
    inst = question.instance
    _, servers, resources = inst.shape
    few = 1 < servers <= ROWS / resources
    return question.alpha >= FLATTEST and few and inst.demand.ndim == 2


def follow(
    question: AlphaQuestion, sample: int = SAMPLE, wary: bool = False, straight: bool = False
) -> SmoothedFound | None:
    """The answer, or the nearest reached; None where no finite prices were found.

    wary : users keep tasks of their own in ties that many share too, if they move its prices.
    straight : to the end of `closer` at once, without the passes that would settle prices before.
    """
    users, capacity = UsersRead.of(question)
    end = CLOSER if straight else (LAST, path.CLOSE)
    with np.errstate(all="ignore"):
        try:
            now, before = _solved(users, capacity, sample, wary, end)
        except np.linalg.LinAlgError:
            return None
        return _found(question, users, capacity, now, before)


def closer(question: AlphaQuestion, found: SmoothedFound) -> SmoothedFound | None:
    """The answer further along the path: users of little money may need a smaller tau."""
    users, capacity = UsersRead.of(question)
    before = found.iterations - found.end.iterations
    with np.errstate(all="ignore"):
        try:
            now = path.follow(found.end, capacity, *CLOSER)
        except np.linalg.LinAlgError:
            return None
        return _found(question, users, capacity, now, before)


def _found(
    question: AlphaQuestion, users: UsersRead, capacity: Floats, now: path.Where, before: int
) -> SmoothedFound | None:
    """The point at a place of the path, in the units of the question."""
    told = now.told
    assert isinstance(told, Kinds)
    tasks = told.tasks(now.prices, now.tau)
    mu = told.limit_prices(now.prices)
    # the largest is no number where any is none
    if not np.isfinite([tasks.max(), tasks.min()]).all() or not np.isfinite(now.prices.all).all():
        return None
    limits = np.zeros(len(users))
    if mu is not None and users.limit is not None:
        limited = np.isfinite(users.limit)
        limits[limited] = mu[limited] * users.limit[limited]
    if users.log_score is None:  # tasks were counted in shares
        tasks /= question.top_score[:, None]
    point = Point(tasks, now.prices.all * capacity, limits, given=True)
    passes = now.passes / len(users)
    return SmoothedFound(point, before + now.iterations, passes, now, users.compiled)


def _solved(
    users: UsersRead, capacity: Floats, sample: int, wary: bool, end: tuple[float, float]
) -> tuple[path.Where, int]:
    """The end of the path, at a tau and miss, and the iterations of the sample."""
    size = len(users)
    pick = np.arange(size)
    if size > 2 * sample:
        pick = np.random.default_rng(1).choice(size, sample, replace=False)
    begun = begin(users.some(pick), capacity, size)
    if size > 2 * MORE * sample:
        pick = np.random.default_rng(2).integers(0, size, MORE * sample)
        begun = further(users.some(pick), capacity, size, begun)
        begun = corrected(users, pick, capacity, begun)
    prices, none = ServerPrices.apart(begun.prices), _no_prices(users)
    told = Kinds(users, prices, begun.tau, none, None, begun.inverse, wary)
    first = path.Where(told, told.prices, begun.free, begun.tau)
    return path.follow(first, capacity, *end), begun.iterations + 1


@dataclass(frozen=True)
class Begun:
    """Where the whole begins: prices and free capacity (I, R), tau; iterations of the sample."""

    prices: Floats
    free: Floats
    tau: float
    iterations: int
    inverse: Floats | None = None


def begin(users: UsersRead, capacity: Floats, size: int) -> Begun:
    """The first prices, from a sample of `size` users in random order, or from all of them."""
    few, part = users.some(slice(0, FEW_USERS)), len(users) / size
    lam, free = _first(few, capacity * (len(few) / size))
    free = free * size / len(few)
    if part == 1:
        return Begun(lam, free, FIRST, 0)
    last = max(SAMPLED / len(users), EARLIEST)
    return further(users, capacity, size, Begun(lam, free, FIRST, 0), last)


def further(
    users: UsersRead,
    capacity: Floats,
    size: int,
    begun: Begun,
    last: float = SECOND,
    close: float = 1e-2,
) -> Begun:
    """Prices from a sample of `size` users, from where others of them began, to a tau."""
    part = len(users) / size
    told = Kinds(users, ServerPrices.apart(begun.prices), begun.tau, _no_prices(users))
    first = path.Where(told, told.prices, begun.free * part, begun.tau)
    now = path.follow(first, capacity * part, last, close)
    inverse = None if now.inverse is None else now.inverse * part
    iterations = begun.iterations + now.iterations + 1
    return Begun(now.prices.all, now.free / part, now.tau, iterations, inverse)


def corrected(
    users: UsersRead, pick: Ints, capacity: Floats, begun: Begun, last: float | None = None
) -> Begun:
    """The sample `pick` further, to a tau, its capacity such that it is as short as all users are,
    whom one pass is over: so it is wrong by a part of the changes from there alone."""
    some, part = users.some(pick), len(pick) / len(users)
    prices, tau = ServerPrices.apart(begun.prices), begun.tau
    use, mine = (smooth_sums(Smooth(one), prices, tau).use for one in (users, some))
    capacity = part * (capacity - use) + mine
    if not (capacity > 0).all():
        return begun
    last = FEWEST / len(pick) if last is None else last
    return further(some, capacity / part, len(users), begun, last, last)


def _no_prices(users: UsersRead) -> Floats | None:
    return None if users.limit is None else np.zeros(len(users))


def _first(users: UsersRead, capacity: Floats) -> tuple[Floats, Floats]:
    """Prices and free capacity (I, R) to begin with: prices as used at tau = FIRST.

    The common level is found exactly for one server, then row by row.
    """
    smooth, alpha = Smooth(users), users.alpha
    lam = 1 / np.where(capacity > 0, capacity, 1.0)
    for _ in range(9):
        use = smooth.sums(ServerPrices.apart(lam), FIRST).use
        part = use / capacity
        most = part.max() / 0.9
        if _ < 8:
            lam = lam * most**alpha * np.clip(part / most, 0.1, 1) ** (0.5 * min(1, alpha))
    return lam, np.maximum(capacity - use, 0.2 * capacity)
