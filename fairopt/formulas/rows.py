"""Minimum, maximum and sum of each row of a matrix, fast for many short rows.

NumPy reduces row by row; for a million rows of ten entries, ten passes over the columns are several
times faster. The order of summation depends on the number of columns alone, so that the sum of a
row has the same bits whatever other rows the matrix has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHORT = 32
"""largest number of columns that are taken one by one"""
FEW_ENTRIES = 2_000
"""entries up to which the columns are laid out as rows first, which are then added one by one"""


def least(matrix: Floats) -> Floats:
    """(N,) the smallest entry of each row of (N, I); NaN if the row has one."""
    return _by_column(np.minimum, matrix)


def largest(matrix: Floats) -> Floats:
    """(N,) the largest entry of each row of (N, I); NaN if the row has one."""
    return _by_column(np.maximum, matrix)


def total(matrix: Floats) -> Floats:
    """(N,) the sum of each row of (N, I)."""
    return _by_column(np.add, matrix)


def _by_column(operation: np.ufunc, matrix: Floats) -> Floats:
    columns = matrix.shape[1]
    if not 0 < columns <= SHORT:
        return np.asarray(operation.reduce(matrix, axis=1))
    if matrix.size <= FEW_ENTRIES and len(matrix) > 1:
        # the same order of summation, in two calls
        return np.asarray(operation.reduce(np.array(matrix.T, order="C"), axis=0))
    found = np.array(matrix[:, 0])
    for k in range(1, columns):
        operation(found, matrix[:, k], out=found)
    return found
