r"""A Newton step (`steps`) of many users: users are eliminated, and prices of shared rows are left.

Of the columns of a user, B is the inverse of what is left of the first block of the system: they
move against each other at a weak pull, together as the user's value asks. A limit that is a row
holds columns of one user alone, and is eliminated with it.

.. math:: (A B A^T + \rho)\, dp = A (B\,\mathrm{error} + \mathrm{rise}) - \mathrm{left}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.certificates import kernels
from fairopt.instance import Bools, Floats, Ints

DEPENDENT = 2.0**-48
"""part of a row by which rows that depend on each other are told apart"""
PULL, LOOSE = 1e-9, 1e-15
"""R, the pull of columns to where they are, and rho"""
ROWS = 3_000
"""most full rows that users share"""
OWN = 100
"""full rows up to which none is eliminated with its user"""
PIECE = 1 << 16
"""entries that are summed up at once, so that arrays stay in the cache"""
CHUNK = 1 << 20
"""numbers of rows times users spread out at once"""
DENSE = 20_000
"""numbers of rows times columns up to which these are multiplied as a full table"""


@dataclass(frozen=True)
class Missing:
    """The system of a step, in its own units.

    Parameters
    ----------
    owner : (H,) of the columns that move, -1 of flows. part : (H,) weights of the pull.
    rows : full ones. row, each, entry : the entries of A. error : (H,), left : (rows,), miss : (N,)
    right sides. bend : (N,) T. unit : (H,), norm : (rows,), root : (N,) money in a user's unit of
    value: what the solution is multiplied by. count : rows in all. give : (rows,) elasticity of
    rows with pulls, which is their rho. pulled : (rows,) which those are, hard ones included; None
    where there are none.
    """

    owner: Ints
    part: Floats
    rows: Ints
    row: Ints
    each: Ints
    entry: Floats
    error: Floats
    left: Floats
    miss: Floats
    bend: Floats
    unit: Floats
    norm: Floats
    value_unit: Floats
    count: int
    give: Floats
    pulled: Bools | None = None


def by_rows(wanted: Missing) -> tuple[Floats, Floats, Floats] | None:
    """The step of columns, rows and values, in the units of the system; None if it is singular or
    too large."""
    n, users, held = wanted.owner, len(wanted.miss), len(wanted.owner)
    lone = _own_rows(wanted)
    shared = np.ones(len(wanted.rows), dtype=bool)
    shared[lone[lone >= 0]] = False
    shared = np.flatnonzero(shared)
    size = len(shared)
    if size > ROWS:
        return None
    number = np.full(len(wanted.rows), -1)
    number[shared] = np.arange(size)
    on = slice(None) if size == len(wanted.rows) else number[wanted.row] >= 0
    a = SharedRows(number[wanted.row[on]], wanted.each[on], wanted.entry[on], size, held)
    tied, bend, part = n >= 0, wanted.bend, wanted.part
    own = np.where(tied, n, 0)
    whole = np.bincount(n[tied], part[tied], users)
    count = np.bincount(n[tied], minlength=users)
    limited = tied & (lone >= 0)[own]
    plain = tied & ~limited
    free = np.where(tied, count[own] > 1, True) & ~limited
    damp = bend / (1 + PULL * bend / whole)
    ratio = np.where(plain, part / whole[own], 0.0)
    several = np.where((count > 1) & (lone < 0), whole / PULL, 0.0)
    apart, together = np.where(free, part / PULL, 0.0), np.where(lone < 0, damp, 0.0) - several
    if kernels.applies(n, a.each):
        s = kernels.squares(a.row, a.each, a.entry, n, apart, ratio, together, size)
    else:
        s = a.square(apart) + a.by_user(ratio, own, together)
    s += LOOSE * np.eye(size)
    groups = _grouped(wanted, lone, np.flatnonzero(limited))
    block = _block(groups, held) if groups else None
    if block is not None:
        s += a.around(block)
    factors = factored(s) if size else lambda right: right  # nobody shares a row that is full
    if factors is None:  # rows that depend on each other
        factors = factored(s + DEPENDENT * np.diag(s.diagonal()))
    if factors is None:
        return None

    def moved(f: Floats) -> Floats:
        level = np.bincount(n[plain], (ratio * f)[plain], users)
        apart = np.where(free, part * (f - np.where(plain, level[own], 0.0)) / PULL, 0.0)
        together = ratio * (damp * level)[own]
        found = np.asarray(apart + together)
        return found if block is None else found + block @ f

    def step(error: Floats, left: Floats, miss: Floats) -> tuple[Floats, Floats, Floats]:
        rise = np.where(plain, ratio * (miss / (1 + PULL * bend / whole))[own], 0.0)
        for group in groups:
            group.rise(rise, left[lone[group.users]], miss[group.users])
        dp = factors(a.times(moved(error) + rise) - left[shared])
        f = error - a.back(dp)
        dz = moved(f) + rise
        # -U dz - T dv = -miss; of users at a bound, the mean of their columns
        risen = np.bincount(n[tied], dz[tied], users)
        bent = np.where(bend > 0, bend, 1.0)
        mean = np.bincount(n[tied], (part * f)[tied], users) / whole
        dv = np.where(bend > 0, (miss - risen) / bent, -mean)
        every = np.zeros(len(wanted.rows))
        every[shared] = dp
        if block is not None:  # what is left of a column's price is that of its limit
            c = np.flatnonzero(limited)
            each = _coefficient(wanted, lone)[c]
            rest = (f[c] - PULL * dz[c] / part[c] + dv[n[c]]) * each * part[c]
            some = np.unique(n[c])
            size_of = np.bincount(n[c], each**2 * part[c], users)[some]
            every[lone[some]] = np.bincount(n[c], rest, users)[some] / size_of
        return dz, every, dv

    return twice(wanted, step)


def twice(
    wanted: Missing, step: Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
) -> tuple[Floats, Floats, Floats] | None:
    """A step, and once more for what rows and prices still lack, by prices whose errors are small
    without the pull, which costs half of the digits; None if it is not finite."""
    tied = wanted.owner >= 0
    own = np.where(tied, wanted.owner, 0)
    found = step(wanted.error, wanted.left, wanted.miss)
    dz, dp, dv = found
    pull = min(PULL, float(np.abs(wanted.error).max(initial=0.0)))
    held = len(wanted.owner)
    a = SharedRows(wanted.row, wanted.each, wanted.entry, len(wanted.rows), held)
    lacking = wanted.error - pull * dz / wanted.part - a.back(dp) + np.where(tied, dv[own], 0.0)
    again = step(lacking, wanted.left - a.times(dz) + LOOSE * dp, np.zeros(len(wanted.miss)))
    dz, dp, dv = (one + more for one, more in zip(found, again, strict=True))
    if not all(np.isfinite(each).all() for each in (dz, dp, dv)):
        return None
    return dz, dp, dv


@dataclass(frozen=True)
class SharedRows:
    """The rows that users share, by entries; columns in order."""

    row: Ints
    each: Ints
    entry: Floats
    size: int
    held: int

    def times(self, x: Floats) -> Floats:
        """A x."""
        found = np.zeros(self.size)
        for start in range(0, len(self.row), PIECE):
            some = slice(start, start + PIECE)
            found += np.bincount(self.row[some], self.entry[some] * x[self.each[some]], self.size)
        return found

    def back(self, p: Floats) -> Floats:
        """A^T p."""
        found = np.zeros(self.held)
        for start in range(0, len(self.row), PIECE):
            some = slice(start, start + PIECE)
            each = self.each[some]
            low = int(each.min())
            cost = np.bincount(each - low, self.entry[some] * p[self.row[some]])
            found[low : low + len(cost)] += cost
        return found

    def square(self, factor: Floats) -> Floats:
        """A diag(factor) A^T."""
        if self.size * self.held <= DENSE:
            at = self.row * self.held + self.each
            full = np.bincount(at, self.entry, self.size * self.held)
            full = full.reshape(self.size, self.held)
            return np.asarray((full * factor) @ full.T)
        from scipy.sparse import csr_array

        kept = np.flatnonzero(factor[self.each])
        row, each, entry = self.row[kept], self.each[kept], self.entry[kept]
        weighted = csr_array((entry * factor[each], (row, each)), shape=(self.size, self.held))
        across = csr_array((entry, (each, row)), shape=(self.held, self.size))
        return np.asarray((weighted @ across).toarray(), dtype=np.float64)

    def by_user(self, ratio: Floats, own: Ints, factor: Floats) -> Floats:
        """V diag(factor) V^T, where V (rows, N) is A with a user's columns added up by ratio."""
        user, value = own[self.each], self.entry * ratio[self.each]
        kept = np.flatnonzero((value != 0) & (factor[user] != 0))
        if len(kept) and (np.diff(user[kept]) < 0).any():
            kept = kept[np.argsort(user[kept], kind="stable")]
        row, user, value = self.row[kept], user[kept], value[kept]
        found, step = np.zeros((self.size, self.size)), max(1, CHUNK // max(self.size, 1))
        starts = np.arange(0, len(factor), step)
        ends = np.searchsorted(user, np.append(starts, len(factor)))
        for start, a, b in zip(starts.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if a == b:
                continue
            width = min(step, len(factor) - start)
            at = row[a:b] * width + (user[a:b] - start)
            v = np.bincount(at, value[a:b], self.size * width).reshape(self.size, width)
            part = factor[start : start + width]
            for sign in (1.0, -1.0):  # of a matrix times itself one half is computed
                if (some := sign * part > 0).any():
                    half = v[:, some] * np.sqrt(np.abs(part[some]))
                    found += sign * (half @ half.T)
        return found

    def around(self, block: Any) -> Floats:
        """A block A^T."""
        from scipy.sparse import csr_array

        a = csr_array((self.entry, (self.row, self.each)), shape=(self.size, self.held))
        return np.asarray((a @ (block @ a.T).tocsr()).toarray(), dtype=np.float64)


def _own_rows(wanted: Missing) -> Ints:
    """(N,) a full row that holds columns of this user alone, the last one; -1: none, or few rows
    in all."""
    rows = len(wanted.rows)
    lone = np.full(len(wanted.miss), -1)
    if rows <= OWN:
        return lone
    owner = wanted.owner[wanted.each]
    low, high = np.full(rows, len(lone)), np.full(rows, -1)
    np.minimum.at(low, wanted.row, owner)
    np.maximum.at(high, wanted.row, owner)
    own = np.flatnonzero((low == high) & (low >= 0))
    lone[low[own]] = own
    return lone


def _coefficient(wanted: Missing, lone: Ints) -> Floats:
    """(H,) the entry of each column in its user's own row."""
    owner = wanted.owner[wanted.each]
    on = np.flatnonzero((owner >= 0) & (lone[owner] == wanted.row))
    found = np.zeros(len(wanted.owner))
    found[wanted.each[on]] = wanted.entry[on]
    return found


@dataclass(frozen=True)
class _OwnRowUsers:
    """Users (n,) with rows of their own and as many columns (n, k) that move; B of their columns
    (n, k, k), the sums of its rows (n, k) before and the sum of those and bend (n, 1), and what
    their own rows, (n, k), ask of them."""

    users: Ints
    columns: Ints
    block: Floats
    ones: Floats
    whole: Floats
    limit: Floats

    def rise(self, found: Floats, left: Floats, miss: Floats) -> None:
        """Into `found` (H,): what own rows of which so much is left, and values, ask for."""
        limit = self.limit * left[:, None]
        found[self.columns] = limit + self.ones * (miss - limit.sum(axis=1))[:, None] / self.whole


def _grouped(wanted: Missing, lone: Ints, columns: Ints) -> list[_OwnRowUsers]:
    """Users with rows of their own, by how many of these columns are theirs."""
    if not len(columns):
        return []
    columns = columns[np.argsort(wanted.owner[columns], kind="stable")]
    users, first, count = np.unique(wanted.owner[columns], return_index=True, return_counts=True)
    entry, found = _coefficient(wanted, lone), []
    for k in np.unique(count).tolist():
        some = count == k
        n, own = users[some], columns[first[some][:, None] + np.arange(k)]
        weight, a = wanted.part[own] / PULL, entry[own]
        wa = weight * a
        size = (wa * a).sum(axis=1) + LOOSE
        if k == 1:
            b = (weight * LOOSE / size[:, None])[:, :, None]
        else:
            b = weight[:, :, None] * np.eye(k) - wa[:, :, None] * wa[:, None] / size[:, None, None]
        ones = b.sum(axis=2)
        whole = (ones.sum(axis=1) + np.maximum(wanted.bend[n], LOOSE))[:, None]
        b = b - ones[:, :, None] * ones[:, None] / whole[:, :, None]
        found.append(_OwnRowUsers(n, own, b, ones, whole, wa / size[:, None]))
    return found


def _block(groups: list[_OwnRowUsers], held: int) -> Any:
    """B (H, H) of the columns of users with rows of their own."""
    from scipy.sparse import csr_array

    widths = [group.columns.shape[1] for group in groups]
    one = [
        np.repeat(group.columns, k, axis=1).ravel() for group, k in zip(groups, widths, strict=True)
    ]
    two = [np.tile(group.columns, (1, k)).ravel() for group, k in zip(groups, widths, strict=True)]
    value = np.concatenate([group.block.ravel() for group in groups])
    return csr_array((value, (np.concatenate(one), np.concatenate(two))), shape=(held, held))


def factored(matrix: Floats) -> Callable[[Floats], Floats] | None:
    """What solves a system with this matrix; None where it is singular."""
    from scipy.linalg import get_lapack_funcs

    if not np.isfinite(matrix).all():
        return None
    factor, solve = get_lapack_funcs(("getrf", "getrs"), (matrix,))
    lu, pivots, info = factor(matrix)
    if info != 0:
        return None
    return lambda right: np.asarray(solve(lu, pivots, right)[0], dtype=np.float64)


def finite(matrix: Floats, right: Floats) -> Floats | None:
    """The solution of a square system; None where it has none in finite numbers."""
    try:
        found: Floats = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


__all__ = ["LOOSE", "Missing", "SharedRows", "by_rows", "factored", "finite", "twice"]
