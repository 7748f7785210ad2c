"""The unknowns of the method for small instances in one array, residuals, and one linear solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats

EASED = 1e-14
"""added to the unit diagonal: where prices are not unique it keeps them from wandering off, which
would drown the shares in rounding"""


class CompactState:
    """The unknowns: a, s, nu, price and v, all positive."""

    __slots__ = ("a", "amounts", "costs", "nu", "price", "s", "size", "v", "whole")

    def __init__(self, whole: Floats, size: tuple[int, int]) -> None:
        """size: pairs, and pairs and rows."""
        p, b = size
        self.whole, self.size = whole, size
        self.amounts, self.costs, self.v = whole[:b], whole[b : 2 * b], whole[2 * b :]
        self.a, self.s, self.nu, self.price = (
            whole[:p],
            whole[p:b],
            whole[b : b + p],
            whole[b + p : 2 * b],
        )

    def moved(self, step: CompactState, length: float) -> CompactState:
        """The state after a part of a step."""
        return CompactState(self.whole + length * step.whole, self.size)

    def reach(self, step: CompactState) -> float:
        """The length of the step at which the first unknown becomes 0."""
        return 1.0 / max(-float(np.minimum.reduce(step.whole / self.whole)), 1e-300)


class CompactLeft(NamedTuple):
    """The residual of each condition at a state, and what it was made of.

    grid (I, N) shares; used (m,) of rows; value (N,) of a unit of share; `bent` the largest entry
    of `curve`.
    """

    grid: Floats
    used: Floats
    value: Floats
    level: Floats
    money: float
    dual: Floats
    primal: Floats
    curve: Floats
    bent: float


Direction = Callable[[Floats, Floats, bool], tuple[CompactState, Floats]]
"""(changes wanted of products (pairs + rows,), bend (N,), whether the last digits matter) ->
Newton step, and the rise of each user's share (N,)"""


def solver(matrix: Floats, more: Floats) -> Callable[[Floats, bool], Floats]:
    """Solves with a positive definite matrix, a diagonal added, by its inverse at unit diagonal;
    refined once where the last digits matter."""
    diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
    diagonal += more
    scale = diagonal**-0.5
    matrix *= scale * scale[:, None]
    diagonal += EASED
    inverse = np.linalg.inv(matrix)

    def solve(right: Floats, exact: bool) -> Floats:
        right = right * scale
        found = inverse @ right
        if exact:
            found += inverse @ (right - matrix @ found)
        return np.asarray(found * scale, dtype=np.float64)

    return solve
