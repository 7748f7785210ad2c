"""The least correction that meets rows which may depend on each other."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats

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
