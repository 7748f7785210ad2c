"""Square systems of floats that are off by no more than is known: what their solution may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.certificates.enclosed import widened
from fairopt.certificates.strict.case import UNIT
from fairopt.instance import Floats


@dataclass(frozen=True)
class NearInverse:
    """An approximate inverse R of matrices F, those within an error of a given one; or of several.

    Parameters
    ----------
    inverse : (..., C, C). lost : (..., C) of each row of |1 - R F|, at most.
    """

    inverse: Floats
    lost: Floats

    @classmethod
    def of(cls, matrix: Floats, error: Floats) -> NearInverse | None:
        """None of a singular one.

        Parameters
        ----------
        matrix : (..., C, C). error : (..., C, C) by which entries of what is asked may differ.
        """
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(inverse).all():
            return None
        size = matrix.shape[-1]
        off = np.abs(np.eye(size) - inverse @ matrix).sum(axis=-1)
        # rows of |R| times what each row of the matrix may be off, and its products are rounded
        row = (error + (size + 4) * UNIT * np.abs(matrix)).sum(axis=-1)
        lost = off + times(np.abs(inverse), row) + 4 * UNIT
        return cls(np.asarray(inverse), lost * (1 + (size + 8) * 4 * UNIT))

    def wide(self, left: Floats) -> Floats | None:
        """(..., C) how far a solution may be off of which up to `left` is missing; None where a
        matrix is not proved to be regular."""
        size = left.shape[-1]
        found = times(np.abs(self.inverse), left) * (1 + (size + 8) * 2 * UNIT) + 2.0**-1000
        return widened(found, self.lost)


def times(matrix: Floats, vector: Floats) -> Floats:
    """(..., R) the products of matrices (..., R, C) and vectors (..., C)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


__all__ = ["NearInverse", "times"]
