"""What two products compute themselves, number for number: KAI's division, Kueue's use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple


class KaiQueue(NamedTuple):
    """A queue of KAI: deserved and request in GPUs, most allowed, over-quota weight, priority,
    usage U as part of capacity."""

    deserved: float
    request: float
    most: float = math.inf
    weight: float = 1.0
    priority: int = 0
    usage: float = 0.0


def kai_division(
    gpus: float, queues: Mapping[str, KaiQueue], k: float = 0.0
) -> tuple[dict[str, float], float]:
    """KAI's fair shares in GPUs, rounded down and the rest by largest remainder, and what is left.

    Everybody has what it deserves and asks for, whatever there is. The rest is divided, priority by
    priority, in ratio of P = max(W + k (W - U), 0), W the parts of the weights of who wants more;
    then who was rounded down has one more each, largest remainder first, and the last what is left.

    Examples
    --------
    >>> kai_division(16, {"1": KaiQueue(0, 16, usage=0.5), "2": KaiQueue(0, 16)}, k=1)
    ({'1': 5.0, '2': 11.0}, 0.0)
    """
    wanted = {name: min(q.request, q.most) for name, q in queues.items()}
    share = {name: float(min(q.deserved, wanted[name])) for name, q in queues.items()}
    left = max(gpus - sum(share.values()), 0.0)
    rounded: list[dict[str, float]] = []
    for priority in sorted({q.priority for q in queues.values()}, reverse=True):
        down: dict[str, float] = {}
        again = left > 0
        while again:
            short = [
                n for n, q in queues.items() if q.priority == priority and share[n] < wanted[n]
            ]
            whole = sum(queues[n].weight for n in short)
            part = {n: queues[n].weight / whole for n in short} if whole else {}
            right = {n: max(p + k * (p - queues[n].usage), 0.0) for n, p in part.items()}
            total, amount, again = sum(right.values()), left, False
            for n in short if total else ():
                if not queues[n].weight:
                    continue
                exact, asked = amount * right[n] / total, wanted[n] - share[n]
                down.pop(n, None)
                given = asked if asked <= exact else float(math.floor(exact + 1e-9))
                if given < min(exact, asked):
                    down[n] = exact - given
                share[n] += given
                left -= given
                again = again or (asked < exact and left > 0)
        rounded.append(down)
    for down in rounded:
        for n in sorted(down, key=lambda n: -round(down[n], 9)):
            given = min(1.0, left)
            share[n] += given
            left -= given
    return share, left


def kueue_decay(
    old: Mapping[str, float], use: Mapping[str, float], elapsed: float, half: float
) -> dict[str, float]:
    """Kueue's use of each resource after some seconds: of half-life 0 nothing is kept, and time
    that runs backwards does not count."""
    if half == 0:
        return {}
    beta = 0.5 ** (max(elapsed, 0.0) / half)
    names = dict.fromkeys([*old, *use])
    return {r: old.get(r, 0.0) * beta + use.get(r, 0.0) * (1 - beta) for r in names}


def kueue_usage(
    consumed: Mapping[str, float],
    penalty: Mapping[str, float],
    queue_weight: float,
    resource_weight: Mapping[str, float],
) -> float:
    """The number by which Kueue compares queues; inf for a queue of weight 0 or less."""
    if queue_weight <= 0:
        return math.inf
    names = dict.fromkeys([*consumed, *penalty])
    return (
        sum(
            resource_weight.get(r, 1.0) * (consumed.get(r, 0.0) + penalty.get(r, 0.0))
            for r in names
        )
        / queue_weight
    )


__all__ = ["KaiQueue", "kai_division", "kueue_decay", "kueue_usage"]
