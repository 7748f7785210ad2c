"""Passes of `filled` over a partition as loops to be compiled (`fast`), of users without limits.

The NumPy texts in `filled` say what they compute: the same to rounding. What a point is and how
rows give way (`point`, `slope`) is believed by nobody. What columns bring (`dear`) is: products and
sums are split into their rounded value and its error by the operations of `compiled`, in its order,
so that each has the error that `dense.profits` states. A number that is none is handed on, as NumPy
does, and so proves nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairopt import fast
from fairopt.certificates.by_rows import PULL
from fairopt.certificates.compiled import two_product, two_sum
from fairopt.certificates.digits import SURE
from fairopt.certificates.money import LEAST_TASK_PRICE
from fairopt.certificates.places import NEAR_WORTH, ROUND
from fairopt.instance import Bools, Floats, Ints


class LoopPoint(NamedTuple):
    """What users (n,) pay and log of what they have, columns (C,) with the parts of a share and
    what they cost above; tasks (2, C)."""

    cheapest: Floats
    log_t: Floats
    columns: Ints
    part: Floats
    above: Floats
    amount: Floats


class LoopDear(NamedTuple):
    """Values (n,) of a share as they are tried; by how much they are too large, what users lose on
    what they hold, and how much that is."""

    value: Floats
    less: Floats
    eps: Floats
    share: Floats


def point(
    demand: Floats,
    placement: Bools,
    tasks: Floats,
    log_w: Floats,
    price: Floats,
    more: Floats,
    alpha: float,
) -> LoopPoint:
    """The point of users at prices (I, R) and a trifle more."""
    users, size = len(demand), placement.size
    cheapest, log_t = np.empty(users), np.empty(users)
    columns, part, above = np.empty(size, np.int64), np.empty(size), np.empty(size)
    amount = np.empty((2, size))
    given = demand, placement, tasks, log_w, price, more, alpha, PULL, LEAST_TASK_PRICE
    count = fast.loop(_point)(*given, cheapest, log_t, columns, part, above, amount)
    kept = np.ascontiguousarray(amount[:, :count])
    return LoopPoint(cheapest, log_t, columns[:count], part[:count], above[:count], kept)


def slope(demand: Floats, servers: int, at: LoopPoint, alpha: float) -> Floats:
    """(I, R, I, R) by how much use falls with prices."""
    found = np.zeros((servers, demand.shape[1]) * 2)
    with np.errstate(all="ignore"):
        rate = np.exp(at.log_t) / at.cheapest
    rate = np.where(np.isfinite(rate), rate, 0.0)
    fast.loop(_slope)(demand, at.columns, at.part, rate, 1 / alpha, 1 / PULL, found)
    first, second = np.triu_indices(servers, 1)
    found[second, :, first] = found[first, :, second].swapaxes(1, 2)
    return found


def dear(demand: Floats, placement: Bools, price: Floats, at: LoopPoint) -> LoopDear:
    """What columns cost above what they are worth, at prices (2, I, R) of two floats."""
    users = len(demand)
    found = LoopDear(np.empty(users), np.empty(users), np.empty(users), np.empty(users))
    rough = price[0] + price[1]
    given = demand, placement, price, rough, at.cheapest, at.columns, at.above, at.amount
    fast.loop(_dear)(*given, SURE, NEAR_WORTH, ROUND, LEAST_TASK_PRICE, *found)
    return found


@fast.inner
def _rent(need, price, least) -> Any:  # type: ignore[no-untyped-def]
    """The price of a task in floats; what has lost digits is 0."""
    rent = 0.0
    for r in range(len(need)):
        rent += need[r] * price[r]
    return 0.0 if rent < least else rent


@fast.inner
def _brought(need, high, rest, price, fine) -> Any:  # type: ignore[no-untyped-def]
    """A value in two floats less the price of a task, rounded, and the size of all terms."""
    whole = abs(high)
    for r in range(len(need)):
        product, wrong = two_product(need[r], price[r])
        whole += product
        high, lost = two_sum(high, -product)
        rest += (lost - wrong) - need[r] * fine[r]
    return high + rest, whole


def _point(  # type: ignore[no-untyped-def]
    demand, placement, tasks, log_w, price, more, alpha, pull, least,
    cheapest, log_t, columns, part, above, amount,
) -> Any:  # fmt: skip
    """Into the arrays after `least`; how many columns there are."""
    users, servers = placement.shape
    cost, w, none = np.empty(servers), np.empty(servers), np.zeros(demand.shape[1])
    able, some = np.empty(servers + 1, np.int64), np.empty(servers + 1, np.int64)
    count = 0
    for n in range(users):
        need, best, first, held, most, holds = demand[n], np.inf, 0, 0.0, 0, 0
        for i in range(servers):  # without branches, which nobody could foresee
            able[most] = i
            most += placement[n, i]
        for k in range(most):
            cost[k] = _rent(need, price[able[k]], least)
            if cost[k] < best:
                best, first = cost[k], able[k]
            mine = max(tasks[n, able[k]], 0.0)
            held += mine
            some[holds], w[holds], cost[holds] = able[k], mine, cost[k]
            holds += mine > 0.0
        whole, stay = 0.0, 0
        for k in range(holds):
            if 0.0 < cost[k] < np.inf:
                # what is dearer by a larger part than it is of the share does not stay
                mine = w[k] / held
                if mine > (cost[k] - best) / cost[k]:
                    some[stay], w[stay] = some[k], mine
                    stay += 1
                    whole += mine
        if not whole > 0.0:
            some[0], w[0], whole, stay = first, 1.0, 1.0, 1
        rich = (log_w[n] - np.log(best)) / alpha if best > 0.0 else np.inf
        share, start, mean = np.exp(rich), count, 0.0
        for k in range(stay):
            i, mine = some[k], w[k] / whole
            profit, _ = _brought(need, best, 0.0, price[i], none)
            dearer = -profit
            for r in range(len(need)):
                dearer += need[r] * more[i, r]
            columns[count], part[count], above[count] = n * servers + i, mine, dearer
            mean += mine * dearer
            count += 1
        for c in range(start, count):
            has, rise = part[c] * share, 0.0
            if best > 0.0:
                rise = -mean / (alpha * best) + (mean - above[c]) / (best * pull)
            high, low = two_sum(has, has * rise)
            if high < 0.0:
                high, low = 0.0, 0.0
            amount[0, c], amount[1, c] = high, low
        cheapest[n], log_t[n] = best, rich
    return count


def _slope(demand, columns, part, rate, bend, pull, found) -> Any:  # type: ignore[no-untyped-def]
    """Into found (I, R, I, R), of two servers for the first before the second."""
    servers, resources = found.shape[0], found.shape[1]
    start, count = 0, len(columns)
    while start < count:
        n = columns[start] // servers
        end = start + 1
        while end < count and columns[end] // servers == n:
            end += 1
        for a in range(start, end):
            i, w = columns[a] - n * servers, part[a]
            own = (w * (1.0 - w) * pull + w * w * bend) * rate[n]
            for r in range(resources):
                for s in range(resources):
                    found[i, r, i, s] += own * demand[n, r] * demand[n, s]
            for b in range(a + 1, end):
                j = columns[b] - n * servers
                both = w * part[b] * (pull - bend) * rate[n]
                for r in range(resources):
                    for s in range(resources):
                        found[i, r, j, s] -= both * demand[n, r] * demand[n, s]
        start = end


def _dear(  # type: ignore[no-untyped-def]
    demand, placement, price, rough, cheapest, columns, above, amount, sure, near, round_, least,
    value, less, eps, share,
) -> Any:  # fmt: skip
    """Into the arrays after `least`."""
    users, servers = placement.shape
    brings, wrong = np.empty(servers), np.empty(servers)
    start, count = 0, len(columns)
    for n in range(users):
        need, lowest, end = demand[n], np.inf, start
        while end < count and columns[end] // servers == n:
            if not above[end] >= lowest:
                lowest = above[end]
            end += 1
        high, low = two_sum(cheapest[n], lowest)
        most, at, over = high * (1.0 + near), start, 0.0
        for i in range(servers):
            held = at < end and columns[at] - n * servers == i
            if held:
                at += 1
            elif not (placement[n, i] and _rent(need, rough[i], least) <= most):
                continue
            profit, size = _brought(need, high, low, price[0, i], price[1, i])
            brings[i], wrong[i] = profit, sure * size
            more = (profit + wrong[i]) * (1.0 + round_)
            # once it is no number it stays none
            if over == over and not more <= over:
                over = more
        lost, has = 0.0, 0.0
        for c in range(start, end):
            i = columns[c] - n * servers
            apart = over - brings[i]
            if apart < 0.0:
                apart = 0.0
            lost += amount[0, c] * (apart + wrong[i] + round_ * over)
            has += amount[0, c]
        value[n], less[n], eps[n], share[n] = high, over, lost, has
        start = end


__all__ = ["LoopDear", "LoopPoint", "dear", "point", "slope"]
