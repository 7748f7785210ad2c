r"""Karma's slice: two max-min programs of one resource, in credits (OSDI 2023).

1. Borrowed y of those who want more than their g: levels y_n - z_n, 0 <= y_n <= min((L_n - g_n)+,
   z_n), of which there is min(supply, wanted) in all; supply is the public part and what is given.
2. Credits e of lenders: levels z_n + e_n, e_n <= (g_n - L_n)+, as many as were borrowed of them.

A borrowed unit costs a credit; what is borrowed of the public part is a grant to all alike, so that
credits keep their sum.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats


@dataclass(frozen=True)
class Slice:
    """What a slice gives: held (N,), borrowed, earned (N,), credits (N,) after it."""

    held: Floats
    borrowed: Floats
    earned: Floats
    credits: Floats


def divide(
    wants: Floats, credits: Floats, guaranteed: Floats, supply: float, whole: bool = False
) -> Slice:
    """One slice.

    Parameters
    ----------
    wants : (N,) L. credits : (N,) z before it. guaranteed : (N,) g, at most `supply` together.
    supply : all there is. whole : whole units, ties in the order given.

    Examples
    --------
    >>> found = divide(np.array([5.0, 0, 1]), np.full(3, 6.0), np.full(3, 2.0), 6)
    >>> found.held.tolist(), found.credits.tolist()
    ([5.0, 0.0, 1.0], [3.0, 8.0, 7.0])
    """
    most = np.minimum(np.maximum(wants - guaranteed, 0.0), credits)
    free = np.maximum(guaranteed - wants, 0.0)
    given = float(free.sum())
    public = max(float(supply - guaranteed.sum()), 0.0)
    total = min(public + given, float(most.sum()))
    fill = _whole if whole else filled
    borrowed = fill(-credits, most, total)
    earned = fill(credits, free, min(total, given))
    grant = max(total - given, 0.0) / len(wants)
    held = np.minimum(wants, guaranteed) + borrowed
    return Slice(held, borrowed, earned, credits + earned - borrowed + grant)


def filled(start: Floats, most: Floats, total: float) -> Floats:
    """(N,) x, 0 <= x <= most, of sum `total` <= most.sum(), with max-min levels start + x."""
    if total <= 0:
        return np.zeros(len(start))
    if total >= most.sum():
        return most.astype(np.float64)
    # the sum grows piecewise linearly with the level: find the piece, then the place in it
    ends = np.unique(np.concatenate([start[most > 0], (start + most)[most > 0]]))
    at = np.array([np.clip(end - start, 0.0, most).sum() for end in ends])
    k = min(max(int(np.searchsorted(at, total)) - 1, 0), len(ends) - 2)
    if k < 0 or at[k + 1] <= at[k]:  # of many credits, levels have lost what is divided
        return np.asarray(most * (total / most.sum()))
    low, high = (np.clip(end - start, 0.0, most) for end in ends[k : k + 2])
    found: Floats = low + (high - low) * ((total - at[k]) / (at[k + 1] - at[k]))
    return np.asarray(found * (total / found.sum()))


def _whole(start: Floats, most: Floats, total: float) -> Floats:
    """The same in whole units, one after another to who is lowest."""
    found = np.zeros(len(start))
    line = [(float(start[n]), n) for n in range(len(start)) if most[n] >= 1]
    heapq.heapify(line)
    for _ in range(int(total)):
        if not line:
            break
        level, n = heapq.heappop(line)
        found[n] += 1
        if found[n] + 1 <= most[n]:
            heapq.heappush(line, (level + 1, n))
    return found


__all__ = ["Slice", "divide", "filled"]
