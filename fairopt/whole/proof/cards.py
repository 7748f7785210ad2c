"""Tasks that take part of a single card: whether those of a node lie on its cards, exactly.

A resource may come on *cards* that are alike, each of so many units. A task takes at most one
card's worth from one card, or a whole number of cards; it is never split. Whether tasks lie on the
cards of a node is a small packing, searched card by card in integers and given up past a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import NamedTuple

_BRANCHES = 20_000
"""branches looked at for one node before nothing is said of it"""
STEPS = (1, 2, 3)
"""sums of (k + 1) x rounded down over k bound what cards hold, for these k"""
_SMALL = 2
"""sizes of pieces that are counted as well"""


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


Lying = tuple[Pieces, ...]
"""pieces of each resource that comes on cards"""


def pieces(cards: Sequence[Cards], needs: Iterable[tuple[Need, int]]) -> Lying:
    """For each resource on cards, what so many tasks of these needs take."""
    found: Lying = ((),) * len(cards)
    for need, m in needs:
        found = more(cards, found, need, m)
    return found


def more(cards: Sequence[Cards], there: Lying, need: Need, m: int) -> Lying:
    """What is there and so many more tasks."""
    if not m or not any(need[own.at] for own in cards):
        return there
    found = []
    for own, some in zip(cards, there, strict=True):
        x = need[own.at]
        if x:
            unit, times = (x, m) if x < own.size else (own.size, x // own.size * m)
            at = next((k for k, (y, _) in enumerate(some) if y <= unit), len(some))
            same = at < len(some) and some[at][0] == unit
            both = times + some[at][1] if same else times
            some = (*some[:at], (unit, both), *some[at + same :])
        found.append(some)
    return tuple(found)


def lie(cards: Sequence[Cards], given: Lying) -> bool:
    """Whether all pieces lie on the cards, none on two of them.

    Raises
    ------
    Unsure : the search was given up.
    """
    return all(
        laid(own.there, own.size, some) is not None for own, some in zip(cards, given, strict=True)
    )


def most(cards: Sequence[Cards], there: Lying, need: Need, m: int) -> int:
    """Of m further tasks with this need, the most that lie on the cards beside what is there.

    Raises
    ------
    Unsure : the search was given up.
    """
    if not any(need[own.at] for own in cards) or lie(cards, more(cards, there, need, m)):
        return m
    low, high = 0, m - 1
    while low < high:
        middle = (low + high + 1) // 2
        if lie(cards, more(cards, there, need, middle)):
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
    spare = count * size - sum(x * m for x, m in some)
    if spare < 0 or any(x > size for x, _ in some):
        return None
    rests = _first_fit(count, size, some)
    if rests is None:
        if count + len(some) > _DEEPEST:
            raise Unsure
        rests = _Search(size, [x for x, _ in some]).go(count, spare, tuple(m for _, m in some))
    if rests is None:
        return None
    before = [tuple(m for _, m in some), *rests]
    return tuple(
        tuple((x, p - q) for (x, _), p, q in zip(some, a, b, strict=True) if p > q)
        for a, b in pairwise(before)
    )


Left = tuple[int, ...]
"""pieces of each size that are left"""


def _first_fit(count: int, size: int, some: Pieces) -> list[Left] | None:
    """What is left after each card, each filled with the largest pieces that fit; often enough."""
    left, found = [m for _, m in some], []
    for _ in range(count):
        if not any(left):
            break
        room = size
        for k, (x, _) in enumerate(some):
            m = min(left[k], room // x)
            left[k] -= m
            room -= m * x
        found.append(tuple(left))
    return None if any(left) else found


class _Search:
    """Cards filled one by one, each so that no piece that is left would still fit on it."""

    def __init__(self, size: int, units: list[int]) -> None:
        self.size, self.units = size, units
        self.dead: set[tuple[int, Left]] = set()
        self.branches = _BRANCHES

    def go(self, cards: int, spare: int, left: Left) -> list[Left] | None:
        """What is left after each further card; the largest piece left lies on the next one.

        Parameters
        ----------
        spare : units that all these cards together may leave empty.
        """
        at = next((k for k, m in enumerate(left) if m), None)
        if at is None:
            return []
        if not cards or (cards, left) in self.dead:
            return None
        rest = sum(map(mul, self.units, left)) - self.units[at]
        for empty, after in self.filled(
            at, self.size - self.units[at], _less(left, at, 1), rest, spare
        ):
            found = self.go(cards - 1, spare - empty, after)
            if found is not None:
                return [after, *found]
        self.dead.add((cards, left))
        return None

    def filled(
        self, at: int, room: int, left: Left, rest: int, most: int
    ) -> Iterator[tuple[int, Left]]:
        """(units left empty, pieces left) of ways to fill a card with pieces from `at` on.

        Parameters
        ----------
        rest : units of these pieces. most : units that may be left empty.
        """
        self.branches -= 1
        if self.branches < 0:
            raise Unsure
        if room - rest > most:
            return
        if at == len(self.units):
            yield room, left
            return
        unit, there = self.units[at], left[at]
        rest -= unit * there
        fit = min(there, room // unit)
        for m in range(fit, -1, -1):
            # with a piece of this size left, less than it may be left empty
            own = most if m == there else min(most, unit - 1)
            yield from self.filled(at + 1, room - m * unit, _less(left, at, m), rest, own)


def _less(left: Left, at: int, m: int) -> Left:
    return (*left[:at], left[at] - m, *left[at + 1 :]) if m else left


def bounds(x: int, size: int, small: Sequence[int] = ()) -> list[int]:
    """What x units of a card count where no card holds more than a whole one counts.

    For k of STEPS, (k + 1) x rounded down over k, and x itself where (k + 1) x is whole; for each
    of `small`, how many pieces of that size x takes, of a large x all that it leaves no room for
    (dual feasible functions). Whole numbers: a card counts k (k + 1), and twice what it holds.
    """
    found = []
    cards = x // size  # whole cards count in full
    for k in STEPS:
        whole, rest = divmod((k + 1) * x, size)
        found.append(cards * k * (k + 1) if x >= size else whole * (k + 1 if rest else k))
    for e in small:
        holds = size // e
        if x >= size:
            found.append(cards * 2 * holds)
        elif 2 * x > size:
            found.append(2 * (holds - (size - x) // e))
        else:
            found.append(holds if 2 * x == size else 2 * (x // e))
    return found


def small(size: int, some: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Sizes of pieces for `bounds` at which so many pieces of each size count most cards."""
    asked = list(some)

    def counted(e: int) -> Fraction:
        return sum(
            (Fraction(m * bounds(x, size, (e,))[-1], 2 * (size // e)) for x, m in asked), Fraction()
        )

    sizes = {x for x, _ in asked if 0 < 2 * x <= size}
    return tuple(sorted(sizes, key=lambda e: (-counted(e), -e))[:_SMALL])
