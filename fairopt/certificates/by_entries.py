"""What columns of any kind know entry by entry; some is kept: a search asks for the same again."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fairopt.certificates import digits
from fairopt.instance import Floats, Ints

KEPT, MOST = 200, 16
"""columns of which the entries are kept, at most; how many such lists"""
Entries = tuple[Ints, Ints, Floats]
"""row of each entry, position of its column among those asked for, value"""


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
    if len(columns) > KEPT:
        return owner._entries(columns)
    known: dict[bytes, Entries] = owner.__dict__.setdefault("_known", {})
    key = columns.tobytes()
    if key not in known:
        if len(known) >= MOST:
            known.clear()
        known[key] = owner._entries(columns)
        for part in known[key]:
            part.flags.writeable = False
    return known[key]


def profit(
    columns: Any, near: Ints, tasks: int, price: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """`profit`, entry by entry; the first `tasks` are tasks."""
    row, each, entry = columns.entries(near)
    minus = -value[:, columns.owner(near[:tasks])]
    return digits.remainders(
        np.zeros(len(near)),
        np.concatenate([each, np.arange(tasks)]),
        np.concatenate([entry, columns.worth(near[:tasks])]),
        np.concatenate([price[:, row], minus], axis=1),
    )


__all__ = ["Entries", "entries", "least", "profit"]
