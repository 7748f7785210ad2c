"""One answer as plain data for the page: what fills the servers, what users get, what stops them.

Large answers stay small: of a server the largest users and the sum of the others are kept, of a
user its largest servers. Every number has seven significant digits.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.frames import clean, clean_by_way, clean_prices
from fairopt.instance import Floats, Instance
from fairopt.report import groups
from fairopt.report.words import stopped

MOST_PARTS = 12
"""most users of a server with a part of their own in its bars; the others are one part"""
HELD = 8
"""most servers listed for one user"""
RULES, SAID = 50, 5
"""own rules that are listed; of whose prices sentences are made, the dearest"""
ROOM = 90
"""characters for what stops a user, about"""


def names(inst: Instance) -> dict[str, Any]:
    """What does not change from answer to answer: names, weights, limits, counts.

    `weight`, `limit` and `count` are None where all are the default.
    """
    some = inst.limit[np.isfinite(inst.limit)]
    return {
        "users": list(inst.users),
        "servers": list(inst.servers),
        "resources": list(inst.resources),
        "weight": short(inst.weight) if (inst.weight != 1).any() else None,
        "limit": short(inst.limit) if len(some) else None,
        "count": inst.count.tolist() if (inst.count != 1).any() else None,
    }


def amounts(alloc: Allocation) -> dict[str, Any]:
    """The numbers of one answer.

    Returns
    -------
    dict : `used` (I, R) part of each resource, None where the server has none; `fill`, for each
        server the lists [user, part of each resource ...] of its MOST_PARTS users, and `rest`, what
        the others use, [number of users, part of each resource ...]; `prices` (I, R) and `heat`
        (I, R), price times what a machine has of it on average, 1 for the dearest; `totals`,
        `shares`, `levels`, `low`, `high` (N,); `held`, for each user [server, tasks] of its
        largest servers, and `places`, the number of all its servers; `stops`, what stops each
        user, in words; `rules`, of own rules, the heads and rows of their table, how many more
        there are, and sentences on their prices.
    """
    inst, tasks = alloc.instance, clean(alloc)
    there = inst.pool > 0
    found: dict[str, Any] = {"used": short(np.where(there, alloc.utilisation, np.nan))}
    found["fill"], found["rest"] = _fill(alloc, tasks)
    if alloc.prices is not None:
        prices = clean_prices(alloc)
        # a factor for each resource, so that equal prices of it have one colour
        machines = np.maximum(there.T @ inst.count, 1)
        worth = prices * (inst.pool.sum(axis=0) / machines)
        most = float(worth.max())
        found["prices"] = short(np.where(there, prices, np.nan))
        found["heat"] = short(worth / most if most > 0 else worth, 3)
    some = (tasks != 0).any(axis=1)
    for key, values in (
        ("totals", alloc.totals),
        ("shares", alloc.shares),
        ("levels", alloc.levels),
    ):
        found[key] = short(np.where(some, values, 0.0))
    ends = () if alloc.certificate is None else alloc.certificate.intervals
    if len(ends):
        # more digits, as proved intervals are narrow
        low, high = np.asarray(ends, dtype=np.float64).T
        if inst.start is not None:  # proved of shares with what was had
            low, high = low - inst.start, high - inst.start
        found["low"], found["high"] = short(low, 15), short(high, 15)
    found["held"], found["places"] = _held(tasks)
    stops = {name: list(each) for name, each in groupby(alloc.each_blocked(), lambda b: b.user)}
    found["stops"] = [stopped(stops.get(name, []), ROOM) for name in inst.users]
    if inst.rules is not None:
        heads, rows, more = groups.rules_table(alloc, RULES)
        said = groups.sentences(alloc, SAID)
        found["rules"] = {"heads": heads, "rows": rows, "more": more, "said": said}
    return found


def _fill(alloc: Allocation, tasks: Floats) -> tuple[list[list[list[Any]]], list[list[Any] | None]]:
    """The largest users of every server, and the others together."""
    inst, used = alloc.instance, alloc.utilisation
    by_way = clean_by_way(alloc)
    fills, rests = [], []
    for i in range(len(inst.servers)):
        who = np.flatnonzero(tasks[:, i] > 0)
        pool = inst.pool[i]
        taken = alloc.taken(by_way, servers=slice(i, i + 1))[who, 0]
        parts = taken / np.where(pool > 0, pool, 1.0)
        order = np.argsort(-parts.max(axis=1), kind="stable") if len(who) else who
        # a rest of one user would have no name and take the same room
        size = len(who) if len(who) <= MOST_PARTS + 1 else MOST_PARTS
        first = order[:size]
        fills.append([[int(who[k]), *short(parts[k])] for k in first])
        left = np.maximum(used[i] - parts[first].sum(axis=0), 0.0)
        rests.append([len(who) - size, *short(left)] if len(who) > size else None)
    return fills, rests


def _held(tasks: Floats) -> tuple[list[list[list[Any]]], list[int]]:
    """The largest servers of every user, and how many it has."""
    held, places = [], []
    for row in tasks:
        there = np.flatnonzero(row)
        first = there[np.argsort(-row[there], kind="stable")][:HELD]
        held.append([[int(i), one(row[i])] for i in first])
        places.append(len(there))
    return held, places


def short(values: Any, digits: int = 7) -> Any:
    """Nested lists of numbers with so many significant digits; None where not finite."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return [short(v, digits) for v in values] if isinstance(values, list) else one(values, digits)


def one(value: float, digits: int = 7) -> float | int | None:
    """A number with so many significant digits, whole ones without a point; None if not finite."""
    value = float(value)
    if not math.isfinite(value):
        return None
    found = float(f"{value:.{digits}g}")
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


__all__ = ["amounts", "names", "one", "short"]
