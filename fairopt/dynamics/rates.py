"""Rates of all classes over many states at once (bonald2015 sections 3.1 to 3.3).

In state n there are n_k transactions of class k, each of which holds a_kj of resource j (part of
the pool) per unit of its rate. What is returned is the rate of a whole class, phi_k = n_k times the
rate of one transaction: 0 where n_k = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.dynamics.rate_formulas import bmf, bmf_two, drf, pf, pf_two
from fairopt.errors import BadInput, Fault, SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, BottleneckMaxFair, MaxMin, Notion, ProportionalFair

STEPS = 80
"""halvings of the ratio of the prices, in its logarithm at first: the last ones change no digit"""


@dataclass(frozen=True)
class Alpha:
    """The rates for one alpha > 0; called as the batches of `rates`."""

    alpha: float

    def __call__(self, part: Floats, number: Floats) -> tuple[Floats, Floats]:
        """Rates (S, K) and the prices (S, R) that prove them."""
        if part.shape[1] == 1:
            rates, prices = self(np.hstack([part, np.zeros_like(part)]), number)
            return rates, prices[:, :1]
        low, high = np.zeros(len(number)), np.ones(len(number))
        ahead_low, ahead_high = self._ahead(part, number, low), self._ahead(part, number, high)
        for _ in range(STEPS):
            middle = (low + high) / 2
            more = self._ahead(part, number, middle) > 0
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        w = np.where(ahead_low <= 0, 0.0, np.where(ahead_high >= 0, 1.0, (low + high) / 2))
        one = self._one(part, w)
        rates = np.where(number > 0, number * np.where(np.isfinite(one), one, 0.0), 0.0)
        used = (rates @ part).max(axis=1)
        size = np.where(used > 0, used, 1.0)
        return rates / size[:, None], np.column_stack([w, 1 - w]) * (size**self.alpha)[:, None]

    def _one(self, part: Floats, w: Floats) -> Floats:
        """(S, K) rates of one transaction at the prices (w, 1 - w)."""
        cost = w[:, None] * part[:, 0] + (1 - w)[:, None] * part[:, 1]
        with np.errstate(divide="ignore"):
            found: Floats = cost ** (-1 / self.alpha)
        return found

    def _ahead(self, part: Floats, number: Floats, w: Floats) -> Floats:
        """(S,) use of the first resource less that of the second; infinite where a class is free.

        A class that costs nothing uses what it does need without bound.
        """
        one = self._one(part, w)
        apart = part[:, 0] - part[:, 1]
        with np.errstate(invalid="ignore"):
            each = np.where((number > 0) & (apart != 0), number * one * apart, 0.0)
            found: Floats = each.sum(axis=1)
        return found


def off(part: Floats, number: Floats, rates: Floats, price: Floats, alpha: float) -> Floats:
    """(S,) how far a state is from alpha-fairness at these prices (S, R), any at all.

    Everybody's rate is cost^(-1/alpha), and what is not full costs nothing.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    cost = price @ part.T
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(there, cost ** (-1 / alpha), 1.0)
        apart = np.where(there, np.abs(one / wanted - 1.0), 0.0).max(axis=1)
    money = price.sum(axis=1)
    unfilled = (price * np.abs(1.0 - rates @ part)).sum(axis=1) / np.where(money > 0, money, 1.0)
    wrong: Floats = np.maximum(apart, unfilled)
    return np.where(there.any(axis=1), np.maximum(wrong, overrun(part, rates)), 0.0)


BLOCK = 16_384
"""states worked on at a time: their arrays stay in the cache"""
NAMED: dict[str, Notion] = {
    "drf": MaxMin("drf"),
    "pf": ProportionalFair(),
    "bmf": BottleneckMaxFair(),
}
"""the three notions of bonald2015 by their short names"""
Batch = Callable[[Floats, Floats], tuple[Floats, Floats | None]]
"""(part (K, R), number (S, K)) -> rates (S, K), and the prices (S, R) that prove them, if any do"""


