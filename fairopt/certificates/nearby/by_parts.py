"""The least-squares system of rows by parts that share no column, as the slices of a horizon.

The columns of a user are in many parts, but what its rows ask is little beside all rows. With B the
rows inside of parts, Z the others (rows of one user in several parts, and all users' W),

    T = (I - B^+ B) Z' ,  d = B^+ b + (T^+)' (z - Z B^+ b)

is the least d with B d = b and Z d = z: B^+ is known part by part, and T is as narrow as Z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.formulas.gathered import sparse
from fairopt.instance import Floats, Ints

NOTHING = 1e-13
"""part of the largest singular value below which it is 0"""
SHORT = 4, 16, 64
"""most columns of one user that a row may have that links parts"""
CHEAPER = 10
"""times that parts must be cheaper than all rows at once"""


@dataclass(frozen=True)
class Parts:
    """The system (B P) d = b of `least`, by parts.

    Parameters
    ----------
    matrix : (R, C), sparse. right, left : orthonormal bases of columns (K, C) and of rows inside of
        parts (., K), sparse; size : (K,) singular values of all parts.
    rows, beside : places of rows inside of parts, and of the others. border : (Q, C) the others,
        then users' W, each of norm 1; norm : (len(beside),) what they were.
    """

    matrix: Any
    left: Any
    right: Any
    size: Floats
    rows: Ints
    beside: Ints
    border: Any
    norm: Floats

    @classmethod
    def of(cls, matrix: Any, own: Floats, owner: Ints) -> Parts | None:
        """The parts of a sparse matrix (R, C); None where all rows at once are as cheap.

        Parameters
        ----------
        own, owner : (C,) the entry of W, and whose it is.
        """
        matrix = matrix.tocsr()
        rows, columns = matrix.shape
        users = np.unique(owner[own != 0])
        name, beside, work = _parts(matrix, owner, len(users))
        inside = np.setdiff1d(np.arange(rows), beside)
        if not len(inside) or CHEAPER * work > float(rows) ** 3:
            return None
        left, right, big = _singular(matrix, name, inside)
        place = np.full(int(owner.max(initial=0)) + 1, -1)
        place[users] = np.arange(len(users))
        some = np.flatnonzero(own)
        whose = sparse(own[some], place[owner[some]], some, (len(users), columns))
        from scipy.sparse import vstack

        border = vstack([matrix[beside], whose]).tocsr()
        norm = np.sqrt(np.asarray(border.power(2).sum(axis=1)).ravel())
        norm = np.where(norm > 0, norm, 1.0)
        border = border.multiply(1 / norm[:, None]).tocsr()
        return cls(matrix, left, right, big, inside, beside, border, norm[: len(beside)])

    @cached_property
    def _narrow(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The singular values of T, what they belong to, and what of Z is nothing beside B."""
        wide = self.border.T.toarray()
        for _ in range(2):
            wide = wide - self.right.T @ (self.right @ wide)
        left, size, right = np.linalg.svd(wide, full_matrices=False)
        keep = size > NOTHING
        return left[:, keep], size[keep], right[keep], right[~keep]

    @cached_property
    def _idle(self) -> Floats:
        """(R, ...) orthonormal changes of prices that values of users make up for."""
        count = len(self.beside)
        alone = self._narrow[3].T
        found = np.zeros((len(self.rows) + count, alone.shape[1]))
        found[self.rows] = -self._priced(self.border.T @ alone)
        found[self.beside] = alone[:count] / self.norm[:, None]
        left, size, _ = np.linalg.svd(found, full_matrices=False)
        return np.asarray(left[:, size > NOTHING * size.max(initial=0.0)])

    def _priced(self, of_columns: Floats) -> Floats:
        """The prices of rows inside of parts whose least squares numbers of columns are."""
        part = (self.right @ of_columns).T / self.size
        return np.asarray(self.left @ part.T)

    def solve(self, missing: Floats) -> Floats:
        """(C,) the least d with (B P) d = missing (R,)."""
        missing = missing - self._idle @ (self._idle.T @ missing)
        found = self.right.T @ ((self.left.T @ missing[self.rows]) / self.size)
        short = -(self.border @ found)
        short[: len(self.beside)] += missing[self.beside] / self.norm
        left, size, right, _ = self._narrow
        return np.asarray(found + left @ ((right @ short) / size))

    def fit(self, apart: Floats) -> Floats:
        """(R,) the least p with the least squares of (B P)' p = apart (C,)."""
        left, size, right, _ = self._narrow
        value = right.T @ ((left.T @ apart) / size)
        found = np.zeros(len(self.rows) + len(self.beside))
        found[self.rows] = self._priced(apart - self.border.T @ value)
        found[self.beside] = value[: len(self.beside)] / self.norm
        return np.asarray(found - self._idle @ (self._idle.T @ found))

    @cached_property
    def least(self) -> float:
        """About the least singular value that is not 0, as a part of the largest."""
        users = self.border[len(self.beside) :]

        def once(price: Floats) -> Floats:
            step = self.matrix.T @ price
            return np.asarray(self.matrix @ (step - users.T @ (users @ step)))

        count = self.matrix.shape[0]
        back = _largest(lambda price: self.fit(self.solve(price)), count)
        return float(1 / np.sqrt(back * _largest(once, count)))


