"""The unknowns of the trade-off's interior method, and forces that draw entries to their mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fairopt.instance import Floats


class CentringState:
    """The unknowns of `penalties.absolute` in one array: a, s, nu, price, v are positive.

    `amounts` are shares and slacks, `costs` what they are paired with: reduced costs and prices.
    """

    def __init__(self, whole: Floats, size: tuple[int, int, int]) -> None:
        """size: pairs, rows, users."""
        pairs, rows, users = size
        b, c = pairs + rows, 2 * (pairs + rows)
        k = c + users
        self.whole, self.size = whole, size
        self.amounts, self.costs, self.positive = whole[:b], whole[b:c], whole[:k]
        self.a, self.s = whole[:pairs], whole[pairs:b]
        self.nu, self.price = whole[b : b + pairs], whole[b + pairs : c]
        self.v, self.p, self.e = whole[c:k], whole[k : k + users], whole[k + users :]

    @classmethod
    def of(cls, amounts: Floats, costs: Floats, v: Floats, p: Floats, e: Floats) -> CentringState:
        """The state of these arrays."""
        size = len(e), len(amounts) - len(e), len(v)
        return cls(np.concatenate([amounts, costs, v, p, e]), size)

    def moved(self, step: CentringState, length: float) -> CentringState:
        """The state after `length` times a step."""
        return CentringState(self.whole + length * step.whole, self.size)

    def reach(self, step: CentringState) -> float:
        """The length of the step at which the first positive unknown becomes 0."""
        return 1.0 / max(-float(np.minimum.reduce(step.positive / self.positive)), 1e-300)


class CentringLeft(NamedTuple):
    """The residual of each condition at a state, with the levels and the money of all users there.

    `bent` is the largest entry of `curve`; `every` holds all residuals in the order of
    `penalties.whole`.
    """

    level: Floats
    money: float
    dual: Floats
    primal: Floats
    curve: Floats
    bent: float
    across: Floats
    within: Floats
    every: Floats | None = None


Direction = Callable[[Floats, Floats, bool], CentringState]
"""(changes wanted of products (pairs + rows,), bend (N,), whether pulls matter) -> Newton step"""


class Centring:
    """Groups of entries, each drawn to its group's mean with force w (0 to inf).

    M = delta + w C has the inverse x/(w + delta) + f sum(f x)/sum(f delta), f = w/(w + delta).
    """

    w: Floats
    inverse: Floats
    softness: Floats
    none: bool

    def __init__(self, group: Any) -> None:
        """group (size, groups) of 0 and 1, one 1 a row; of many, a sparse table."""
        self.group = group
        self.mean = _scaled(group, np.ones(group.shape[0]), 1.0 / group.sum(axis=0))

    def forced(self, w: Floats) -> Centring:
        """The same groups, drawn with forces w (size,)."""
        found = object.__new__(Centring)
        found.group, found.mean, found.w = self.group, self.mean, w
        found.none = not w.any()
        found.inverse = 1.0 / w
        found.softness = np.zeros_like(w) if found.none else found.inverse
        return found

    def away(self, x: Floats) -> Floats:
        """C x."""
        found: Floats = x - self.group @ (x @ self.mean)
        return found

    def left(self, x: Floats, pull: Floats) -> Floats:
        """C x - pull / w."""
        return np.zeros_like(x) if self.none else self.away(x) - pull * self.inverse

    def stated(self, x: Floats) -> tuple[Floats, Floats]:
        """The condition C x - pull / w = 0 and mean pull 0 as matrices (size, ...) for x and (size,
        size) for the pull; the caller adds the term in 1 / w. Without a force the pull is 0.
        """
        if self.none:
            return np.zeros_like(x), np.eye(len(self.w))
        return x - self.group @ (self.mean.T @ x), -self.group @ self.mean.T

    def soft(self) -> Floats:
        """(size,) 1 / w; empty without a force."""
        return self.inverse[:0] if self.none else self.inverse

    def prepare(self, delta: Floats) -> None:
        """Set the diagonal delta (size,) of M for the solves that follow."""
        self.delta = delta
        self.part = 1.0 / (self.w + delta)
        if self.none:
            return
        self.f = 1.0 / (1.0 + delta * self.inverse)
        self.rank = _scaled(self.group, self.f, 1.0 / np.sqrt((self.f * delta) @ self.group))

    def solve(self, x: Floats) -> Floats:
        """M^-1 x."""
        found = self.part * x
        return found if self.none else found + self.rank @ (x @ self.rank)

    def solve_pull(self, away: Floats) -> Floats:
        """M^-1 (w away) for a centred `away`, exact for every w."""
        if self.none:
            return np.zeros_like(away)
        mean = (self.delta * self.f * away) @ self.group / (self.delta * self.f @ self.group)
        found: Floats = self.f * (away - self.group @ mean)
        return found

    def pull(self, moved: Floats, away: Floats, stiff: Floats, balance: Floats) -> Floats:
        """Change of a pull: w times deviations where w is small, else from the dual condition."""
        if self.none:
            return np.zeros_like(moved)
        weak = self.w < stiff
        own = np.where(weak, self.w, 0.0) * (self.away(moved) + away)
        return self.away(np.where(weak, own, balance))

    def error(self, away: Floats, stiff: Floats) -> Floats:
        """Deviations that pulls do not account for; they count less where w is below `stiff`."""
        return away / (1.0 + stiff * self.inverse)


def _scaled(group: Any, rows: Floats, columns: Floats) -> Any:
    """The table of groups, its rows and columns times these."""
    if isinstance(group, np.ndarray):
        return group * rows[:, None] * columns
    found = group.copy()
    found.data = rows * columns[group.indices]  # one entry a row
    return found
