"""All patterns of a node whose worth is near to the best: those that a better placement may use."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from fairopt.whole.proof.cards import Unsure, lie
from fairopt.whole.proof.problem import NodeClass, Tasks
from fairopt.whole.proof.search import ratio

_BRANCHES = 8
"""branches looked at for each pattern that may be found"""
_KINDS = 400
"""of nodes with more kinds of tasks than these no patterns are listed"""


class _Full(Exception):
    """There are too many patterns, or too many branches to look at."""


def near(
    own: NodeClass, worth: Sequence[int], hint: Sequence[int], least: int, most_of: int
) -> list[Tasks] | None:
    """All patterns worth `least` or more to which nothing can be added; None if there are too many.

    With prices that leave a gap, no plan that is better uses a pattern worth less than sigma
    minus the gap.

    Parameters
    ----------
    worth : of each kind, >= 0. hint : (R,) weights that make bounds tight.
    """
    if len(own.kinds) > _KINDS:
        return None
    size = len(own.room)
    weights = [tuple(int(r == s) for s in range(size)) for r in range(size) if own.room[r] > 0]
    weights.insert(0, tuple(hint))
    load = [sum(map(mul, hint, kind.need)) for kind in own.kinds]
    order = sorted(range(len(own.kinds)), key=lambda k: (-ratio(worth[k], load[k]), -worth[k], k))
    top = [
        (row, _ratios([own.kinds[k].need for k in order], [worth[k] for k in order], row))
        for row in weights
    ]
    found: list[Tasks] = []
    tasks, branches = [0] * len(own.kinds), [most_of * _BRANCHES]

    def lies(given: Sequence[int]) -> bool:
        return not own.cards or lie(own.cards, own.lying(given))

    def cut(at: int, left: tuple[int, ...], missing: int) -> bool:
        for row, best in top:
            best_here = best[at]
            if best_here is not None:
                there = sum(map(mul, row, left))
                if there * best_here[0] < missing * best_here[1]:
                    return True
        return False

    def more_fits(left: tuple[int, ...]) -> bool:
        return any(
            tasks[k] < kind.most
            and all(x <= c for x, c in zip(kind.need, left, strict=True))
            and lies([m + (i == k) for i, m in enumerate(tasks)])
            for k, kind in enumerate(own.kinds)
        )

    def go(at: int, left: tuple[int, ...], value: int, new: bool = True) -> None:
        branches[0] -= 1
        if branches[0] < 0 or len(found) > most_of:
            raise _Full
        if cut(at, left, least - value) or (new and not lies(tasks)):
            return
        if at == len(order):
            if not more_fits(left):
                found.append(tuple(tasks))
            return
        k = order[at]
        need = own.kinds[k].need
        fit = min([own.kinds[k].most, *(c // x for c, x in zip(left, need, strict=True) if x)])
        for m in range(fit, -1, -1):
            tasks[k] = m
            rest = tuple(c - m * x for c, x in zip(left, need, strict=True)) if m else left
            go(at + 1, rest, value + m * worth[k], m > 0)
        tasks[k] = 0

    try:
        go(0, own.room, 0)
    except (_Full, Unsure):  # where cards are not known to hold something, nothing is complete
        return None
    return found


def _ratios(
    needs: Sequence[tuple[int, ...]], worth: Sequence[int], weights: Sequence[int]
) -> list[tuple[int, int] | None]:
    """The best worth for a load among the kinds from each place on; None: no bound."""
    best: tuple[int, int] | None = (0, 1)
    found: list[tuple[int, int] | None] = [best]
    for need, own in zip(reversed(needs), reversed(worth), strict=True):
        load = sum(map(mul, weights, need))
        if best is not None and own > 0:
            if load == 0:
                best = None
            elif own * best[1] > best[0] * load:
                best = (own, load)
        found.append(best)
    return found[::-1]
