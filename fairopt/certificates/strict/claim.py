"""What an answer in floats says of its rounds: which columns run, which rows are full, who is
stopped together, at which prices. Nothing of it is believed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.levels import TIE
from fairopt.certificates.strict.case import StrictCase
from fairopt.formulas.lowered import CAPACITY
from fairopt.instance import Bools, Floats, Ints

LEAST_PRICE = 1e-40
"""beside the largest of a level, a smaller price is none"""
FULL = 1e-9
"""part of a row that is left where it is full, and of a limit where it is met"""
WORK = 20_000_000
"""most columns times levels with prices"""
USED = 1e-9
"""part of a share that is no use of a column"""


@dataclass(frozen=True)
class Claim:
    """What is claimed of an answer.

    Parameters
    ----------
    x : (P,) tasks. used : (U,) columns in use. home : (N,) of each user the one that it uses most,
        of others a column of anybody. rest : columns in use that are nobody's home.
    capped : (N,) who is at its limit, and holds all of that. stage : (N,) the round of all others
        who may hold anything, else -1. level : (K,) of each round.
    priced : (M, J) rows with a price, at the prices of each level. price : (M, J).
    inside : sparse (M, U), entries of columns in use. rows : (F,) rows that are full, all but those
        of limits of the capped.
    """

    x: Floats
    used: Ints
    home: Ints
    rest: Ints
    capped: Bools
    stage: Ints
    level: Floats
    priced: Bools
    price: Floats
    inside: Any
    rows: Ints

    @classmethod
    def of(cls, case: StrictCase, alloc: Allocation, trifle: float) -> Claim | None:
        """None where an answer does not tell, or not enough of it.

        Parameters
        ----------
        trifle : of all money of a level, a price of less is left out.
        """
        low, owner, some = case.low, case.owner, case.some
        users = len(case.weight)
        given = alloc.by_way[low.way, low.server]
        x = np.where(case.open_, np.maximum(given, 0.0), 0.0)
        worth = x * case.score[0]
        share = np.bincount(owner, worth, users)
        if not (share[some] > 0).all():
            return None
        used = np.flatnonzero(worth > USED * share[owner])
        limit = np.where(case.limit >= 0, case.right[0][case.limit], np.inf)
        capped = some & case.even & (np.bincount(owner, x, users) >= limit * (1 - FULL))
        stage, level = _stages(share / case.weight, np.flatnonzero(some & ~capped))
        if not len(level):
            return None
        order = np.lexsort((-worth[used], owner[used]))
        first = np.diff(owner[used[order]], prepend=-1) > 0
        home = np.full(users, used[0])
        home[owner[used[order[first]]]] = used[order[first]]
        inside = case.matrix[:, used]
        full = case.right[0] - inside @ x[used] <= FULL * case.right[0]
        full &= case.right[0] > 0
        told = _prices(case, alloc, full, trifle)
        if told is None:
            return None
        full[case.limit[capped]] = False
        rest = np.sort(used[order[~first]])
        rows = np.flatnonzero(told[0].any(axis=1))
        if len(rows) != len(rest) + len(level):
            rows = np.flatnonzero(full)
        return cls(x, used, home, rest, capped, stage, level, *told, inside, rows)

    @cached_property
    def place(self) -> Ints:
        """(P,) which of those in use each column is, -1 of others."""
        found = np.full(len(self.x), -1)
        found[self.used] = np.arange(len(self.used))
        return found


def _stages(level: Floats, rising: Ints) -> tuple[Ints, Floats]:
    """(N,) the round of some users, -1 of others, and (K,) about the level of each."""
    stage = np.full(len(level), -1)
    order = rising[np.argsort(level[rising], kind="stable")]
    own = level[order]
    new = own > np.append(-1.0, own[:-1] * (1 + TIE))
    stage[order] = np.cumsum(new) - 1
    return stage, own[new]


def _prices(
    case: StrictCase, alloc: Allocation, full: Bools, trifle: float
) -> tuple[Bools, Floats] | None:
    """(M, J) rows with a price, and their prices, 1 at most, at the prices of each level."""
    low, pool = case.low, alloc.instance.pool
    given = np.asarray(alloc.level_prices)
    given = given[given.any(axis=(1, 2))]  # limits alone ask for none
    if len(case.owner) * len(given) > WORK:
        return None
    at = np.flatnonzero(low.kind == CAPACITY)
    price = np.zeros((len(low.rhs), len(given)))
    price[at] = given[:, low.one[at], low.two[at]].T
    price[~full] = 0.0
    money = price[at] * pool[low.one[at], low.two[at]][:, None]
    price[at] = np.where(money > trifle * money.sum(axis=0), price[at], 0.0)
    price = price[:, price.any(axis=0)]
    if not price.size:
        return None
    price /= np.ldexp(1.0, np.frexp(price.max(axis=0))[1])
    priced = price > 0
    if not np.isfinite(price).all() or price[priced].min(initial=1.0) < LEAST_PRICE:
        return None
    return priced, price


__all__ = ["Claim"]
