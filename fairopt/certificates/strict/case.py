"""The question of a plain max-min answer as arrays, each number just what it is or next to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.formulas.doubles import exact_product, exact_sum
from fairopt.formulas.lowered import CAPACITY, LIMIT, Lowered, lower
from fairopt.instance import Bools, Floats, Instance, Ints

UNIT = 2.0**-53
"""part by which a float is off at most, rounded once"""
SCORE = 2.0**-98
"""part by which a score of two floats is off, at most"""
LEAST_SIZE, MOST_SIZE = 1e-120, 1e120
"""sizes of numbers between which no product of them leaves floating point"""


@dataclass(frozen=True)
class StrictCase:
    """Rows, columns and users; there are no flows, and no entry is below 0.

    Parameters
    ----------
    low, matrix, across : the lowered system, its entries by column, the same turned.
    right : (2, M) sums of two floats.
    owner : (P,). score : (2, P) sums of two floats, off by a part `SCORE` at most. told : (2, P) a
        user's columns that are alike here have just the same score. weight : (N,).
    open_ : (P,) columns on which tasks may run.
    """

    low: Lowered
    matrix: Any
    across: Any
    right: Floats
    owner: Ints
    score: Floats
    told: Floats
    weight: Floats
    open_: Bools

    @classmethod
    def of(cls, alloc: Allocation) -> StrictCase | None:
        """Of a plain answer; None where numbers are too far apart for floats."""
        inst = alloc.instance
        low = lower(inst, alloc.score)
        if len(low.low):
            return None
        right = np.array([low.rhs, np.zeros(len(low.rhs))])
        at = low.kind == CAPACITY
        one, two = low.one[at], low.two[at]
        right[:, at] = exact_product(inst.capacity[one, two], inst.count[one].astype(float))
        matrix = low.matrix.tocsc()
        across = matrix.T
        shut = across @ (right[0] <= 0).astype(float) > 0
        score, told = _scores(alloc, low)
        sizes = matrix.data, right[0][right[0] > 0], score[0], inst.weight
        if any(len(v) and not (v.min() > LEAST_SIZE and v.max() < MOST_SIZE) for v in sizes):
            return None
        return cls(low, matrix, across, right, low.owner, score, told, inst.weight, ~shut)

    @cached_property
    def some(self) -> Bools:
        """(N,) who may hold anything."""
        return np.asarray(np.bincount(self.owner[self.open_], minlength=len(self.weight)) > 0)

    @cached_property
    def limit(self) -> Ints:
        """(N,) the row of each user's limit, -1 of those without."""
        on = np.flatnonzero(self.low.kind == LIMIT)
        found = np.full(len(self.weight), -1)
        found[self.low.one[on]] = on
        return found

    @cached_property
    def first(self) -> Ints:
        """(N,) an open column of each user; of those that have none, the first of all."""
        found = np.zeros(len(self.weight), dtype=np.int64)
        at = np.flatnonzero(self.open_)[::-1]
        found[self.owner[at]] = at
        return found

    @cached_property
    def even(self) -> Bools:
        """(N,) whose open columns all have just the same score."""
        alike = (self.told == self.told[:, self.first[self.owner]]).all(axis=0)
        found = np.ones(len(self.weight), dtype=bool)
        found[self.owner[self.open_ & ~alike]] = False
        return found


def _scores(alloc: Allocation, low: Lowered) -> tuple[Floats, Floats]:
    """(2, P) the score of each column, and `told` as the case has it.

    By its criterion where that is named, or else as given: an answer's own are not believed.
    """
    inst, owner, server = alloc.instance, low.owner, low.server
    score, none = alloc.score, np.zeros(len(low.owner))
    name = alloc.kind["parameters"].get("criterion")
    # those of a smaller problem are another's, whose scores they have
    if name in criteria.CRITERIA and criteria.departure(inst, score, name) is None:
        if name == "dominant-share":
            of = (inst.capacity[server], np.zeros((len(server), inst.shape[2])))
            found, r = _most(_need(inst, low), of)
            return found, np.array([found[0], inst.capacity[server, r]])
        if name in ("drf", "drf-use"):
            if inst.demand.ndim == 2:
                return _most(inst.demand, _pool(inst))[0][:, owner], np.array([none, none])
            found, r = _most(_need(inst, low), _pool(inst))
            need = inst.demand[owner, server, r]
            if name == "drf-use":
                return found, np.array([need, r])
            order = np.lexsort((found[1], found[0], owner))
            first = order[np.searchsorted(owner[order], owner)]
            return found[:, first], np.array([none, none])
        score = criteria.score(inst, name)
    own = score[owner, server]
    return np.array([own, none]), np.array([own, none])


def _need(inst: Instance, low: Lowered) -> Floats:
    """(P, R) what a task of each column takes."""
    return inst.demand[low.owner] if inst.demand.ndim == 2 else inst.demand[low.owner, low.server]


def _pool(inst: Instance) -> tuple[Floats, Floats]:
    """(1, R) each resource of all servers together, as sums of two floats."""
    products = np.concatenate(exact_product(inst.capacity, inst.count[:, None].astype(float)))
    high = [math.fsum(column) for column in products.T.tolist()]
    rest = [
        math.fsum([*column, -top]) for column, top in zip(products.T.tolist(), high, strict=True)
    ]
    return np.array([high]), np.array([rest])


def _most(need: Floats, whole: tuple[Floats, Floats]) -> tuple[Floats, Ints]:
    """(2, K) the largest part of a resource that a task takes, and (K,) of which it is.

    Parameters
    ----------
    need : (K, R). whole : (K, R) or (1, R), high and low.
    """
    some = whole[0] > 0
    top, rest = np.where(some, whole[0], 1.0), np.where(some, whole[1], 0.0)
    part = np.where(some, need / top, 0.0)
    product, error = exact_product(part, top)
    left = np.where(some, (need - product) - error, 0.0)
    high, low = exact_sum(part, (left - part * rest) / top)
    best = np.zeros(len(need), dtype=np.int64)
    all_ = np.arange(len(need))
    for r in range(1, need.shape[1]):
        more = high[:, r] > high[all_, best]
        more |= (high[:, r] == high[all_, best]) & (low[:, r] > low[all_, best])
        best = np.where(more, r, best)
    return np.array([high[all_, best], low[all_, best]]), best


__all__ = ["LEAST_SIZE", "MOST_SIZE", "SCORE", "UNIT", "StrictCase"]
