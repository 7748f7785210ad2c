r"""The system of a step where rows fall into small blocks and users are fewer than rows.

.. math:: K - Q Q^T = L (I - Z Z^T) L^T, \qquad
          (I - Z Z^T)^{-1} = I + Z (I - Z^T Z)^{-1} Z^T, \qquad Z = L^{-1} Q

K = L L', what rows take from each other, is block by block: the rows of a server, or of a slice of
time. Q, what users hold back, has one column a user; so users are solved for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats, Ints

LEAST_ROWS, MANY_USERS, WIDEST = 60, 1.0, 40
"""least rows that are worth it, most users for each row, and most rows in a block"""
SHIFTS = 1e-15, 1e-13, 1e-11, 1e-9
"""what is added to a unit diagonal until there are factors"""


class Blocks(NamedTuple):
    """block (M,) and place in it (M,) of each row; how many blocks, and the widest."""

    block: Ints
    place: Ints
    shape: tuple[int, int]


def of(users: int, rows: int, row: Ints, column: Ints, columns: int) -> Blocks | None:
    """The blocks of rows that share no column (row, column of each entry); None where users are not
    fewer than rows or a block is large."""
    if rows < LEAST_ROWS or users >= MANY_USERS * rows or not rows:
        return None
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = rows + columns
    meets = coo_array((np.ones(len(row)), (row, rows + column)), shape=(size, size))
    block = np.unique(connected_components(meets, directed=False)[1][:rows], return_inverse=True)[1]
    width = np.bincount(block)
    if width.max() > WIDEST:
        return None
    order = np.argsort(block, kind="stable")
    place = np.empty(rows, dtype=np.int64)
    place[order] = np.arange(rows) - np.repeat(np.cumsum(width) - width, width)
    return Blocks(block, place, (len(width), int(width.max())))


class BlockFactors:
    """The factors: i, j, entries of the lower triangle of K; rho (M,) more on its diagonal; Q' of
    users, whole, (N, M).

    Raises
    ------
    ArithmeticError : it is not positive definite in floating point.
    """

    def __init__(
        self, blocks: Blocks, i: Ints, j: Ints, entries: Floats, rho: Floats, held: Floats
    ) -> None:
        from scipy.linalg import blas, lapack

        self.at = at = blocks.block, blocks.place
        self.shape = count, width = blocks.shape
        d = np.arange(width)
        k = np.zeros((count, width, width))
        k[at[0][i], at[1][i], at[1][j]] = k[at[0][i], at[1][j], at[1][i]] = entries
        k[*at, at[1]] += rho
        k[:, d, d] += k[:, d, d] == 0  # of narrower blocks
        if not (k[:, d, d] > 0).all():
            raise ArithmeticError("not positive definite")
        scale = 1.0 / np.sqrt(k[:, d, d])
        k *= scale[:, :, None] * scale[:, None, :]
        k[:, d, d] = 1 + SHIFTS[0]
        try:
            lower = np.linalg.cholesky(k)
        except np.linalg.LinAlgError as error:
            raise ArithmeticError("a block is not positive definite") from error
        self.inverse = np.tril(np.linalg.inv(lower)) * scale[:, None, :]
        wide = np.zeros((count, width, len(held)))
        wide[at] = held.T
        self.z = np.matmul(self.inverse, wide).reshape(-1, len(held))
        users = np.arange(len(held))
        whole = blas.dsyrk(-1.0, self.z.T, trans=0, lower=1)
        one = 1 + whole[users, users]
        for shift in SHIFTS:
            whole[users, users] = one + shift
            self.factor, info = lapack.dpotrf(whole, lower=1, clean=0, overwrite_a=0)
            if info == 0:
                return
        raise ArithmeticError("not positive definite")

    def solve(self, right: Floats) -> Floats:
        """(M,) the solution."""
        from scipy.linalg import lapack

        wide = np.zeros(self.shape)
        wide[self.at] = right
        w = np.matmul(self.inverse, wide[:, :, None]).ravel()
        w = w + self.z @ lapack.dpotrs(self.factor, self.z.T @ w, lower=1)[0]
        found = np.matmul(self.inverse.swapaxes(1, 2), w.reshape(*self.shape, 1))[:, :, 0]
        return np.asarray(found[self.at])


__all__ = ["BlockFactors", "Blocks", "of"]
