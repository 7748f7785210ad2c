"""What columns of any kind know entry by entry; some is kept: a search asks for the same again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fairopt.certificates.digits import ExactSums
from fairopt.instance import Floats, Ints

KEPT, MOST_LISTS = 200, 16
"""columns of which the entries are kept, at most; how many such lists"""
PIECE = 1 << 14
"""columns of which the entries are read at once"""
Entries = tuple[Ints, Ints, Floats]
"""row of each entry, position of its column among those asked for, value"""
AnyT = TypeVar("AnyT")


class ColumnTable(NamedTuple):
    """All columns: of each where its entries begin (P + F + 1,), of these row and value; of tasks
    user and worth (P,), 0 of those that may hold nothing. An entry may be 0."""

    start: Ints
    row: Ints
    entry: Floats
    owner: Ints
    worth: Floats


class Costs(Protocol):
    """Columns of any kind."""

    def _entries(self, columns: Ints) -> Entries: ...

    def _least(self, price: Floats) -> Floats: ...


def least(owner: Costs, price: Floats) -> Floats:
    """(N,) the least that a unit of share costs at prices; those of the last prices are kept."""
    known: dict[bytes, Floats] = owner.__dict__.setdefault("_least_at", {})
    key = price.tobytes()
    if key not in known:
        found = owner._least(price)
        found.flags.writeable = False
        known.clear()
        known[key] = found
    return known[key]


def entries(owner: Costs, columns: Ints) -> Entries:
    """The entries of few columns, kept: a search asks for those of the same again and again."""

    def read() -> Entries:
        found = owner._entries(columns)
        for part in found:
            part.flags.writeable = False
        return found

    return owner._entries(columns) if len(columns) > KEPT else kept(owner, "_known", columns, read)


def kept(owner: Any, name: str, columns: Ints, make: Callable[[], AnyT], more: bytes = b"") -> AnyT:
    """What is made of few columns, and of `more`, kept under a name with those last asked for."""
    if len(columns) > KEPT:
        return make()
    known: dict[bytes, AnyT] = owner.__dict__.setdefault(name, {})
    key = columns.tobytes() + more
    if key not in known:
        if len(known) >= MOST_LISTS:
            known.clear()
        known[key] = make()
    return known[key]


def used(columns: Any, held: Ints) -> ExactSums:
    """The sums of what amounts of these columns use of rows."""

    def make() -> ExactSums:
        row, each, entry = columns.entries(held)
        return ExactSums(row, entry, each)

    return kept(columns, "_used", held, make)


def pieces(columns: Any, held: Ints) -> Iterator[tuple[int, int, Entries]]:
    """The entries of columns, so many at once that arrays stay in the cache: from which to which
    column, and their entries, where columns are counted from the first of these."""
    for start in range(0, max(len(held), 1), PIECE):
        end = min(start + PIECE, len(held))
        yield start, end, columns.entries(held[start:end])


def profit(
    columns: Any, near: Ints, tasks: int, price: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """`profit`, entry by entry; the first `tasks` are tasks."""

    def make() -> ExactSums:
        row, each, entry = columns.entries(near)
        return ExactSums(
            np.concatenate([each, np.arange(tasks)]),
            np.concatenate([entry, -columns.worth(near[:tasks])]),
            np.concatenate([row, price.shape[1] + columns.owner(near[:tasks])]),
        )

    made = kept(columns, "_profit", near, make)
    return made.left(np.zeros(len(near)), np.concatenate([price, value], axis=1))


def both(
    columns: Any,
    rhs: Floats,
    held: Ints,
    amount: Floats,
    dear: Floats,
    drawn: tuple[Ints, Floats] | None = None,
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """What `used` leaves of rows, and `profit`, of columns in order in one pass.

    Parameters
    ----------
    amount : (k, C) of the columns held. dear : (k, M + N) prices, then values. drawn : rows, and by
        how much of its price each of them is more.
    """
    rows, tasks = len(rhs), int(np.searchsorted(held, columns.count))

    def make() -> ExactSums:
        row, each, entry = columns.entries(held)
        own, price, value = held[:tasks], len(held), len(held) + rows
        at = [row, rows + each, rows + np.arange(tasks)]
        factor = [entry, entry, -columns.worth(own)]
        of = [each, price + row, value + columns.owner(own)]
        if drawn is not None:
            at, factor, of = [*at, drawn[0]], [*factor, -drawn[1]], [*of, price + drawn[0]]
        return ExactSums(np.concatenate(at), np.concatenate(factor), np.concatenate(of))

    made = kept(columns, "_both", held, make, b"" if drawn is None else drawn[1].tobytes())
    whole = np.concatenate([rhs, np.zeros(len(held))])
    found, error = made.left(whole, np.concatenate([amount, dear], axis=1))
    return (found[:rows], error[:rows]), (found[rows:], error[rows:])


__all__ = [
    "KEPT",
    "Entries",
    "ColumnTable",
    "both",
    "entries",
    "kept",
    "least",
    "pieces",
    "profit",
    "used",
]