def _largest(operator: Callable[[Floats], Floats], count: int) -> float:
    """The largest eigenvalue of a symmetric operator, to three digits."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    start = np.random.default_rng(0).standard_normal(count)
    both = LinearOperator((count, count), matvec=lambda x: operator(x.ravel()), dtype=float)
    found = eigsh(both, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
    return float(found[0])


def _parts(matrix: Any, owner: Ints, users: int) -> tuple[Ints, Ints, float]:
    """(R,) the part of each row; the rows of one user's columns that are in several parts; the
    work. Short rows of one user link parts, long ones do not, whichever is cheapest."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = matrix.shape
    each = matrix.tocoo()
    row, column = each.row, each.col
    low, high = _ends(owner[column], row, rows)
    entries = np.bincount(row, minlength=rows)
    best: tuple[Ints, Ints, float] | None = None
    for most in SHORT:
        long = (low == high) & (entries > most)
        links = ~long[row]
        graph = coo_array(
            (np.ones(int(links.sum())), (row[links], rows + column[links])),
            shape=(rows + columns,) * 2,
        )
        _, name = connected_components(graph, directed=False)
        # a long row joins the part of its columns if that is one
        first, last = _ends(name[rows + column[~links]], row[~links], rows)
        beside = np.flatnonzero(first < last)
        name = np.where(long, last, name[:rows])
        size = np.bincount(np.delete(name, beside))
        width = users + len(beside)
        work = float(size.max(initial=0)) * float(size @ size) + float(columns) * width**2
        if best is None or work < best[2]:
            best = name, beside, work
    assert best is not None
    return best


def _ends(value: Ints, row: Ints, rows: int) -> tuple[Ints, Ints]:
    """(rows,) the least and the largest value of each row; the least is above where it has none."""
    low, high = np.full(rows, np.iinfo(int).max), np.full(rows, -1)
    np.minimum.at(low, row, value)
    np.maximum.at(high, row, value)
    return low, high


def _singular(matrix: Any, name: Ints, inside: Ints) -> tuple[Any, Any, Floats]:
    """The singular values of all parts and their bases."""
    order = inside[np.argsort(name[inside], kind="stable")]
    place = np.searchsorted(inside, order)
    ends = np.flatnonzero(np.diff(name[order], prepend=-1, append=-1))
    lefts, rights, sizes = list[Any](), list[Any](), list[Floats]()
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        block = matrix[order[first:last]].tocoo()
        at, column = np.unique(block.col, return_inverse=True)
        dense = np.zeros((last - first, len(at)))
        dense[block.row, column] = block.data
        left, size, right = np.linalg.svd(dense, full_matrices=False)
        lefts.append((left, place[first:last]))
        rights.append((right.T, at))
        sizes.append(size)
    big = np.concatenate(sizes)
    keep = big > NOTHING * big.max(initial=0.0)
    left = _side_by_side(lefts, len(inside))[:, keep]
    return left, _side_by_side(rights, matrix.shape[1])[:, keep].T.tocsr(), big[keep]


def _side_by_side(blocks: list[Any], rows: int) -> Any:
    """Dense blocks, each on rows of its own, as one sparse matrix."""
    entry = np.concatenate([block.ravel() for block, _ in blocks])
    row = np.concatenate([np.repeat(at, block.shape[1]) for block, at in blocks])
    wide = np.array([block.shape[1] for block, _ in blocks])
    start = np.cumsum(wide) - wide
    column = np.concatenate(
        [
            np.tile(np.arange(first, first + block.shape[1]), len(at))
            for (block, at), first in zip(blocks, start.tolist(), strict=True)
        ]
    )
    return sparse(entry, row, column, (rows, int(wide.sum()))).tocsc()
