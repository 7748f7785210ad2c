"""All conditions of `penalties.absolute` in one matrix: fewer NumPy calls for small instances.

Eliminating what can be eliminated saves arithmetic. Below a hundred unknowns the number of calls
determines the time, and one dense system needs the fewest; it also divides by nothing that goes
to 0.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines.penalties.centring import (
    Centring,
    CentringLeft,
    CentringState,
    Direction,
)

MOST_UNKNOWNS = 100
"""unknowns up to which one dense system is faster"""


def unknowns(pairs: int, rows: int, users: int) -> int:
    """How many there are: a, s, nu, price, v, p, e."""
    return 3 * pairs + 2 * (rows + users)


class Positions:
    """Positions of conditions and unknowns in the matrix, and its entries that hold no force.

    Conditions are, in this order, dual (P), primal (rows), products of pairs (P) and of rows
    (rows), marginal values (N), pull on F (N), pulls on servers (P), and after them the levels (N),
    so that one product gives all; unknowns are in the order of `CentringState`.
    """

    def __init__(self, of_user: Floats, use: Floats, across: Centring, within: Centring) -> None:
        """of_user (P, N) levels of shares, use (P, rows) parts of rows."""
        (pairs, users), rows = of_user.shape, use.shape[1]
        ends = np.cumsum([pairs, rows, pairs, rows, users, users, pairs]).tolist()
        a, s, nu, price, v, p, e = (slice(*k) for k in zip([0, *ends[:-1]], ends, strict=True))
        self.size = ends[-1]
        self.shares, self.by_level = a, of_user.T
        self.dual, self.primal, self.value, self.pull, self.apart = a, s, v, p, e
        self.level = slice(self.size, None)
        m = np.zeros((self.size + users, self.size))
        m[self.dual, v], m[self.dual, p], m[self.dual, e] = of_user, -of_user, -np.eye(pairs)
        m[self.dual, price], m[self.dual, nu] = -use, np.eye(pairs)
        m[self.primal, a], m[self.primal, s] = -use.T, -np.eye(rows)
        m[self.pull, a], m[self.pull, p] = across.stated(of_user.T)
        m[self.apart, a], m[self.apart, e] = within.stated(np.eye(pairs))
        m[self.level, a] = of_user.T
        self.linear = m
        self.constant = np.zeros(len(m))
        self.constant[self.primal] = 1.0
        pulls = np.arange(ends[4], self.size)
        self.forces = pulls, pulls
        # in a product, each factor times the change of the other
        amounts, costs = np.arange(ends[1]), np.arange(ends[1], ends[3])
        self.products = slice(ends[1], ends[3])
        self.turned = np.tile(costs, 2), np.concatenate([amounts, costs])
        self.factors = np.concatenate([costs, amounts])


class Whole:
    """The linear conditions as one matrix, which each Newton step completes."""

    def __init__(self, frame: Positions, across: Centring, within: Centring) -> None:
        self.frame = frame
        self.linear = frame.linear.copy()
        self.linear[frame.forces] -= np.concatenate([across.softness, within.softness])
        self.newton = self.linear[: frame.size].copy()
        self.newton[frame.value, frame.value] = np.eye(len(frame.by_level))

    def linear_left(self, z: CentringState) -> tuple[Floats, ...]:
        """Levels (N,); residuals of dual, primal, pulls on F and on servers; all in one array."""
        at = self.frame
        every = self.linear @ z.whole + at.constant
        return (
            every[at.level],
            every[at.dual],
            every[at.primal],
            every[at.pull],
            every[at.apart],
            every,
        )

    def steps(self, z: CentringState, left: CentringLeft, slope: Floats) -> Direction:
        """Newton steps; slope (N,): v moves by -slope dF.

        Raises
        ------
        LinAlgError : the system is singular.
        """
        assert left.every is not None
        at, m = self.frame, self.newton.copy()
        m[at.turned] = z.whole[at.factors]
        m[at.value, at.shares] = slope[:, None] * at.by_level
        inverse, right = np.linalg.inv(m), -left.every[: at.size]

        def direction(products: Floats, bend: Floats, pulls: bool) -> CentringState:
            right[at.products], right[at.value] = products, -z.v * bend
            return CentringState(inverse @ right, z.size)

        return direction
