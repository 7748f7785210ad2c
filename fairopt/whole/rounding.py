"""Whole nodes from a program's parts of them, and tasks put where they still fit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from fairopt.whole.master import Master, PatternPool
from fairopt.whole.proof.placement import Placement

_CHUNKS = 64
"""a user that is far behind gets at least this part of what it misses at once"""


def filled(best: Placement) -> None:
    """Put what is missing of each whole part where it fits, large tasks first."""
    problem = best.problem
    size = [0.0] * len(problem.users)
    for own in problem.classes:
        for kind in own.kinds:
            part = max((x / c for x, c in zip(kind.need, own.room, strict=True) if x), default=0.0)
            size[kind.user] = max(size[kind.user], part)
    best.trim(problem.asked)
    for n in sorted(range(len(size)), key=lambda n: (-size[n], n)):
        if problem.whole[n] > best.total[n]:
            best.add(n, problem.whole[n] - best.total[n])


def rounded(pool: PatternPool, master: Master) -> Placement:
    """A program's answer in whole nodes: of each class those with the largest parts rounded up."""
    used = master.used()
    left = [own.count for own in pool.problem.classes]
    nodes = []
    for (j, tasks), x in zip(pool.columns, used, strict=False):
        many = min(int(x + 1e-9), left[j])
        left[j] -= many
        nodes.append((j, many, tasks))
    for k in sorted(range(len(used)), key=lambda k: (-(used[k] % 1.0), k)):
        j, tasks = pool.columns[k]
        if left[j] and 1e-9 < used[k] % 1.0 < 1 - 1e-9:
            left[j] -= 1
            nodes.append((j, 1, tasks))
    return Placement(pool.problem, nodes)


def share_out(placed: Placement, upto: Sequence[int], rate: Sequence[Fraction]) -> None:
    """Whole gangs for whoever has least of its rate, then by name, as long as they fit.

    Parameters
    ----------
    upto : (N,) most tasks. rate : (N,) what tasks are divided by; users with 0 come last.
    """
    problem = placed.problem

    def part(n: int) -> tuple[bool, Fraction]:
        return not rate[n], Fraction(placed.total[n]) / rate[n] if rate[n] else Fraction(0)

    queue = [(part(n), name, n) for n, name in enumerate(problem.users)]
    heapify(queue)
    while queue:
        _, _, n = heappop(queue)
        most = min(upto[n], problem.asked[n]) - placed.total[n]
        many = most
        if queue and rate[n] and not queue[0][0][0]:  # at once, up to the part of who comes next
            many = min(most, int(queue[0][0][1] * rate[n]) - placed.total[n])
        many = max(many, problem.gang[n], min(most, most // _CHUNKS))
        if many > most:
            continue
        many -= many % problem.gang[n]
        if placed.add(n, many) == many:
            heappush(queue, (part(n), problem.users[n], n))
