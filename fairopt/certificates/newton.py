r"""The linearised conditions of optimality, solved for a step of tasks and prices.

With y the change of the tasks of each pair, in units of share / sqrt(money), and z that of the
prices of full rows, in units that give every row of A norm 1,

.. math:: \begin{pmatrix} \alpha\,1 1^T + \rho / \mathrm{part} & A^T \\ A & -\rho' \end{pmatrix}
   \begin{pmatrix} y \\ z \end{pmatrix}
   = \begin{pmatrix} -\text{error of the pair} \\ \text{left of the row} \end{pmatrix}

with a block of ones for each user, `part` the part of its share that a pair holds. Where tasks are
not unique the system without rho is singular. With it, further steps take back what it spoils. Few
unknowns are solved for together; of many, those of each user are eliminated first, and only prices
of rows are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Bools, Floats, Ints

PULL = 1e-9
"""rho: what keeps tasks that are not unique where they are; where users are eliminated"""
TOGETHER = 1e-12
"""rho where all are solved for together"""
LOOSE = 1e-15
"""rho': keeps rows apart that say the same"""
LEAST = 1e-5
"""smallest part of a share: pairs that hold less, or nothing yet, may move by as much"""
DENSE = 500
"""unknowns up to which all are solved for together"""
ROWS = 3_000
"""rows up to which a step is tried"""


MOST = 5_000_000
"""entries of a matrix of users and rows that are held at once"""

