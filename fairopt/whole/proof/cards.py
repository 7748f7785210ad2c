"""Tasks that take part of a single card: whether those of a node lie on its cards, exactly.

A resource may come on *cards* that are alike, each of so many units. A task takes at most one
card's worth from one card, or a whole number of cards; it is never split. Whether tasks lie on the
cards of a node is a small packing, searched card by card in integers and given up past a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

_BRANCHES = 20_000
"""branches looked at for one node before nothing is said of it"""
STEPS = (1, 2, 3)
"""sums of (k + 1) x rounded down over k bound what cards hold, for these k"""


_DEEPEST = 400
"""most cards of a node and different pieces together that are searched"""


class Unsure(Exception):
    """The search was given up: nothing is known."""


class Cards(NamedTuple):
    """The cards of a node: position of the resource, units of one card, how many."""

    at: int
    size: int
    there: int


Need = tuple[int, ...]
"""(R,) what a task takes"""
Pieces = tuple[tuple[int, int], ...]
"""(units of one card, tasks), largest first; a task of k whole cards is k pieces"""


def pieces(cards: Sequence[Cards], needs: Iterable[tuple[Need, int]]) -> tuple[Pieces, ...]:
    """For each resource on cards, what so many tasks of these needs take."""
    some = [(need, m) for need, m in needs if m]
    found = []
    for own in cards:
        many: dict[int, int] = {}
        for need, m in some:
            x = need[own.at]
            if x:
                unit, times = (x, 1) if x < own.size else (own.size, x // own.size)
                many[unit] = many.get(unit, 0) + m * times
        found.append(tuple(sorted(many.items(), reverse=True)))
    return tuple(found)


def lie(cards: Sequence[Cards], given: Sequence[Pieces]) -> bool:
    """Whether all pieces lie on the cards, none on two of them.

    Raises
    ------
    Unsure : the search was given up.
    """
    return all(
        laid(own.there, own.size, some) is not None for own, some in zip(cards, given, strict=True)
    )


def most(cards: Sequence[Cards], there: Iterable[tuple[Need, int]], need: Need, m: int) -> int:
    """Of m further tasks with this need, the most that lie on the cards beside those there.

    Raises
    ------
    Unsure : the search was given up.
    """
    if not any(need[own.at] for own in cards):
        return m
    there = list(there)
    if lie(cards, pieces(cards, [*there, (need, m)])):
        return m
    low, high = 0, m - 1
    while low < high:
        middle = (low + high + 1) // 2
        if lie(cards, pieces(cards, [*there, (need, middle)])):
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=200_000)
def laid(count: int, size: int, some: Pieces) -> tuple[Pieces, ...] | None:
    """What lies on each card that is used; None where the pieces do not lie on so many cards.

    Raises
    ------
    Unsure : the search was given up.
    """
    units = [x for x, _ in some]
    if any(x > size for x in units):
        return None
    left = tuple(m for _, m in some)
    spare = count * size - sum(x * m for x, m in some)
    if spare < 0:
        return None
    if count + len(units) > _DEEPEST:
        raise Unsure
    dead: set[tuple[int, tuple[int, ...]]] = set()
    branches = [_BRANCHES]

    def filled(at: int, room: int, left: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
        """Ways to fill a card with pieces from `at` on so that none that is left would fit."""
        if at == len(units):
            branches[0] -= 1
            if branches[0] < 0:
                raise Unsure
            if all(not m or x > room for x, m in zip(units, left, strict=True)):
                yield left
            return
        for m in range(min(left[at], room // units[at]), -1, -1):
            yield from filled(at + 1, room - m * units[at], _less(left, at, m))

    def go(cards: int, spare: int, left: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        """What is left after each further card; the largest piece left lies on the next one."""
        at = next((k for k, m in enumerate(left) if m), None)
        if at is None:
            return []
        if not cards or (cards, left) in dead:
            return None
        for rest in filled(at, size - units[at], _less(left, at, 1)):
            used = sum(x * (a - b) for x, a, b in zip(units, left, rest, strict=True))
            if used + spare >= size:
                after = go(cards - 1, spare + used - size, rest)
                if after is not None:
                    return [rest, *after]
        dead.add((cards, left))
        return None

    rests = go(count, spare, left)
    if rests is None:
        return None
    return tuple(
        tuple((x, p - q) for x, p, q in zip(units, a, b, strict=True) if p > q)
        for a, b in zip([left, *rests], rests, strict=False)
    )


def _less(left: tuple[int, ...], at: int, m: int) -> tuple[int, ...]:
    return (*left[:at], left[at] - m, *left[at + 1 :]) if m else left


def bounds(x: int, size: int) -> list[int]:
    """What x units count in each of STEPS, where a card holds k (k + 1): no card holds more.

    (k + 1) x rounded down over k, and x itself where (k + 1) x is whole, are dual feasible: of
    parts that sum to at most 1 they sum to at most 1.
    """
    found = []
    for k in STEPS:
        whole, rest = divmod((k + 1) * x, size)
        cards = x // size  # whole cards count in full
        found.append(cards * k * (k + 1) if x >= size else whole * (k + 1 if rest else k))
    return found
