"""The least change of columns, or of prices, that puts right what is missing: in squares.

A column belongs to one user at most, a row takes of many columns. With B the rows' entries and W
the users', users are eliminated, so that a system of rows is left:

    (B P) d = b,  P = I - W' (W W')^-1 W .

Both its least-norm solution d and the rows' least squares of the transposed system come from its
singular values, of all rows at once or by parts (`by_parts`). A row of one column alone (a limit on
a server) says what that column is, and is eliminated first. Nothing here is believed: digits that
it lacks are made up by another step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.certificates.nearby.by_parts import Parts
from fairopt.formulas.gathered import sparse
from fairopt.instance import Floats, Ints

DENSE = 3e7
"""rows squared times columns up to which singular values are those of the matrix itself, not of its
square, which has half their digits"""
SMALL = 20_000
"""numbers up to which a matrix is dense"""
NOTHING, NOTHING_SQUARED = 1e-13, 1e-14
"""part of the largest singular value, and of its square, below which it is 0"""


class Least:
    """See the module.

    Parameters
    ----------
    row, each, entry : (E,) of the matrix B, (rows, C). owner : (C,) user of each column, or -1.
    own : (C,) its entry of W.
    """

    def __init__(
        self, rows: int, row: Ints, each: Ints, entry: Floats, owner: Ints, own: Floats
    ) -> None:
        self._owner, own = np.maximum(owner, 0), np.where(owner >= 0, own, 0.0)
        self._users = int(self._owner.max(initial=0)) + 1
        count = np.bincount(row, minlength=rows)
        # of each column one row that it has for itself
        alone = np.flatnonzero(count[row] == 1)
        self._of, first = np.unique(each[alone], return_index=True)
        self._by, self._entry = row[alone[first]], entry[alone[first]]
        free = np.ones(len(owner), dtype=bool)
        free[self._of] = False
        self._whole = _matrix(entry, row, each, rows, len(owner))
        self._all, self._own = own, np.where(free, own, 0.0)
        shared = np.ones(rows, dtype=bool)
        shared[self._by] = False
        self._rows, self._free = np.flatnonzero(shared & (count > 0)), np.flatnonzero(free)
        square = np.bincount(self._owner, self._own**2, self._users)
        self._square = np.where(square > 0, square, 1.0)
        self._factored()

    def _factored(self) -> None:
        matrix = self._whole[self._rows][:, self._free]
        self._matrix, self._parts, self._right = matrix, None, None
        own, owner = self._own[self._free], self._owner[self._free]
        size = matrix.shape[1]
        large = len(self._rows) ** 2 * size > DENSE
        if large and not isinstance(matrix, np.ndarray):
            self._parts = Parts.of(matrix, own, owner)
            if self._parts is not None:
                return
        cross = matrix @ _matrix(own, np.arange(size), owner, size, self._users)
        cross = cross if isinstance(cross, np.ndarray) else cross.toarray()
        if not large:
            dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
            dense = dense - (cross / self._square)[:, owner] * own
            left, big, right = np.linalg.svd(dense, full_matrices=False)
            keep = big > NOTHING * big.max(initial=0.0)
            self._right = right[keep]
        else:
            both = matrix @ matrix.T
            both = both if isinstance(both, np.ndarray) else both.toarray()
            square, left = np.linalg.eigh(both - (cross / self._square) @ cross.T)
            keep = square > NOTHING_SQUARED * square.max(initial=0.0)
            big = np.sqrt(np.maximum(square, 0.0))
        self._left, self._size = left[:, keep], big[keep]

    def _along(self, of_columns: Floats) -> Floats:
        """(C,) the part that users' values make of numbers (C,), told by their free columns."""
        value = np.bincount(self._owner, of_columns * self._own, self._users) / self._square
        return np.asarray(value[self._owner])

    def apart(self, of_columns: Floats) -> Floats:
        """(C,) what no values of users make of numbers (C,)."""
        return np.asarray(of_columns - self._along(of_columns) * self._all)

    @property
    def least(self) -> float:
        """The least singular value that is not 0, as a part of the largest."""
        if self._parts is not None:
            return self._parts.least
        return float(self._size.min() / self._size.max()) if len(self._size) else 1.0

    def change(self, of_rows: Floats, of_users: Floats) -> Floats:
        """(C,) the least d with B d = of_rows and W d = of_users."""
        found = np.zeros(len(self._owner))
        found[self._of] = of_rows[self._by] / self._entry
        short = of_users[: self._users] - np.bincount(self._owner, self._all * found, self._users)
        found += (short / self._square)[self._owner] * self._own
        missing = (of_rows - self._whole @ found)[self._rows]
        if self._parts is not None:
            more = self._parts.solve(missing)
        elif self._right is not None:
            more = self._right.T @ ((self._left.T @ missing) / self._size)
        else:
            more = self._matrix.T @ (self._left @ ((self._left.T @ missing) / self._size**2))
        step = np.zeros(len(found))
        step[self._free] = more
        return np.asarray(found + step - self._along(step) * self._own)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._whole.shape[0])

    def missed(self, of_rows: Floats, of_users: Floats) -> tuple[Floats, Floats]:
        """(rows,) and (N,) what the least change leaves of what is asked: no column can."""
        found = self.change(of_rows, of_users)
        held = np.bincount(self._owner, self._all * found, len(of_users))
        return np.asarray(of_rows - self._whole @ found), of_users - held

    def fit(self, of_columns: Floats) -> Floats:
        """(rows,) p of the least squares of B' p + W' v = of_columns, whatever v."""
        apart = (of_columns - self._along(of_columns) * self._own)[self._free]
        if self._parts is not None:
            part = self._parts.fit(apart)
        elif self._right is not None:
            part = self._left @ ((self._right @ apart) / self._size)
        else:
            part = self._left @ ((self._left.T @ (self._matrix @ apart)) / self._size**2)
        found = np.zeros(self._whole.shape[0])
        found[self._rows] = part
        rest = self.apart(of_columns - self._whole.T @ found)
        found[self._by] = rest[self._of] / self._entry
        return found


def _matrix(entry: Floats, row: Ints, column: Ints, rows: int, columns: int) -> Any:
    """A matrix of entries; dense if it is small."""
    if rows * columns <= SMALL:
        found = np.zeros((rows, columns))
        found[row, column] = entry
        return found
    return sparse(entry, row, column, (rows, columns))
