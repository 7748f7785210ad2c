"""Prices of rounds that columns in use determine, and what they prove, in floats.

Whoever pays runs where a unit of its share costs least; each of its columns that runs, or is as
cheap, is an equation between prices. Rows of one resource that seem to have the same price are given
the same one: then most equations hold whatever it is. The others are to be fewer than the prices,
and regular; prices that they leave open are as the answer tells them. Any other column of who pays
has to be dearer for sure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.certificates.strict.case import UNIT, StrictCase
from fairopt.certificates.strict.claim import Claim
from fairopt.certificates.strict.near import NearInverse
from fairopt.instance import Bools, Floats, Ints

SAME = 1e-9
"""part by which prices of rows, or of a unit of share, differ that seem to be the same"""


def proved(case: StrictCase, claim: Claim, before: Callable[[Ints, Ints], Bools]) -> bool:
    """Whether there are such prices for every round: then nobody can rise, as all that rise are
    stopped in a round at whose prices they pay.

    Parameters
    ----------
    before : whether users at their limits have less than the levels of rounds.
    """
    owner, pays = case.owner, claim.pays
    # nobody who does not pay runs where something costs, and nobody pays who has more
    dear = case.matrix.T @ claim.priced.astype(float) > 0
    if (dear[claim.used] & ~pays[owner[claim.used]]).any():
        return False
    user, at = np.nonzero(pays & claim.capped[:, None])
    if not before(user, claim.last[at]).all():
        return False
    columns = np.flatnonzero(case.open_ & (claim.home[owner] != np.arange(len(owner))))
    user = owner[columns]
    used = claim.place[columns] >= 0
    over, gross = _over(case, claim, columns, claim.price)
    paying = pays[user]
    tied = paying & ((np.abs(over) <= SAME * gross) | used[:, None])
    price, off = np.zeros(claim.price.shape), np.zeros(len(claim.last))
    for j in range(len(off)):
        found = _determined(case, claim, j, columns[tied[:, j]])
        if found is None:
            return False
        price[:, j], off[j] = found
    over, gross = _over(case, claim, columns, price)
    many = int(np.diff(case.matrix.indptr).max())
    clear = over > (2 * off + (2 * many + 24) * UNIT) * gross
    return bool((clear | tied | ~paying).all())


def _over(case: StrictCase, claim: Claim, columns: Ints, price: Floats) -> tuple[Floats, Floats]:
    """(E, J) what columns cost above as much share at the home, times its score; and the sum of
    both."""
    cost = case.matrix.T @ price
    home, score = claim.home[case.owner[columns]], case.score[0]
    own, there = cost[columns] * score[home][:, None], cost[home] * score[columns][:, None]
    return own - there, own + there


def _determined(
    case: StrictCase, claim: Claim, j: int, columns: Ints
) -> tuple[Floats, float] | None:
    """(M,) prices at which these columns cost just as much as homes, all above 0, and the part by
    which each of them may be off; None where that is not proved."""
    rows = np.flatnonzero(claim.priced[:, j])
    given, resource = claim.price[rows, j], case.low.two[rows]
    order = np.lexsort((given, resource))
    rows, given, resource = rows[order], given[order], resource[order]
    new = np.diff(resource, prepend=-1) > 0
    new[1:] |= given[1:] > given[:-1] * (1 + SAME)
    lot = np.cumsum(new) - 1
    first, off = given[new], 0.0
    part = np.ones(len(first))
    of_row = np.full(len(claim.priced), -1)
    of_row[rows] = lot
    entries, wrong = _equations(case, claim, columns, of_row, first)
    if len(entries):
        solved = _solved(entries, wrong)
        if solved is None:
            return None
        part, off = solved
    price = np.zeros(len(claim.priced))
    price[rows] = (part * first)[lot]
    return price, off + 2 * UNIT


def _equations(
    case: StrictCase, claim: Claim, columns: Ints, of_row: Ints, size: Floats
) -> tuple[Floats, Floats]:
    """(E, L) the equations that do not hold at all prices, each once, and by how much entries may be
    wrong; prices are in parts of their sizes (L,).

    Parameters
    ----------
    of_row : (M,) which price each row has, -1 of those without.
    """
    home = claim.home[case.owner[columns]]
    exact = (case.told[:, columns] == case.told[:, home]).all(axis=0)
    times = np.where(exact, 1.0, case.score[0][columns] / case.score[0][home])
    shape = len(columns), len(size)
    entries, gross = np.zeros(shape), np.zeros(shape)
    for of, factor in ((columns, np.ones(len(columns))), (home, -times)):
        at, row, value = _entries(case, of)
        lot = of_row[row]
        some = lot >= 0
        where, value = (at[some], lot[some]), value[some] * factor[at[some]]
        # a column takes one amount of a resource, and so has one entry at most for each price
        entries[where] += value
        gross[where] += np.abs(value)
    nothing = exact[:, None] & (entries == 0)
    left = ((gross > 0) & ~nothing).any(axis=1)
    # where no sum was rounded, the same entries are the same equation
    pure = left & exact & ((gross == np.abs(entries)) | nothing).all(axis=1)
    known = set[bytes]()
    for k in np.flatnonzero(pure).tolist():
        one = entries[k]
        key = (one if one[np.argmax(one != 0)] > 0 else -one) + 0.0
        told = key.tobytes()
        left[k] = told not in known
        known.add(told)
    entries, gross = entries[left] * size, gross[left] * size
    most = gross.max(axis=1, initial=0.0)[:, None]
    return entries / most, 16 * UNIT * gross / most


def _entries(case: StrictCase, columns: Ints) -> tuple[Ints, Ints, Floats]:
    """(E,) which of some columns, row and value of each of their entries."""
    begin = case.matrix.indptr[columns]
    many = case.matrix.indptr[columns + 1] - begin
    at = np.repeat(np.arange(len(columns)), many)
    where = np.arange(len(at)) + np.repeat(begin - (np.cumsum(many) - many), many)
    return at, case.matrix.indices[where], case.matrix.data[where]


def _solved(entries: Floats, wrong: Floats) -> tuple[Floats, float] | None:
    """(L,) numbers near 1 that equations allow, all above 0, and the part by which they are off."""
    many, size = entries.shape
    if many >= size:
        return None
    found, order = np.ones(size), np.arange(size)
    if many < size - 1:
        from scipy.linalg import qr

        order = qr(entries, mode="r", pivoting=True, check_finite=False)[1]
    asked, kept = order[:many], order[many:]
    near = NearInverse.of(entries[:, asked], wrong[:, asked])
    if near is None:
        return None
    right = -entries[:, kept].sum(axis=1)
    own = near.inverse @ right
    own += near.inverse @ (right - entries[:, asked] @ own)
    found[asked] = own
    gross = np.abs(entries) @ np.abs(found)
    missing = np.abs(entries @ found) + (2 * size + 8) * UNIT * gross + wrong @ np.abs(found)
    wide = near.wide(missing)
    if wide is None or not (own > 2 * wide).all():
        return None
    return found, float((wide / own).max()) * (1 + 1e-9)


__all__ = ["proved"]
