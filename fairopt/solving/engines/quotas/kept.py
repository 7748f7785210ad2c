"""Tasks moved by the least part of themselves until full rows are kept but for rounding."""

from __future__ import annotations

import numpy as np
from scipy.sparse import diags_array

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats

FULL = 1e-8
"""part of a row that is left of a full one"""
INSIDE = 2.0**-51
"""part of what a row adds up by which it stays below full"""
TURNS = 3


def kept(x: Floats, low: Lowered) -> Floats:
    """The tasks (P,); those given where no small change keeps the rows, or beside lending, whose
    flows are not told."""
    rows = low.matrix.tocsr()
    if rows.shape[1] > len(x):
        return x
    size = np.maximum(abs(rows) @ np.abs(x) + np.abs(low.rhs), 1e-300)
    found = x
    for _ in range(TURNS):
        left = low.rhs - rows @ found
        full = np.flatnonzero(left <= FULL * low.unit)
        miss = (left[full] - INSIDE * size[full]) / size[full]
        scaled = diags_array(1.0 / size[full]) @ rows[full] @ diags_array(found)
        found = found * (1.0 + scaled.T @ least((scaled @ scaled.T).toarray(), miss))
    near = np.abs(found - x) <= FULL * np.abs(x)
    return np.asarray(found) if near.all() else x


MANY = 500
"""rows of a large system"""
TINY = 1e-13
"""singular values of a smaller part are none"""


def least(matrix: Floats, right: Floats) -> Floats:
    """What solves a symmetric system, the least of it if that is not one; large ones are tried by a
    factor first, which is much faster.

    Parameters
    ----------
    matrix : (M, M). right : (M,).

    Returns
    -------
    (M,); 0, so no step, where an entry is no number or nothing solves it.
    """
    from scipy.linalg import cho_factor, cho_solve

    none = np.zeros(len(right))
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return none
    if len(right) > MANY:
        try:
            found = np.asarray(cho_solve(cho_factor(matrix), right), dtype=np.float64)
            if np.isfinite(found).all():
                return found
        except np.linalg.LinAlgError:
            pass
    try:
        found = np.asarray(np.linalg.lstsq(matrix, right, rcond=TINY)[0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return none
    return found if np.isfinite(found).all() else none


__all__ = ["MANY", "least"]