def notion_of(notion: Any) -> Notion:
    """The notion meant: itself, or one of "drf", "pf", "bmf".

    Raises
    ------
    BadInput : anything else.
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in NAMED:
        return NAMED[notion]
    raise BadInput([Fault("notion", repr(notion), f"a notion, or one of {', '.join(NAMED)}")])


def class_rates(requirements: Floats, states: Any, notion: Any) -> Floats:
    """Rates phi (S, K) of the classes in many states.

    DRF by water filling; PF by bisection on a price for two resources and by Newton's method on
    the prices for more; BMF by the split of its Proposition 4 for two resources, and for more,
    where it need not be unique, the point at which the water levels of the resources settle when
    they are set in turn (the rule "levels" of `BottleneckMaxFair`). Alpha-fairness over one
    or two resources by bisection on the ratio of the prices. Any other notion is solved and
    certified state by state, by `fairopt.solve`. Every state is judged by the definition of its
    notion, whatever way its rates were found.

    Parameters
    ----------
    requirements : (K, R) >= 0, parts of the pool per unit of rate; each row has one > 0.
    states : (S, K) whole numbers >= 0.
    notion : a notion, or "drf", "pf", "bmf".

    Raises
    ------
    SolverFailure : an iteration did not settle, or the judge refuses a state, which is named.

    Examples
    --------
    >>> class_rates(np.array([[0.5, 1], [1, 0.5]]), [[1, 1], [2, 0]], "pf").round(6).tolist()
    [[0.666667, 0.666667], [1.0, 0.0]]
    """
    meant = notion_of(notion)
    number = np.asarray(states, dtype=np.float64)
    batch = batched(requirements, meant)
    if batch is None:
        return solved(requirements, number, meant)
    found = np.zeros_like(number)
    for rows in blocks(len(number)):
        found[rows], price = batch(requirements, number[rows])
        off = _off(requirements, number[rows], found[rows], price, meant)
        if not off.max(initial=0.0) <= TOLERANCE:  # also where it is no number
            k = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            state = ", ".join(f"{n:g}" for n in number[rows][k])
            raise SolverFailure(f"{meant.name}: rates of state ({state}) are off by {off[k]:.2g}")
    return found


def _off(
    part: Floats, number: Floats, rates: Floats, price: Floats | None, notion: Notion
) -> Floats:
    """(S,) how far the rates are from what the notion asks, as a judge sees it."""
    if price is not None and isinstance(notion, AlphaFair):
        return off(part, number, rates, price, notion.alpha)
    if price is not None:
        return priced(part, number, rates, price)
    dominant = notion == NAMED["drf"]
    measure = np.broadcast_to(part.max(axis=1)[:, None], part.shape) if dominant else part
    return bottlenecks(part, number, rates, measure)


def batched(requirements: Floats, notion: Notion) -> Batch | None:
    """The function that knows the rates of this notion in all states at once, if there is one."""
    two = requirements.shape[1] <= 2
    if notion == NAMED["drf"]:
        return drf
    if notion == NAMED["pf"]:
        return pf_two if two else pf
    if notion == NAMED["bmf"]:
        return bmf_two if two else bmf
    if two and isinstance(notion, AlphaFair) and notion == AlphaFair(notion.alpha):
        return Alpha(notion.alpha) if notion.alpha > 0 else None
    return None


def blocks(number: int) -> Iterator[slice]:
    """Slices of at most `BLOCK` rows."""
    for start in range(0, number, BLOCK):
        yield slice(start, min(start + BLOCK, number))


def solved(part: Floats, number: Floats, notion: Notion) -> Floats:
    """Any notion, state by state: n_k equal users of every class present, solved and certified.

    States in proportion have the same rates and are solved once.

    Raises
    ------
    FairoptError : what `fairopt.solve` raises of the first state that it cannot solve.
    """
    from fairopt.solving import solve

    found: Floats = np.zeros_like(number)
    whole = number.astype(np.int64)
    divisor = np.gcd.reduce(whole, axis=1)
    least = whole // np.maximum(divisor, 1)[:, None]
    kinds, of = np.unique(least, axis=0, return_inverse=True)
    rates = np.zeros(kinds.shape)
    for row, state in enumerate(kinds):
        if not state.any():
            continue
        owner = np.repeat(np.arange(len(state)), state)
        # copies, and no weights: what a weight stands for differs between notions
        inst = Instance(part[owner], np.ones((1, part.shape[1])))
        totals = solve(inst, notion).totals
        rates[row] = np.bincount(owner, totals, minlength=len(state))
    found[:] = rates[of.reshape(-1)]
    return found


# Whether rates of many states at once are fair: each state by the definition of its notion.
#
# What is judged is a residual of every state, relative to each class's own rate; it knows nothing
# of how the rates were found.


TOLERANCE = 1e-6
"""rates of a state further from its definition are no answer"""


def overrun(part: Floats, rates: Floats) -> Floats:
    """(S,) by how much the fullest resource is more than full."""
    used: Floats = (rates @ part).max(axis=1) - 1.0
    return used


def bottlenecks(part: Floats, number: Floats, rates: Floats, measure: Floats) -> Floats:
    """(S,) how far a state is from "everybody has a full resource of which nobody holds more".

    Parameters
    ----------
    part : (K, R). number, rates : (S, K).
    measure : (K, R), what counts as holding: `part` itself for bottleneck max fairness, the
        dominant part for DRF; not read where `part` is 0.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    left = 1.0 - rates @ part
    best = np.full(number.shape, np.inf)
    for j in range(part.shape[1]):
        needs = np.flatnonzero(part[:, j] > 0)
        held = one[:, needs] * measure[needs, j]
        most = held.max(axis=1, initial=0.0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(held > 0, most / held - 1.0, np.inf)
        best[:, needs] = np.minimum(best[:, needs], np.maximum(above, left[:, j, None]))
    worst: Floats = np.where(there, best, -np.inf).max(axis=1)
    return np.maximum(worst, overrun(part, rates))


def priced(part: Floats, number: Floats, rates: Floats, price: Floats) -> Floats:
    """(S,) how far a state is from proportional fairness at these prices (S, R), any at all.

    Everybody's rate is 1 over its cost, and what is not full costs nothing; prices are counted so
    that each transaction pays 1.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    paid = np.where(there, np.abs(one * (price @ part.T) - 1.0), 0.0).max(axis=1)
    total = np.where(there.any(axis=1), number.sum(axis=1), 1.0)
    unfilled = (price * np.abs(1.0 - rates @ part)).sum(axis=1) / total
    wrong: Floats = np.maximum(paid, np.maximum(unfilled, -price.min(axis=1) / total))
    return np.maximum(wrong, overrun(part, rates))
