r"""A Newton step (`steps`) where users have many rows of their own, as wants of slices with several
servers are: those rows are eliminated with their users, each with its columns.

With R the pull of columns, a a user's rows of its own, which share no column, and T its bend,

.. math:: B_0 = R^{-1} - R^{-1} a^T (a R^{-1} a^T + \rho)^{-1} a R^{-1}, \quad u = B_0 1, \quad
   B = B_0 - u u^T / (1^T u + T)

take the place of B in `by_rows`.
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.by_rows import (
    LOOSE,
    PULL,
    ROWS,
    Missing,
    SharedRows,
    factored,
    twice,
)
from fairopt.instance import Floats, Ints


def by_wants(wanted: Missing) -> tuple[Floats, Floats, Floats] | None:
    """The step of columns, rows and values, in the units of the system; None where too many rows
    are shared even so, or it is singular."""
    n, users, held = wanted.owner, len(wanted.miss), len(wanted.owner)
    own = _own_row(wanted)
    group = np.unique(own[own >= 0])
    shared = np.setdiff1d(np.arange(len(wanted.rows)), group, assume_unique=True)
    size = len(shared)
    if not len(group) or size > ROWS or (n < 0).any():
        return None
    number = np.full(len(wanted.rows), -1)
    number[shared] = np.arange(size)
    on = number[wanted.row] >= 0
    a = SharedRows(number[wanted.row[on]], wanted.each[on], wanted.entry[on], size, held)
    # of each column its entry in its user's row, and what is left of that row
    mine = np.flatnonzero(own[wanted.each] == wanted.row)
    entry = np.zeros(held)
    entry[wanted.each[mine]] = wanted.entry[mine]
    at = np.where(own >= 0, np.searchsorted(group, own), len(group))
    weight, part, bend = wanted.part / PULL, wanted.part, wanted.bend
    pulled = weight * entry
    many = np.bincount(at, minlength=len(group) + 1)[at]
    whole_row = np.append(np.bincount(at, pulled * entry, len(group) + 1)[:-1] + LOOSE, 1.0)
    single = (own >= 0) & (many == 1)  # what is left of a column alone has no digits to lose
    alone = np.where(single, weight * LOOSE / whole_row[at], 0.0)

    def by_group(x: Floats) -> Floats:
        sums = np.bincount(at, pulled * x, len(group) + 1) / whole_row
        return np.asarray(np.where(single, alone * x, weight * x - pulled * sums[at]))

    ones = by_group(np.ones(held))
    whole = np.bincount(n, ones, users) + np.maximum(bend, LOOSE)
    s = a.around(_block(at, np.where(single, 0.0, pulled), weight, alone, single, whole_row))
    s += a.by_user(ones, n, -1.0 / whole)
    s += LOOSE * np.eye(size)
    factors = factored(s)
    if factors is None:
        return None

    def moved(f: Floats) -> Floats:
        return by_group(f) - ones * (np.bincount(n, ones * f, users) / whole)[n]

    def step(error: Floats, left: Floats, miss: Floats) -> tuple[Floats, Floats, Floats]:
        asked = np.append(left[group], 0.0)[at] * pulled / whole_row[at]
        missing = miss - np.bincount(n, asked, users)
        rise = asked + ones * (missing / whole)[n]
        dp = factors(a.times(moved(error) + rise) - left[shared])
        f = error - a.back(dp)
        dz = moved(f) + rise
        risen = np.bincount(n, dz, users)
        bent = np.where(bend > 0, bend, 1.0)
        dv = np.where(bend > 0, miss - risen, 0.0) / bent
        dv = np.where(bend > 0, dv, (missing - np.bincount(n, ones * f, users)) / whole)
        # what is left of a column's price is that of its row
        rest = (f - PULL * dz / part + dv[n]) * entry * part
        every = np.zeros(len(wanted.rows))
        every[shared] = dp
        worth = np.bincount(at, entry**2 * part, len(group) + 1)[:-1]
        every[group] = np.bincount(at, rest, len(group) + 1)[:-1] / worth
        return dz, every, dv

    return twice(wanted, step)


def _own_row(wanted: Missing) -> Ints:
    """(H,) a full row of each column that holds columns of its user alone, no two of which share
    one; -1: none."""
    rows, users = len(wanted.rows), len(wanted.miss)
    owner = wanted.owner[wanted.each]
    low, high = np.full(rows, users), np.full(rows, -1)
    np.minimum.at(low, wanted.row, owner)
    np.maximum.at(high, wanted.row, owner)
    alone = ((low == high) & (low >= 0))[wanted.row]
    found = np.full(len(wanted.owner), -1)
    np.maximum.at(found, wanted.each[alone], wanted.row[alone])
    # a row of which another has a column stays where it is
    other = np.unique(wanted.row[alone][found[wanted.each[alone]] != wanted.row[alone]])
    return np.where(np.isin(found, other), -1, found)


def _block(
    at: Ints, pulled: Floats, weight: Floats, alone: Floats, single: Floats, whole_row: Floats
) -> object:
    """B0 (H, H)."""
    from scipy.sparse import csr_array, dia_array

    held, groups = len(at), len(whole_row) - 1
    some = np.flatnonzero((at < groups) & (pulled != 0))
    scaled = pulled[some] / np.sqrt(whole_row[at[some]])
    g = csr_array((scaled, (at[some], some)), shape=(groups, held))
    diagonal = dia_array((np.where(single, alone, weight)[None], [0]), shape=(held, held))
    return (diagonal - g.T @ g).tocsr()


__all__ = ["by_wants"]
