"""The levels of all lots at once with the tasks, where the prices of one lot after another lose
them.

The prices of a lot count what all stopped before it pay, many times what its own users do: after
tens of lots in turn what is missing of its own is beyond their digits, though rows and shares say
the levels well. Without groups a lot's level is what its own users are due, so it is one more
column of the system of rows and shares. Nothing here is believed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairopt.certificates.nearby.least import Least
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.targets import FlatWalk
from fairopt.instance import Floats

FREE = 1e-13
"""part of the largest effect of levels below which one is taken for none"""


class Jointly:
    """See the module.

    Parameters
    ----------
    solve : the system of rows and shares. lots : with levels at which `walk` says what is due.
    """

    def __init__(self, solve: Least, lots: Sequence[Lot], walk: FlatWalk) -> None:
        self._solve, rows = solve, np.zeros(solve.rows)
        self._unit = np.maximum(walk.due[0], 1e-300)
        self._slopes = np.array([walk.to(lot)[1] for lot in lots])  # (L, N)
        self._effects = np.array([self._missed(rows, slope) for slope in self._slopes])  # (L, .)

    def _missed(self, of_rows: Floats, of_users: Floats) -> Floats:
        """What the least change leaves of rows, and of shares as parts of them."""
        rows, users = self._solve.missed(of_rows, of_users)
        return np.concatenate([rows, users / self._unit])

    def moves(self, of_rows: Floats, of_users: Floats) -> Floats:
        """(L,) changes of the lots' levels after which a change of columns can put right what rows
        and users (N,) miss."""
        missed = self._missed(of_rows, of_users)
        found = np.linalg.lstsq(self._effects.T, -missed, rcond=FREE)[0]
        return np.asarray(found)