Step = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class System:
    """The system at one point.

    Parameters
    ----------
    users, servers : how many. alpha : > 0. n, i : (K,) user and server of each pair.
    part : (K,) of its user's share. need : (K, R) A, 0 where a row is not full; rows have norm 1.
    limit : (K,) the entry of the limit of the pair's user, norm 1 for each user; 0 where it does
        not have to be reached.
    """

    users: int
    servers: int
    alpha: float
    n: Ints
    i: Ints
    part: Floats
    need: Floats
    limit: Floats

    def solved(self, error: Floats, left: Floats, room: Floats) -> Step | None:
        """y (K,), z (I R,) and the same (N,) for limits; 0 where there is nothing to solve for.

        Parameters
        ----------
        error : (K,) what is added to each pair. left : (I R,), room : (N,) beside each row's norm.
        """
        pair, r = np.nonzero(self.need)
        row = self.i[pair] * self.need.shape[1] + r
        at_limit = np.flatnonzero(self.limit)
        place = np.concatenate([row, len(left) + self.n[at_limit]])
        active, which = np.unique(place, return_inverse=True)
        if len(self.n) + len(active) <= DENSE:
            pairs = np.concatenate([pair, at_limit])
            entries = np.concatenate([self.need[pair, r], self.limit[at_limit]])
            right = np.concatenate([error, np.concatenate([left, room])[active]])
            found = self._together(pairs, which, entries, right)
            if found is None:
                return None
            y, prices = found[: len(self.n)], np.zeros(len(left) + self.users)
            prices[active] = found[len(self.n) :]
            return y, prices[: len(left)], prices[len(left) :]
        return self._by_rows(active[active < len(left)], error, left, room)

    def _together(self, pairs: Ints, which: Ints, entries: Floats, right: Floats) -> Floats | None:
        held, size = len(self.n), len(right)
        matrix = np.zeros((size, size))
        matrix[:held, :held] = self.alpha * (self.n[:, None] == self.n)
        matrix[held + which, pairs] = entries
        matrix[pairs, held + which] = entries
        loose = np.full(size, -LOOSE)
        loose[:held] = TOGETHER / self.part
        matrix[np.arange(size), np.arange(size)] += loose
        return _finite(matrix, right)

    def _by_rows(self, active: Ints, error: Floats, left: Floats, room: Floats) -> Step | None:
        """The users eliminated: (A B A^T + rho') z = A (B error + h room / k) - left, with B the
        inverse of the first block at fixed totals of those at their limits, h = (that block)^-1
        times the entries of a limit, and k = limit h."""
        resources = self.need.shape[1]
        if not 0 < len(active) <= ROWS:
            return None
        at = np.full(len(left), -1)
        at[active] = np.arange(len(active))
        h = self._inverse(self.limit)
        k = self._sum(self.limit * h)
        capped = k > 0
        k = np.where(capped, k, 1.0)
        row = at[self.i[:, None] * resources + np.arange(resources)]
        matrix = np.zeros((len(active), len(active)))
        matrix[np.arange(len(active)), np.arange(len(active))] = LOOSE
        tied, whole = self._tied, self._sum(self.part)
        each = np.where(tied, self.part / PULL, 1 / (self.alpha + PULL / self.part))
        for r, other in np.ndindex(resources, resources):
            both = np.flatnonzero((self.need[:, r] != 0) & (self.need[:, other] != 0))
            amount = each[both] * self.need[both, r] * self.need[both, other]
            np.add.at(matrix, (row[both, r], row[both, other]), amount)
        beta = 1 / (PULL * whole) - 1 / (whole * (PULL + self.alpha * whole))
        for some, weight, factor in (
            (tied, self.part, beta),
            (capped[self.n], h, 1 / k),
        ):
            self._taken(matrix, row, some, weight, factor)
        fixed = h * (np.where(capped, room, 0.0) / k)[self.n]
        at_rows = self._rows(self._fixed(error, h, k) + fixed, len(left))
        z = _finite(matrix, at_rows[active] - left[active])
        if z is None:
            return None
        prices = np.zeros(len(left))
        prices[active] = z
        beside = error - self._paid(prices)
        limits = np.where(capped, (self._sum(h * beside) - room) / k, 0.0)
        return self._fixed(beside, h, k) + fixed, prices, np.where(capped, limits, 0.0)

    def _taken(
        self, matrix: Floats, row: Ints, some: Bools, weight: Floats, factor: Floats
    ) -> None:
        """Take what one vector of each user (over some pairs, with weights) stands for from the
        matrix: its rows times themselves times `factor`."""
        pair, r = np.nonzero((self.need != 0) & some[:, None])
        amount, place = weight[pair] * self.need[pair, r], row[pair, r]
        users, position = np.unique(self.n[pair], return_inverse=True)
        each = max(1, MOST // len(matrix))
        for start in range(0, len(users), each):
            block = users[start : start + each]
            here = np.flatnonzero((position >= start) & (position < start + each))
            sums = np.zeros((len(block), len(matrix)))
            np.add.at(sums, (position[here] - start, place[here]), amount[here])
            matrix -= sums.T @ (sums * factor[block, None])

    @property
    def _tied(self) -> Bools:
        """(K,) whether the user has other pairs."""
        found: Bools = np.bincount(self.n, minlength=self.users)[self.n] > 1
        return found

    def _inverse(self, v: Floats) -> Floats:
        """(alpha 1 1^T + rho / part)^-1 v, user by user, without the cancellation of 1 / rho."""
        whole = self._sum(self.part)
        mean = (self._sum(self.part * v) / whole)[self.n]
        apart = np.where(self._tied, self.part * (v - mean) / PULL, 0.0)
        found: Floats = apart + self.part * mean / (PULL + self.alpha * whole)[self.n]
        return found

    def _fixed(self, v: Floats, h: Floats, k: Floats) -> Floats:
        return self._inverse(v) - h * (self._sum(h * v) / k)[self.n]

    def _sum(self, v: Floats) -> Floats:
        """(N,) sum over the pairs of each user."""
        return np.asarray(np.bincount(self.n, v, self.users), dtype=np.float64)

    def _rows(self, y: Floats, size: int) -> Floats:
        """A y."""
        place = self.i[:, None] * self.need.shape[1] + np.arange(self.need.shape[1])
        amount = (self.need * y[:, None]).ravel()
        return np.asarray(np.bincount(place.ravel(), amount, size), dtype=np.float64)

    def _paid(self, prices: Floats) -> Floats:
        """A^T z."""
        found: Floats = (self.need * prices.reshape(self.servers, -1)[self.i]).sum(axis=1)
        return found


def _finite(matrix: Floats, right: Floats) -> Floats | None:
    try:
        found: Floats = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None
