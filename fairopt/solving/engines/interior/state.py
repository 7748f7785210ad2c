"""The variables of the interior method, their residuals, and the targets of complementarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats


@dataclass(frozen=True)
class InteriorState:
    """The variables, named as in `method`: over pairs y, nu; over rows s, lam; over users x, l, p,
    omega, e. A step of all of them has the same form."""

    y: Floats
    nu: Floats
    s: Floats
    lam: Floats
    x: Floats
    l: Floats  # noqa: E741
    p: Floats
    omega: Floats
    e: Floats

    @property
    def v(self) -> Floats:
        """(N,) marginal value of share: price p of resources plus price omega of the limit."""
        return self.p + self.omega


@dataclass(frozen=True)
class Residual:
    """By how much each equation fails to hold, and the largest relative error of each kind."""

    dual: Floats
    primal: Floats
    limit: Floats
    value: Floats
    slope: Floats
    curve: Floats
    cost: Floats
    largest: tuple[float, float, float]


@dataclass(frozen=True)
class Products:
    """Products of complementary variables: their values, their targets, or a change of them."""

    y: Floats
    s: Floats
    l: Floats  # noqa: E741
    e: Floats

    def __sub__(self, other: Products) -> Products:
        return Products(self.y - other.y, self.s - other.s, self.l - other.l, self.e - other.e)

    def __add__(self, other: Products) -> Products:
        return Products(self.y + other.y, self.s + other.s, self.l + other.l, self.e + other.e)

    def back_within(self, factor: float, goals: Products) -> Products:
        """The change that brings each product to within `factor` of its goal."""
        return Products(
            _back(self.y, factor, goals.y),
            _back(self.s, factor, goals.s),
            _back(self.l, factor, goals.l),
            _back(self.e, factor, goals.e),
        )


def _back(product: Floats, factor: float, goal: Floats) -> Floats:
    """The change to within a factor of the goal, downwards by at most factor times the goal."""
    highest = factor * goal
    return np.maximum(np.clip(product, goal / factor, highest) - product, -highest)


def replace(state: InteriorState, **changes: Floats) -> InteriorState:
    """A copy with some variables changed."""
    return InteriorState(**{**state.__dict__, **changes})


def stepped(
    now: InteriorState, step: InteriorState, primal: float, dual: float, steep: bool = True
) -> InteriorState:
    """The state after a step: tasks by the length `primal`, prices by the length `dual`."""
    return InteriorState(
        now.y + primal * step.y,
        now.nu + dual * step.nu,
        now.s + primal * step.s,
        now.lam + dual * step.lam,
        now.x + primal * step.x,
        now.l + primal * step.l,
        now.p + dual * step.p,
        now.omega + dual * step.omega,
        now.e + (primal if steep else dual) * step.e,
    )


def longest(value: Floats, change: Floats) -> float:
    """The longest step, at most 1, that keeps value + step change >= 0 where value > 0."""
    # what is 0 and stays 0 gives NaN, which fmin leaves out
    worst = float(np.fmin.reduce(change / value, axis=None, initial=0.0))
    if worst == -np.inf:  # something that is 0 would fall
        worst = float(np.min(change / value, initial=0.0, where=value > 0))
    return 1.0 if worst >= -1 else -1 / worst


def log_sum(terms: Floats) -> float:
    """log(sum(exp(terms))) without overflow."""
    top = float(terms.max())
    return top + float(np.log(np.exp(terms - top).sum()))
