"""What everybody is due at every optimum, and how far from it an answer is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.digits import SURE, ExactSums
from fairopt.certificates.strict.case import UNIT, StrictCase
from fairopt.instance import Bools, Floats


class Shares(NamedTuple):
    """What everybody is due.

    Parameters
    ----------
    case : of what. share : (2, N) sums of two floats. off : (N,) by how much they may be wrong.
    """

    case: StrictCase
    share: Floats
    off: Floats

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """(N,) the least and the most that each is due."""
        wide = self.off + 4 * UNIT * self.share[0]
        return self.share[0] - wide, self.share[0] + wide

    @property
    def first(self) -> Bools:
        """(N,) who may be of the lowest level."""
        low, high = self.ends
        weight = self.case.weight
        return np.asarray(low / weight * (1 - 4 * UNIT) <= (high / weight * (1 + 4 * UNIT)).min())

    def far(self, alloc: Allocation) -> Floats:
        """(2, N) the part of what each is due, at least and at most, by which it holds more."""
        case, users = self.case, len(self.off)
        tasks: Floats = alloc.by_way[case.low.way, case.low.server]
        row, at = np.tile(case.owner, 2), np.tile(np.arange(len(tasks)), 2)
        sums = ExactSums(row, case.score.ravel(), at)
        about: Floats = np.bincount(case.owner, case.score[0] * tasks, users).astype(np.float64)
        left, error = sums.left(about, np.array([tasks, np.zeros(len(tasks))]))
        wide = self.off + error + 16 * SURE * (np.abs(about) + self.share[0])
        share = np.where(self.share[0] > 0, self.share[0], 1.0)
        more = (about - self.share[0]) - (left + self.share[1])
        found = np.array([more + wide, more - wide]) / share
        # of whoever is due nothing, anything is too much
        nothing = np.where(about > 0, np.inf, 0.0)
        return np.where(self.share[0] > 0, found, nothing)


__all__ = ["Shares"]
