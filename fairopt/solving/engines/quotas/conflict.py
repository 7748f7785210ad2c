r"""Guarantees that do not fit: how far all must be cut, and who stands against whom.

.. math:: \theta^* = \max \{ \theta : s_n \ge \theta \sigma_n, \ x \text{ feasible} \}

is the first level of max-min with the floors as weights. theta* < 1 is the proof, with its prices:
the floors of all cost more than everything that has a price. The smallest set of users in conflict
is hard to find in general; one that becomes possible when any user leaves it is found by leaving
out one after another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.linear_program import FINE, LinearProgram
from fairopt.formulas.lowered import RULE, UP_OF_TWO, Lowered
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.quotas.model import LevelModel, LevelOptimum


@dataclass(frozen=True)
class Clash:
    """rows (C,) of the system in conflict, users whose floors are; price (M,) and floors (N,) their
    prices; cut: theta* of all that is asked, own_cut of these alone."""

    rows: Ints
    users: Ints
    price: Floats
    floors: Floats
    cut: float
    own_cut: float


def clash(low: Lowered, floor: Floats) -> Clash | None:
    """The conflict of all rules with floors (N,) >= 0; None if they fit.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum.
    """
    own = low.kind == RULE
    if not floor.any() and not (own & ((low.rhs < 0) | (low.two >= UP_OF_TWO))).any():
        return None  # nothing is asked: no tasks fit
    system = _ClashSystem(low, floor)
    every = np.ones(system.things, dtype=bool)
    cut, money = system.highest(every)
    if cut >= 1 - FITS:
        return None
    inside = np.zeros(system.things, dtype=bool)
    inside[system.thing[money > SURE * money.max()]] = True
    if system.highest(inside)[0] >= 1 - FITS:
        inside = every
    for k in np.flatnonzero(inside).tolist():
        inside[k] = False
        inside[k] = system.highest(inside)[0] >= 1 - FITS
    own, money = system.highest(inside)
    money = np.where(money > SURE * money.max(), money, 0.0)
    price = money / system.size
    count = len(low.rhs)
    rows = np.flatnonzero(inside[system.thing[:count]])
    users = np.flatnonzero(inside[system.thing[count:]])
    floors = np.zeros(len(floor))
    floors[system.floored] = price[count:]
    return Clash(rows, system.floored[users], price[:count], floors, cut, own)


class _ClashSystem:
    """The rules and floors as things that are asked for or leave room; the two rows of `equal` are
    one thing."""

    def __init__(self, low: Lowered, floor: Floats) -> None:
        own = low.kind == RULE
        equal = own & (low.two >= UP_OF_TWO)
        self.asked: Bools = (own & (low.rhs < 0)) | equal
        self.floor, self.floored = floor, np.flatnonzero(floor > 0)
        self.size = np.concatenate([low.unit, floor[self.floored]])
        thing = np.arange(len(self.size))
        second = np.flatnonzero(equal)[1::2]
        thing[second] = second - 1
        self.thing: Ints = np.unique(thing, return_inverse=True)[1]
        self.things = int(self.thing.max()) + 1
        self.program = LinearProgram(low)

    def highest(self, inside: Bools) -> tuple[float, Floats]:
        """theta* of the things inside, and the prices of their rows in units of money."""
        rows, users = np.split(inside[self.thing], [len(self.asked)])
        least = np.full(len(self.floor), -np.inf)
        least[self.floored[users]] = 0.0
        unit = np.where(self.floor > 0, self.floor, 1.0)
        found = self.program.most(
            None, least, self.floor, 1.0, None, unit, FINE, among=rows, asked=self.asked
        )
        if found is None:
            raise SolverFailure("HiGHS: no optimum of the rules that may be in conflict")
        return found.t, np.concatenate([found.price, found.paid[self.floored]]) * self.size


FITS = 1e-9
"""guarantees cut by less than this part fit"""
SURE = 1e-9
"""prices of less than this part of all money say nothing"""

LARGER = 1.001
"""times the floors that are tried at most, to show that nobody is stuck at its own"""
SURELY = 1e-6
"""part by which larger floors have to fit"""
RISES = 1e-9
"""a user that can rise by less than this part of what it could have alone cannot"""


@dataclass(frozen=True)
class Conflict:
    """users (N,) bool in conflict; cut theta* of these users, price (M,) of the rows that proves
    it; all_cut, theta* of everybody."""

    users: Bools
    cut: float
    price: Floats
    all_cut: float


@dataclass(frozen=True)
class Stuck:
    """users (N,) bool that cannot rise; rounds, who was found with which prices (M,)."""

    users: Bools
    rounds: tuple[tuple[Bools, Floats], ...]

    @property
    def price(self) -> Floats:
        """(M,) the largest of any round."""
        return np.asarray(np.max([price for _, price in self.rounds], axis=0))


def conflict(low: Lowered, floor: Floats) -> Conflict | None:
    """The conflict of floors (N,) >= 0; None if they fit.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum.
    """
    if not floor.any():
        return None
    model = LevelModel(low, np.where(floor > 0, floor, 1.0), 1.0)
    inside = floor > 0
    first = found = _cut(model, np.where(inside, floor, 0.0))
    if found.t >= 1 - FITS:
        return None
    inside &= _pays(low, found)
    for n in np.flatnonzero(inside).tolist():
        rest = inside.copy()
        rest[n] = False
        tried = _cut(model, np.where(rest, floor, 0.0))
        if tried.t < 1 - FITS:
            inside, found = rest, tried
    found = _cut(model, np.where(inside, floor, 0.0))
    money = found.price * low.unit
    price = np.where(money > SURE * money.max(), found.price, 0.0)
    return Conflict(inside, found.t, price, first.t)


def stuck(low: Lowered, floor: Floats, alone: Floats, among: Bools | None = None) -> Stuck:
    """The users that can have nothing beyond floors (N,) that fit, and the prices that say so.

    Parameters
    ----------
    alone : (N,) > 0, share of each user alone, about. among : (N,) who is looked at; default all.
    """
    if _all_rise(low) and (not floor.any() or _larger_fit(low, floor)):
        return Stuck(np.zeros(len(floor), bool), ())
    model = LevelModel(low, np.maximum(floor, 1e-3 * alone), 1.0)
    rising = everybody = np.ones(len(floor), bool) if among is None else among
    rounds: list[tuple[Bools, Floats]] = []
    while rising.any():
        model.targets(np.where(rising, alone, 0.0), floor)
        found = model.highest(0.0, 1.0)
        stopped = rising & _pays(low, found)
        if found.t > RISES or not stopped.any():
            break
        rounds.append((stopped, found.price))
        rising = rising & ~stopped
    return Stuck(everybody & ~rising, tuple(rounds))


def _all_rise(low: Lowered) -> bool:
    """Whether, plainly, everybody can have a little: nothing may be lent, and then every row of
    some column of each user leaves room."""
    if not ((low.low <= 0) & (low.high >= 0)).all() or (low.rhs < 0).any():
        return False
    tasks = low.matrix[:, : low.columns].tocoo()
    shut = np.zeros(low.columns, dtype=bool)
    shut[tasks.col[(tasks.data > 0) & (low.rhs[tasks.row] == 0)]] = True
    return bool((np.bincount(low.owner[~shut], minlength=low.shape[0]) > 0).all())


def _larger_fit(low: Lowered, floor: Floats) -> bool:
    """Whether larger floors fit as well: with a little of everything beside them, nobody is stuck
    at its own."""
    model = LevelModel(low, np.where(floor > 0, floor, 1.0), 1.0)
    return _cut(model, floor, LARGER).t > 1 + SURELY


def _cut(model: LevelModel, floor: Floats, most: float = 1.0) -> LevelOptimum:
    model.targets(floor, np.zeros_like(floor))
    return model.highest(0.0, most)


def _pays(low: Lowered, found: LevelOptimum) -> Bools:
    """(N,) whether everything that the user could run has a price."""
    money = found.price * low.unit
    price = np.where(money > SURE * money.max(initial=0.0), found.price, 0.0)
    free = ~low.dear(price)
    pays: Bools = np.bincount(low.owner[free], minlength=low.shape[0]) == 0
    return pays


__all__ = ["Clash", "clash"]
