"""One pool divided among queues: what products' vectors ask, in one form, and each product's rule.

Every rule gives amounts by queue. `hadoop` and `armada` restate the rule of the product in plain
loops from its source's words; `kai` is `fairopt.overtime.products`; `floor` and `above` are notions
of fairopt, solved and certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import fairopt as fo
from fairopt.overtime.products import KaiQueue, kai_division

Amounts = dict[str, float]


@dataclass(frozen=True)
class Asker:
    """A queue: what it wants at most, what it is promised, its weight and priority (high first)."""

    most: float = math.inf
    floor: float = 0.0
    weight: float = 1.0
    priority: int = 0


@dataclass(frozen=True)
class Pool:
    """A vector: total, queues, and what its source expects of each."""

    source: str
    name: str
    total: float
    queues: dict[str, Asker]
    want: Amounts
    rounded: bool = False


def kai(pool: Pool) -> Amounts:
    """Promises first, whatever there is; the rest by weight, in whole units."""
    given = {
        name: KaiQueue(q.floor, q.most, q.most, q.weight, q.priority)
        for name, q in pool.queues.items()
    }
    finite = {n: q._replace(request=min(q.request, 1e12)) for n, q in given.items()}
    return kai_division(pool.total, finite)[0]


def hadoop(pool: Pool) -> Amounts:
    """The ratio R at which min(max(floor, weight R), most) sum to the total, cut to whole units."""
    queues = pool.queues

    def at(ratio: float) -> Amounts:
        return {n: min(max(q.floor, q.weight * ratio), q.most) for n, q in queues.items()}

    low, high = 0.0, 1.0
    reach = min(sum(q.most if q.weight else min(q.floor, q.most) for q in queues.values()), 1e18)
    while queues and sum(at(high).values()) < min(pool.total, reach) and high < 1e18:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(at(middle).values()) < pool.total else (low, middle)
    return {n: float(math.floor(x + 1e-6)) for n, x in at(high).items()}


def armada(pool: Pool) -> Amounts:
    """Parts by weight of what is left, round after round, to who still wants; promises unknown."""
    held = dict.fromkeys(pool.queues, 0.0)
    left, active = pool.total, set(pool.queues)
    while left > 1e-12 * pool.total and active:
        whole, now = sum(pool.queues[n].weight for n in active), left
        if not whole:
            break
        for n in sorted(active):
            q = pool.queues[n]
            given = min(now * q.weight / whole, q.most - held[n])
            held[n] += given
            left -= given
        active = {n for n in active if held[n] < pool.queues[n].most * (1 - 1e-12)}
    return held


def floor(pool: Pool) -> Amounts:
    """Max-min of amount over weight, nobody below its promise; priorities one after another."""
    return _notion(pool, "floor")


def above(pool: Pool) -> Amounts:
    """Promises first, then max-min of what is above them; priorities one after another."""
    return _notion(pool, "above")


RULES: dict[str, Callable[[Pool], Amounts]] = {
    "kai": kai,
    "hadoop": hadoop,
    "armada": armada,
    "max-min over floors": floor,
    "max-min above promises": above,
}


def _notion(pool: Pool, over: str) -> Amounts:
    """Raises `Overpromised` where the promises are more than there is."""
    promised = {n: min(q.floor, q.most) for n, q in pool.queues.items()}
    left = pool.total - sum(promised.values())
    if left < 0:
        raise Overpromised(f"{sum(promised.values()):g} are promised of {pool.total:g}")
    found = dict(promised)
    for priority in sorted({q.priority for q in pool.queues.values()}, reverse=True):
        mine = [
            n
            for n, q in pool.queues.items()
            if q.priority == priority and q.weight > 0 and q.most > 0
        ]
        if not mine:
            continue
        here = left + sum(promised[n] for n in mine)
        if here <= 0:
            continue
        queues = [pool.queues[n] for n in mine]
        inst = fo.Instance(
            [[1.0]] * len(mine),
            [[here]],
            weight=[q.weight for q in queues],
            limit=[q.most for q in queues],
            users=mine,
            quotas=fo.Quotas(guarantee_tasks={n: promised[n] for n in mine if promised[n]}),
        )
        answer = fo.solve(inst, fo.MaxMin("tasks", over=over))
        found |= dict(zip(mine, np.asarray(answer.totals).tolist(), strict=True))
        left = here - float(answer.totals.sum())
    return found


class Overpromised(Exception):
    """Promises are more than there is, so that no division keeps them."""


def apart(ours: Amounts, theirs: Amounts, total: float) -> str:
    """equal, rounded where whole units explain it, else how far apart."""
    off = {n: abs(ours.get(n, 0.0) - x) for n, x in theirs.items()}
    worst = max(off.values(), default=0.0)
    if worst <= 1e-9 * max(total, 1.0):
        return "equal"
    whole = all(float(x).is_integer() for x in theirs.values())
    if worst < 1 and (whole or all(float(ours[n]).is_integer() for n in theirs)):
        return "rounded"
    return f"{worst:g} apart"
