"""Passes of a Newton step over the entries of very many users as loops to be compiled (`fast`).

What they compute is defined by the NumPy texts of `by_rows`, to rounding. Nothing that they return
is believed: the point that a step leads to is judged as any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import fast
from fairopt.instance import Floats, Ints

PIECE = 4096
"""columns whose sums are added up first, so that rounding does not grow with their number"""


def applies(owner: Ints, each: Ints) -> bool:
    """Whether there is enough to do, and all entries of a user stand together: no flows, columns
    and entries in order."""
    return (
        fast.chosen(len(each))
        and bool((owner >= 0).all())
        and bool((owner[1:] >= owner[:-1]).all())
        and bool((each[1:] >= each[:-1]).all())
    )


def squares(
    row: Ints,
    each: Ints,
    entry: Floats,
    owner: Ints,
    apart: Floats,
    ratio: Floats,
    together: Floats,
    size: int,
) -> Floats:
    """(M, M) A diag(apart) A^T + V diag(together) V^T, for V with a user's columns added up by
    ratio: apart, ratio (H,), together (N,)."""
    found = np.zeros((size, size))
    fast.loop(_squares)(row, each, entry, owner, apart, ratio, together, found)
    return found


def _squares(row, each, entry, owner, apart, ratio, together, found) -> Any:  # type: ignore[no-untyped-def]
    """Into found (M, M)."""
    count, size = len(each), len(found)
    mine = np.zeros((size, size))
    value, seen, met = np.zeros(size), np.zeros(size, np.bool_), np.empty(size, np.int64)
    start, since = 0, 0
    while start < count:
        user = owner[each[start]]
        # only the rows that a user meets are cleared again: it has few of them, and users are many
        at, rows = start, 0
        while at < count and owner[each[at]] == user:
            column, end = each[at], at
            while end < count and each[end] == column:
                end += 1
            weight, part = apart[column], ratio[column]
            for a in range(at, end):
                i = row[a]
                if not seen[i]:
                    seen[i] = True
                    met[rows] = i
                    rows += 1
                value[i] += part * entry[a]
                if weight != 0.0:
                    for b in range(at, end):
                        mine[i, row[b]] += weight * entry[a] * entry[b]
            at = end
        factor = together[user]
        for a in range(rows):
            i = met[a]
            if factor != 0.0:
                for b in range(rows):
                    mine[i, met[b]] += factor * value[i] * value[met[b]]
        for a in range(rows):
            value[met[a]] = 0.0
            seen[met[a]] = False
        since += at - start
        start = at
        if since >= PIECE:
            found += mine
            mine[:] = 0.0
            since = 0
    found += mine


__all__ = ["applies", "squares"]
