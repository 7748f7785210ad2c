"""Where the method of one level stands: what is held and left, what it is multiplied with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats


class LevelState(NamedTuple):
    """z (P,), slacks (M,), slacks of rows of one column (H,), what is above the level f (N,), t;
    dear (P,), price (M,), own (H,), money (N,)."""

    z: Floats
    slack: Floats
    left: Floats
    f: Floats
    t: float
    dear: Floats
    price: Floats
    own: Floats
    money: Floats

    @property
    def mine(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What is held and left."""
        return self.z, self.slack, self.left, self.f

    @property
    def dual(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What it is multiplied with."""
        return self.dear, self.price, self.own, self.money

    def products(self) -> list[Floats]:
        """What is held and left times what it is multiplied with, part by part."""
        return [a * b for a, b in zip(self.mine, self.dual, strict=True)]


class LevelMissing(NamedTuple):
    """What columns, rows, rows of one column, shares and the money of all miss."""

    columns: Floats
    rows: Floats
    alone: Floats
    shares: Floats
    money: float


def longest(at: LevelState, change: LevelState) -> tuple[float, float]:
    """How far both halves of the state may go."""
    level = np.array([at.t]), np.array([change.t])
    mine = _until((*at.mine, level[0]), (*change.mine, level[1]))
    return mine, _until(at.dual, change.dual)


def _until(values: tuple[Floats, ...], steps: tuple[Floats, ...]) -> float:
    found = 1.0
    for value, step in zip(values, steps, strict=True):
        found = min(found, 1.0 / max(float(-(step / value).min(initial=0.0)), 1.0))
    return found


def moved(at: LevelState, by: LevelState, first: float, second: float) -> LevelState:
    """The state after `first` of what is held and left, and `second` of its multipliers."""
    z, slack, left, f = (a + first * b for a, b in zip(at.mine, by.mine, strict=True))
    dual = (a + second * b for a, b in zip(at.dual, by.dual, strict=True))
    return LevelState(z, slack, left, f, at.t + first * by.t, *dual)


__all__ = ["LevelState", "LevelMissing", "longest", "moved"]
