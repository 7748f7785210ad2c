r"""Rows filled to the last digit, a partition at a time: the point that proves an answer of users
who do not fit in memory.

Any point and any prices prove (`bound`), so both are chosen such that a pass over partitions can
work them out again from a few numbers. Prices are those given, p, and a trifle more, d (I, R). Of
user n let e_i be what a task on server i costs at p + d above the cheapest at p, v; w_i the parts
of its share in the answer, :math:`\bar e = \sum w e`. At the point it runs

.. math:: x_i = w_i s + w_i s \Big(-\frac{\bar e}{\alpha v} + \frac{\bar e - e_i}{v\,PULL}\Big),
   \quad s = (W / v)^{1/\alpha}

or s = its limit, without the first term in brackets. This is linear in d, so d is what a system of
rows says that were not full (`Filling`); what it leaves of them is then measured in two floats
(`dense`), whose second holds all that depends on d. Nothing but that measure is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairopt import fast
from fairopt.certificates import dense, digits
from fairopt.certificates.bound import Proved
from fairopt.certificates.by_rows import PULL
from fairopt.certificates.filled_rows import Filling, RowSums
from fairopt.certificates.losses import ends, loss_above
from fairopt.certificates.partitions import ROUNDING, JudgedTerms, Shown, Used
from fairopt.certificates.places import NEAR_WORTH, ROUND
from fairopt.formulas import rows
from fairopt.instance import Bools, Floats, Ints

if TYPE_CHECKING:
    from fairopt.certificates.filled_loop import LoopPoint


@dataclass(frozen=True, eq=False)
class FilledPoint:
    """What users (n,) have at the point: cheapest price and share there; whether a limit stops
    them; tasks (2, C) of columns (C,) n I + i with their parts (C,) and what they cost above."""

    cheapest: Floats
    log_t: Floats
    limited: Bools
    columns: Ints
    part: Floats
    above: Floats
    amount: Floats


def _log_best(shown: Shown, terms: JudgedTerms, value: Floats) -> tuple[Floats, Bools]:
    """(n,) log of the share that is best at a value of its unit, and whether the limit stops it."""
    log_t, top = (terms.log_w(shown.users) - np.log(value)) / terms.alpha, np.log(shown.users.limit)
    # who pays nothing wants what no limit stops
    return np.minimum(log_t, top), (log_t >= top) & np.isfinite(top)


def _cost(shown: Shown, terms: JudgedTerms, price: Floats) -> Floats:
    """(n, I) price of a task; inf where it may not run."""
    return replace(terms, prices=price).cost(shown.users)


def point(shown: Shown, terms: JudgedTerms, filling: Filling) -> FilledPoint:
    """The point of a partition."""
    users, servers = shown.users, len(filling.price)
    cost = _cost(shown, terms, filling.price)
    cheapest = rows.least(cost)
    x = np.maximum(shown.tasks, 0.0)
    part = x / x.sum(axis=1)[:, None]
    # what is dearer by a larger part than it is of the share does not stay
    part[~(part > (cost - cheapest[:, None]) / cost)] = 0.0
    total = part.sum(axis=1)
    lone = np.flatnonzero(~(total > 0))
    part[lone, cost[lone].argmin(axis=1)], total[lone] = 1.0, 1.0
    columns = np.flatnonzero(part)
    n, i = np.divmod(columns, servers)
    w = part.ravel()[columns] / total[n]
    log_t, limited = _log_best(shown, terms, cheapest)
    p = np.array([filling.price, np.zeros(filling.price.shape)])
    value = np.array([cheapest, np.zeros(len(cheapest))])
    profit, _ = dense.profits(users.demand, p, np.ones(len(columns)), value, None, columns)
    above = (users.demand @ filling.more.T).ravel()[columns] - profit
    mean = np.bincount(n, w * above, len(cheapest))
    share = np.where(limited, users.limit, np.exp(log_t))
    rise = np.where(limited, 0.0, -mean / (terms.alpha * cheapest))[n]
    rise = rise + (mean[n] - above) / (cheapest[n] * PULL)
    held = w * share[n]
    amount = np.array(digits.exact_sum(held, np.where(cheapest[n] > 0, held * rise, 0.0)))
    amount[:, amount[0] < 0] = 0.0
    if limited.any():  # what is missing to the last digit of a limit goes to its first column
        own = np.flatnonzero(limited[n])
        at = np.searchsorted(n, np.flatnonzero(limited))
        whole = np.where(limited, users.limit, 0.0)
        lacks, wrong = digits.remainders(whole, n[own], np.ones(len(own)), amount[:, own])
        amount[:, at] = digits.plus(amount[:, at], (lacks - 2 * wrong)[limited])
    return FilledPoint(cheapest, log_t, limited, columns, w, above, amount)


def summed(shown: Shown, terms: JudgedTerms, filling: Filling) -> RowSums:
    """The sums of a partition."""
    users, (servers, resources) = shown.users, filling.price.shape
    if _loops(shown, filling):
        return _compiled(shown, terms, filling)
    at = point(shown, terms, filling)
    high, low, error = dense.used(users.demand, servers, at.columns, at.amount)
    if filling.slope is None:
        return RowSums(high, low, error, _slope(shown, terms, at, resources), np.inf, 0.0, 0.0)
    return RowSums(high, low, error, np.zeros(0), *_errors(shown, terms, filling, at))


def summed_after(
    shown: Shown, before: tuple[Filling, ...], terms: JudgedTerms, filling: Filling
) -> RowSums:
    """The sums of a partition whose users have the tasks of the points of fillings, one after
    another.

    Only what users of several servers have where changes by that: `point` reads the parts of a
    share, and of one server that is all of it.
    """
    if before:
        several = np.flatnonzero(rows.total((shown.tasks > 0).astype(np.float64)) > 1)
        some = shown.some(several)
        for one in before:
            columns, amount = moved(some, terms, one)
            tasks = np.zeros(some.tasks.shape)
            tasks.ravel()[columns] = amount
            some = replace(some, tasks=tasks)
        tasks = shown.tasks.copy()
        tasks[several] = some.tasks
        shown = replace(shown, tasks=tasks)
    return summed(shown, terms, filling)


def moved(shown: Shown, terms: JudgedTerms, filling: Filling) -> tuple[Ints, Floats]:
    """Columns (C,) and tasks (C,) of the point of a partition, in floats."""
    at = (_loop_point if _loops(shown, filling) else point)(shown, terms, filling)
    tasks: Floats = at.amount[0] + at.amount[1]
    some = tasks > 0
    return at.columns[some], tasks[some]


def _loops(shown: Shown, filling: Filling) -> bool:
    """Whether passes are compiled: of many pairs, where no user has a limit."""
    return fast.chosen(filling.pairs) and bool(np.isinf(shown.users.limit).all())


def _loop_point(shown: Shown, terms: JudgedTerms, filling: Filling) -> LoopPoint:
    """`point` by compiled loops."""
    from fairopt.certificates import filled_loop as loops

    users = shown.users
    given = users.demand, users.placement, shown.tasks, terms.log_w(users)
    return loops.point(*given, filling.price, filling.more, terms.alpha)


def _compiled(shown: Shown, terms: JudgedTerms, filling: Filling) -> RowSums:
    """`summed` by compiled loops."""
    from fairopt.certificates import filled_loop as loops

    users, servers = shown.users, len(filling.price)
    demand, placement = users.demand, users.placement
    at = _loop_point(shown, terms, filling)
    sums = dense.used(demand, servers, at.columns, at.amount, filling.pairs)
    high, low, error = sums
    if filling.slope is None:
        slope = loops.slope(demand, servers, at, terms.alpha)
        return RowSums(high, low, error, slope, np.inf, 0.0, 0.0)
    price = np.array(digits.exact_sum(filling.price, filling.more))
    dear = loops.dear(demand, placement, price, at)
    none = np.zeros(len(users))
    losses = dear.value - dear.less, dear.share, none, none, dear.eps
    return RowSums(high, low, error, np.zeros(0), *_lost(shown, terms, *losses))


def _slope(shown: Shown, terms: JudgedTerms, at: FilledPoint, resources: int) -> Floats:
    """(I, R, I, R) by how much use falls with prices."""
    demand, servers = shown.users.demand, shown.tasks.shape[1]
    users = len(demand)
    rate = np.exp(at.log_t) / at.cheapest
    rate = np.where(np.isfinite(rate), rate, 0.0)
    bend = np.where(at.limited, 0.0, 1 / terms.alpha)
    part = np.zeros(users * servers)
    part[at.columns] = at.part
    part = part.reshape(users, servers)
    own = (part * (1 - part) / PULL + part**2 * bend[:, None]) * rate[:, None]
    found = np.zeros((servers, resources, servers, resources))
    several = np.flatnonzero((part > 0).sum(axis=1) > 1)
    some = part[several, :, None] * demand[several, None]
    some = some.reshape(len(several), servers * resources)
    factor = rate[several] * (1 / PULL - bend[several])
    found -= (some.T @ (some * factor[:, None])).reshape(found.shape)
    each = np.arange(servers)
    for r in range(resources):
        found[each, r, each] = (own * demand[:, r, None]).T @ demand
    return found


def _errors(
    shown: Shown, terms: JudgedTerms, filling: Filling, at: FilledPoint
) -> tuple[float, float, float]:
    """eps of users, as `bound.bound` has it, what they spend, and the lightest of them."""
    users, servers = shown.users, len(filling.price)
    cost = _cost(shown, terms, filling.price + filling.more)
    price = np.array(digits.exact_sum(filling.price, filling.more))
    n = at.columns // servers
    least = np.full(len(users), np.inf)
    np.minimum.at(least, n, at.above)
    value = np.array(digits.exact_sum(at.cheapest, least))
    held = np.zeros(cost.size, dtype=bool)
    held[at.columns] = True
    near = cost <= value[0][:, None] * (1 + NEAR_WORTH)
    others = np.flatnonzero(near.ravel() & ~held)
    less = np.zeros(len(users))
    for columns in (others, at.columns):
        worth = np.ones(len(columns))
        profit, error = dense.profits(users.demand, price, worth, value, None, columns)
        np.maximum.at(less, columns // servers, (profit + error) * (1 + ROUND))
    dear = np.maximum(less[n] - profit, 0.0) + error + ROUND * less[n]
    eps = np.asarray(np.bincount(n, at.amount[0] * dear, len(users)), dtype=np.float64)
    share = np.asarray(np.bincount(n, at.amount[0], len(users)), dtype=np.float64)
    whole = np.where(np.isfinite(users.limit), users.limit, 0.0)
    some = np.flatnonzero(whole[n] > 0)
    left, wrong = digits.remainders(whole, n[some], np.ones(len(some)), at.amount[:, some])
    short, over = np.maximum(left, 0.0) + wrong, np.maximum(-left, 0.0) + wrong
    return _lost(shown, terms, value[0] - less, share, short, over, eps)


def _lost(
    shown: Shown,
    terms: JudgedTerms,
    v: Floats,
    share: Floats,
    short: Floats,
    over: Floats,
    eps: Floats,
) -> tuple[float, float, float]:
    """The same of users who lose eps (n,) on what they hold, and are short of their limits, or over
    them, by as much."""
    users = shown.users
    whole = np.where(np.isfinite(users.limit), users.limit, 0.0)
    log_t, limited = _log_best(shown, terms, v)
    log_w = terms.log_w(users)
    size = np.abs(log_w) + np.abs(terms.asked.log_due(users)) + np.abs(np.log(v))
    z = np.abs(np.log(share) - log_t) + ROUNDING * (size / terms.alpha + np.abs(log_t) + 1)
    m = np.exp(log_w + (1 - terms.alpha) * log_t)
    slope = np.where(limited, np.maximum(m / np.exp(log_t) - v, 0.0), 0.0)
    z = np.where(limited, short / (whole - short), z)
    eps = eps + np.where(whole > 0, slope * short + v * over, 0.0)
    eps = eps + m * np.where(z == 0, 0.0, loss_above(z, terms.alpha))
    eps = np.where(np.isnan(eps), np.inf, eps)
    return float(eps.sum()), float(v @ share), float(m.min())


def farthest(
    shown: Shown, terms: JudgedTerms, first: Used, filling: Filling, eps: float
) -> tuple[float, int]:
    """How far the worst user of a partition may be, and who it is."""
    log_t, below, above = proved(shown, terms, filling, eps)
    apart = np.log(rows.total(shown.tasks) * first.shrink(terms.pool)) - log_t
    off = np.maximum(np.abs(apart + below), np.abs(apart - above))
    off = np.where(np.isnan(off), np.inf, off)
    worst = int(np.argmax(off))
    return float(off[worst]), worst


def proved(shown: Shown, terms: JudgedTerms, filling: Filling, eps: float) -> Proved:
    """Where every optimum is, of the users of a partition (`bound.Proved`)."""
    alpha, log_w = terms.alpha, terms.log_w(shown.users)
    value = rows.least(_cost(shown, terms, filling.price + filling.more))
    log_t, limited = _log_best(shown, terms, value)
    below, above = ends(eps * np.exp(-log_w - (1 - alpha) * log_t), alpha)
    # what rounding makes of prices and logarithms
    size = np.abs(log_w) + np.abs(terms.asked.log_due(shown.users))
    error = ROUNDING * (np.abs(log_t) + 1 + (size + 1) / alpha)
    below, above = below + error, np.where(limited, 0.0, above) + error
    unknown = ~np.isfinite(log_t + below + above)
    return Proved(log_t, np.where(unknown, np.inf, below), np.where(unknown, np.inf, above))


__all__ = ["farthest", "moved", "point", "proved", "summed", "summed_after"]
