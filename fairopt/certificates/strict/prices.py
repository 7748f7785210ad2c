"""Prices of rounds that columns in use determine, and what they prove, in floats.

Whoever pays runs where a unit of its share costs least; each of its columns that runs, or is as
cheap, is an equation between prices. Rows of one resource that seem to have the same price are
given the same one: then most equations hold whatever it is. The others are to be fewer than the
prices, and regular; prices that they leave open are as the answer tells them. Any other column of
who pays has to be dearer for sure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairopt.certificates.strict.case import UNIT, StrictCase
from fairopt.certificates.strict.claim import Claim
from fairopt.certificates.strict.near import NearInverse, times
from fairopt.instance import Bools, Floats, Ints

SAME_PRICES = (1e-9, 1e-7)
"""part by which prices of rows, or of a unit of share, differ that seem to be the same; each is
tried"""
MOST_ENTRIES = 20_000_000
"""most entries of systems side by side"""


def proved(case: StrictCase, claim: Claim, before: Callable[[Ints, Ints], Bools]) -> bool:
    """Whether there are such prices for every round: then nobody can rise, as all that rise are
    stopped in a round at whose prices they pay.

    Parameters
    ----------
    before : whether users at their limits have less than the levels of rounds.
    """
    owner = case.owner
    rounds = _rounds(case, claim)
    full = np.zeros(len(claim.priced), dtype=bool)
    full[claim.rows] = True
    if rounds is None or rounds.priced[~full].any():
        return False
    # nobody who does not pay runs where something costs, and nobody pays who has more
    pays = rounds.pays
    if (rounds.dear[claim.used] & ~pays[owner[claim.used]]).any():
        return False
    user, at = np.nonzero(pays & claim.capped[:, None])
    if not before(user, rounds.last[at]).all():
        return False
    columns = np.flatnonzero(case.open_ & (claim.home[owner] != np.arange(len(owner))))
    user = owner[columns]
    used = claim.place[columns] >= 0
    about, paying = _over(case, claim, columns, rounds.price), pays[user]
    many = int(np.diff(case.matrix.indptr).max())
    for same in SAME_PRICES:
        tied = paying & ((np.abs(about[0]) <= same * about[1]) | used[:, None])
        found = _determined(case, claim, rounds, *_pairs(columns, tied), same)
        if found is not None:
            price, off = found
            over, gross = _over(case, claim, columns, price)
            clear = over > (2 * off + (2 * many + 24) * UNIT) * gross
            if (clear | tied | ~paying).all():
                return True
    return False


class _ProvingPrices(NamedTuple):
    """Prices that prove somebody, which may be those of several levels.

    Parameters
    ----------
    priced, price : (M, J) rows with a price, and these. dear : (P, J) columns on which something
        costs. pays : (N, J) who pays on each of its open columns. last : (J,) the last round of
        whoever pays, whose users these prices are to prove.
    """

    priced: Bools
    price: Floats
    dear: Bools
    pays: Bools
    last: Ints


def _rounds(case: StrictCase, claim: Claim) -> _ProvingPrices | None:
    """The prices that are needed; None where these leave out somebody who rises."""
    stage = claim.stage
    dear = case.across @ claim.priced.astype(float) > 0
    at = np.flatnonzero(case.open_)
    begin = np.flatnonzero(np.diff(case.owner[at], prepend=-1))
    pays = np.zeros((len(stage), claim.priced.shape[1]), dtype=bool)
    pays[case.owner[at[begin]]] = np.logical_and.reduceat(dear[at], begin, axis=0)
    last = np.where(pays, stage[:, None], -1).max(axis=0)
    proves = pays & (stage[:, None] == last) & (last >= 0)
    done, chosen = stage < 0, list[int]()
    for j in np.flatnonzero(proves.any(axis=0)).tolist():
        if (proves[:, j] & ~done).any():
            chosen.append(j)
            done |= proves[:, j]
    if not done.all():
        return None
    priced, price = claim.priced[:, chosen], claim.price[:, chosen]
    return _ProvingPrices(priced, price, dear[:, chosen], pays[:, chosen], last[chosen])


def _over(case: StrictCase, claim: Claim, columns: Ints, price: Floats) -> tuple[Floats, Floats]:
    """(E, J) what columns cost above as much share at the home, times its score; and the sum of
    both."""
    cost = case.across @ price
    home, score = claim.home[case.owner[columns]], case.score[0]
    own, there = cost[columns] * score[home][:, None], cost[home] * score[columns][:, None]
    return own - there, own + there


def _pairs(columns: Ints, tied: Bools) -> tuple[Ints, Ints]:
    """(E,) which columns are tied at which prices, prices in order."""
    at, column = np.nonzero(tied.T)
    return columns[column], at


def _determined(
    case: StrictCase, claim: Claim, rounds: _ProvingPrices, columns: Ints, at: Ints, same: float
) -> tuple[Floats, Floats] | None:
    """(M, J) prices at which columns cost just as much as homes, all above 0, and (J,) the part by
    which each of them may be off; None where that is not proved.

    Parameters
    ----------
    columns, at : (E,) which are to do so, at which prices. same : part by which prices may differ
        that are one.
    """
    # rows of one resource and nearly one price have one price
    j, row = np.nonzero(rounds.priced.T)
    given, resource = rounds.price[row, j], case.low.two[row]
    order = np.lexsort((given, resource, j))
    j, row, given, resource = j[order], row[order], given[order], resource[order]
    new = np.ones(len(j), dtype=bool)
    new[1:] = (j[1:] > j[:-1]) | (resource[1:] > resource[:-1])
    new[1:] |= given[1:] > given[:-1] * (1 + same)
    lot = np.cumsum(new) - 1
    of_row = np.full(rounds.priced.shape, -1)
    of_row[row, j] = lot
    size, many = given[new], np.bincount(j[new], minlength=len(rounds.last))
    solved = _solved(_equations(case, claim, columns, at, of_row, size), many)
    if solved is None:
        return None
    part, off = solved
    price = np.zeros(rounds.priced.shape)
    price[row, j] = (part * size)[lot]
    return price, off + 2 * UNIT


class _PriceEntries(NamedTuple):
    """Entries of equations between prices, in their order: equation, at which prices, which price,
    value, and by how much it may be wrong."""

    row: Ints
    at: Ints
    lot: Ints
    value: Floats
    wrong: Floats


def _equations(
    case: StrictCase, claim: Claim, columns: Ints, at: Ints, of_row: Ints, size: Floats
) -> _PriceEntries:
    """The equations that do not hold at all prices, each once; prices are in parts of their sizes.

    Parameters
    ----------
    of_row : (M, J) which price each row has, -1 of those without. size : (L,) of prices.
    """
    home = claim.home[case.owner[columns]]
    exact = (case.told[:, columns] == case.told[:, home]).all(axis=0)
    times_ = np.where(exact, 1.0, case.score[0][columns] / case.score[0][home])
    each = list[tuple[Ints, Ints, Floats]]()
    for of, factor in ((columns, np.ones(len(columns))), (home, -times_)):
        which, row, value = _entries(case, of)
        lot = of_row[row, at[which]]
        some = lot >= 0
        each.append((which[some], lot[some], value[some] * factor[which[some]]))
    which, lot, value = (np.concatenate(parts) for parts in zip(*each, strict=True))
    if not len(which):
        return _PriceEntries(which, which, which, value, value)
    # a column takes one amount of a resource: of each price these are two numbers at most
    order = np.lexsort((lot, which))
    which, lot, value = which[order], lot[order], value[order]
    begin = np.flatnonzero((np.diff(which, prepend=-1) > 0) | (np.diff(lot, prepend=-1) != 0))
    gross, value = (np.add.reduceat(v, begin) for v in (np.abs(value), value))
    which, lot = which[begin], lot[begin]
    some = (value != 0) | ~exact[which]
    which, lot, value, gross = which[some], lot[some], value[some], gross[some]
    left = _once(which, lot, value, exact[which] & (gross == np.abs(value)))
    which, lot, value, gross = which[left], lot[left], value[left], gross[left]
    if not len(which):
        return _PriceEntries(which, which, which, value, value)
    begin = np.flatnonzero(np.diff(which, prepend=-1))
    row = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(which)))
    gross, value = gross * size[lot], value * size[lot]
    most = np.maximum.reduceat(gross, begin)[row]
    return _PriceEntries(row, at[which], lot, value / most, 16 * UNIT * gross / most)


def _once(which: Ints, lot: Ints, value: Floats, pure: Bools) -> Bools:
    """(E,) entries of equations that are not there already.

    Parameters
    ----------
    pure : (E,) whose value was not rounded: where all are, the same entries are the same equation.
    """
    left = np.ones(len(which), dtype=bool)
    known = set[bytes]()
    ends = [*np.flatnonzero(np.diff(which, prepend=-1)).tolist(), len(which)]
    for a, b in itertools.pairwise(ends):
        if pure[a:b].all():
            one = value[a:b] if value[a] > 0 else -value[a:b]
            key = lot[a:b].tobytes() + one.tobytes()
            left[a:b] = key not in known
            known.add(key)
    return left


def _entries(case: StrictCase, columns: Ints) -> tuple[Ints, Ints, Floats]:
    """(E,) which of some columns, row and value of each of their entries."""
    begin = case.matrix.indptr[columns]
    many = case.matrix.indptr[columns + 1] - begin
    at = np.repeat(np.arange(len(columns)), many)
    where = np.arange(len(at)) + np.repeat(begin - (np.cumsum(many) - many), many)
    return at, case.matrix.indices[where], case.matrix.data[where]


def _solved(of: _PriceEntries, many: Ints) -> tuple[Floats, Floats] | None:
    """(L,) numbers near 1 that equations allow, all above 0, and (J,) the part by which they are
    off; None where that is not proved.

    Parameters
    ----------
    many : (J,) how many there are at each prices, one after another.
    """
    found, off = np.ones(int(many.sum())), np.zeros(len(many))
    if not len(of.row):
        return found, off
    first = np.flatnonzero(np.diff(of.row, prepend=-1))
    asked = np.bincount(of.at[first], minlength=len(many))  # equations
    if (asked >= many).any():
        return None
    some = np.flatnonzero(asked)
    size, width = int(asked.max()), int(many.max())
    if len(some) * size * width > MOST_ENTRIES:
        return None
    # systems with equations, side by side, as large as the largest
    place = np.full(len(many), -1)
    place[some] = np.arange(len(some))
    start, begin = np.cumsum(many) - many, np.cumsum(asked) - asked
    where = place[of.at], of.row - begin[of.at], of.lot - start[of.at]
    entries, wrong = np.zeros((2, len(some), size, width))
    entries[where], wrong[where] = of.value, of.wrong
    solved = _side_by_side(entries, wrong, asked[some], many[some])
    if solved is None:
        return None
    part, off[some] = solved
    mine = np.arange(width) < many[some][:, None]
    found[(start[some][:, None] + np.arange(width))[mine]] = part[mine]
    return found, off


def _side_by_side(
    entries: Floats, wrong: Floats, asked: Ints, many: Ints
) -> tuple[Floats, Floats] | None:
    """(J, L) numbers near 1 that equations allow, and (J,) the part by which they are off.

    Parameters
    ----------
    entries, wrong : (J, C, L), 0 beyond the equations, asked (J,), and numbers, many (J,), of each.
    """
    systems, size, width = entries.shape
    order = np.tile(np.arange(width), (systems, 1))
    for j in np.flatnonzero(asked < many - 1).tolist():
        from scipy.linalg import qr

        own = entries[j, : asked[j], : many[j]]
        order[j, : many[j]] = qr(own, mode="r", pivoting=True, check_finite=False)[1]
    # what equations leave open is 1; beyond the equations of one there are those of nothing
    found = np.zeros((systems, width))
    kept = (np.arange(width) >= asked[:, None]) & (np.arange(width) < many[:, None])
    np.put_along_axis(found, order, kept.astype(float), axis=1)
    mine, idle = order[:, :size], np.arange(size) >= asked[:, None]
    square, error = (
        np.where(idle[:, None, :], 0.0, np.take_along_axis(of, mine[:, None, :], axis=2))
        for of in (entries, wrong)
    )
    which, c = np.nonzero(idle)
    square[which, c, c] = 1.0
    near = NearInverse.of(square, error)
    if near is None:
        return None
    right = -times(entries, found)
    own = times(near.inverse, right)
    own = own + times(near.inverse, right - times(square, own))
    known = np.take_along_axis(found, mine, axis=1)
    np.put_along_axis(found, mine, np.where(idle, known, own), axis=1)
    size_of = np.abs(found)
    lost = times((2 * width + 8) * UNIT * np.abs(entries) + wrong, size_of)
    wide = near.wide(np.abs(times(entries, found)) + lost)
    if wide is None or not (idle | (own > 2 * wide)).all():
        return None
    part = np.where(idle, 0.0, wide / np.where(idle, 1.0, own))
    return found, np.asarray(part.max(axis=1) * (1 + 1e-9))


__all__ = ["proved"]
