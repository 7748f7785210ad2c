"""Square systems in loops to be compiled: of few unknowns a library's call costs more than sums.

Most pairs of unknowns have no entry, which the loop passes by.
"""

from __future__ import annotations

from math import inf
from typing import Any

from fairopt.fast import inner


@inner
def factored(matrix, order) -> Any:  # type: ignore[no-untyped-def]
    """Into a matrix (k, k) its factors, into order (k,) how rows were exchanged; whether it has
    any."""
    size = len(matrix)
    for k in range(size):
        top = k
        for j in range(k + 1, size):
            if abs(matrix[j, k]) > abs(matrix[top, k]):
                top = j
        if not 0.0 < abs(matrix[top, k]) < inf:
            return False
        order[k] = top
        if top != k:
            for c in range(size):
                matrix[k, c], matrix[top, c] = matrix[top, c], matrix[k, c]
        for j in range(k + 1, size):
            if matrix[j, k] != 0.0:
                part = matrix[j, k] / matrix[k, k]
                matrix[j, k] = part
                for c in range(k + 1, size):
                    matrix[j, c] -= part * matrix[k, c]
    return True


@inner
def solved(factors, order, right) -> Any:  # type: ignore[no-untyped-def]
    """Into a right side (k,) what solves the system; whether it is finite."""
    size, finite = len(right), True
    for k in range(size):
        right[k], right[order[k]] = right[order[k]], right[k]
    for k in range(size):
        if right[k] != 0.0:
            for j in range(k + 1, size):
                right[j] -= factors[j, k] * right[k]
    for k in range(size - 1, -1, -1):
        for c in range(k + 1, size):
            right[k] -= factors[k, c] * right[c]
        right[k] /= factors[k, k]
        finite = finite and abs(right[k]) < inf
    return finite
