"""What the method for the trade-off stands on: its unknowns, and forces towards a mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.instance import Floats


class State:
    """The unknowns of `engines.tradeoff` in one array: a, s, nu, price, v are positive."""

    def __init__(self, whole: Floats, size: tuple[int, int, int]) -> None:
        """size: pairs, rows, users."""
        pairs, rows, users = size
        b, c = pairs + rows, 2 * (pairs + rows)
        k = c + users
        self.whole, self.size, self.positive = whole, size, k
        self.a, self.s = whole[:pairs], whole[pairs:b]
        self.nu, self.price = whole[b : b + pairs], whole[b + pairs : c]
        self.v, self.p, self.e = whole[c:k], whole[k : k + users], whole[k + users :]

    @classmethod
    def of(cls, *parts: Floats) -> State:
        size = len(parts[0]), len(parts[1]), len(parts[4])
        return cls(np.concatenate(parts), size)

    def moved(self, step: State, length: float) -> State:
        return State(self.whole + length * step.whole, self.size)

    def reach(self, step: State) -> float:
        """The longest step that takes nothing that must be positive below 0."""
        k = self.positive
        return 1.0 / max(float((-step.whole[:k] / self.whole[:k]).max()), 1e-300)


class Centring:
    """Groups of entries, each drawn to its group's mean with force w (0 to inf).

    M = delta + w C has the inverse x/(w + delta) + f sum(f x)/sum(f delta), f = w/(w + delta).
    """

    def __init__(self, group: Any, w: Floats) -> None:
        """group (size, groups) of 0 and 1; w (size,)."""
        self.group, self.w = group, w
        self.mean = group / group.sum(axis=0)
        self.none = not w.any()
        self.inverse = 1.0 / w

    def away(self, x: Floats) -> Floats:
        """C x."""
        found: Floats = x - self.group @ (x @ self.mean)
        return found

    def prepare(self, delta: Floats) -> None:
        self.delta = delta
        self.part = 1.0 / (self.w + delta)
        if self.none:
            return
        self.f = 1.0 / (1.0 + delta * self.inverse)
        self.rank = self.group * self.f[:, None]
        self.rank = self.rank / np.sqrt(self.f * delta @ self.group)

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
        """Change of a pull: w times deviations where w is weak, else what the balance leaves."""
        if self.none:
            return np.zeros_like(moved)
        weak = self.w < stiff
        own = np.where(weak, self.w, 0.0) * (self.away(moved) + away)
        return self.away(np.where(weak, own, balance))

    def error(self, away: Floats, stiff: Floats) -> Floats:
        """Deviations not explained by pulls, less where w is weak beside `stiff`."""
        return away / (1.0 + stiff * self.inverse)
