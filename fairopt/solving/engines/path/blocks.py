r"""The system of a step where rows fall into small blocks, as those of many slices do.

.. math:: (K - V P V^T)^{-1} = K^{-1} + K^{-1} V (P^{-1} - V^T K^{-1} V)^{-1} V^T K^{-1}

K, what rows take from each other, is block by block; V P V', what users hold back, has one column a
user. So users are solved for, who are fewer than rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats

LARGE, FEWER, SMALL = 1500, 0.6, 40
"""least rows, most users for each row, most rows that any row shares a column with"""
TURNS = 3


def fits(users: int, b: Any) -> bool:
    """Whether rows of the matrix b (M, P) are many, users few, and blocks small."""
    from scipy.sparse import csr_array

    rows = b.shape[0]
    if rows < LARGE or users > FEWER * rows:
        return False
    return bool(np.diff((csr_array(b) @ csr_array(b).T).indptr).max() <= SMALL)


class Blocks:
    """The system: K sparse (M, M), V (M, N), P (N,).

    Raises
    ------
    numpy.linalg.LinAlgError : it has no factor.
    """

    def __init__(self, k: Any, v: Floats, p: Floats) -> None:
        from scipy.linalg import cho_factor
        from scipy.sparse.linalg import splu

        self.k, self.v, self.p = k, v[:, p > 0], p[p > 0]
        try:
            self.rows = splu(k.tocsc())
        except RuntimeError as error:
            raise np.linalg.LinAlgError(str(error)) from None
        self.held = self.rows.solve(self.v)
        whole = np.diag(1.0 / self.p) - self.v.T @ self.held
        self.scale = 1.0 / np.sqrt(np.maximum(whole.diagonal(), 1e-300))
        whole *= self.scale[:, None] * self.scale[None, :]
        if not np.isfinite(whole).all():
            raise np.linalg.LinAlgError("entries that are no numbers")
        self.users = cho_factor(whole, overwrite_a=True)

    def solved(self, right: Floats) -> Floats:
        """(M,) the solution, refined against the system itself."""
        x = self._once(right)
        for _ in range(TURNS):
            left = right - (self.k @ x - self.v @ (self.p * (self.v.T @ x)))
            x = x + self._once(left)
        return x

    def _once(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        own = self.rows.solve(right)
        users = self.scale * cho_solve(self.users, self.scale * (self.v.T @ own))
        return np.asarray(own + self.held @ users)


__all__ = ["Blocks", "fits"]
