"""Servers of the same price as one: what a change does to prices, before tasks are divided anew.

Where many servers are equally dear, users pay the same on all of them. So the question with one
server in the place of each such class, with the capacity of all, says what prices become and how
much everybody has in each class, and it is small. Every server then keeps its part of that. Nothing
of it is believed: tasks that do not fit are changed by what follows (`proximal`), which may give
servers other prices again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.solving.engines.again.matching import Start
from fairopt.solving.engines.point import AlphaQuestion

SAME_PRICE = 1e-7
"""part of the dearest in which two prices are told apart"""
FEWER = 3
"""so many times fewer prices than servers are few"""


@dataclass(frozen=True)
class SamePrices:
    """The small question and where it begins; of (I,) the class of each server, among (I, K) the
    same as a table."""

    question: AlphaQuestion
    start: Start
    whole: AlphaQuestion
    given: Start
    of: Ints
    among: Floats

    @classmethod
    def at(cls, question: AlphaQuestion, start: Start) -> SamePrices | None:
        """With the classes of the prices of a start; None where they are many, or demand or scores
        depend on the server."""
        inst = question.instance
        if inst.demand.ndim > 2 or not question.one_score:
            return None
        told = np.rint(start.prices / (SAME_PRICE * start.prices.max()))
        _, of = np.unique(told, axis=0, return_inverse=True)
        return cls._of(question, start, of.ravel())

    def parted(self, start: Start, strays: Bools) -> SamePrices | None:
        """The same from another start, with a class of its own for each of some servers."""
        of = np.where(strays, int(self.of.max()) + np.cumsum(strays), self.of)
        _, of = np.unique(of, return_inverse=True)
        return self._of(self.whole, start, of)

    @classmethod
    def _of(cls, question: AlphaQuestion, start: Start, of: Ints) -> SamePrices | None:
        inst, many = question.instance, int(of.max()) + 1
        if FEWER * many > len(of):
            return None
        among = (of[:, None] == np.arange(many)).astype(np.float64)
        allowed = inst.eligible @ among > 0
        small = Instance(
            inst.demand,
            among.T @ inst.pool,
            allowed,
            inst.weight,
            inst.limit,
            users=inst.users,
            resources=inst.resources,
        )
        price = np.zeros((many, inst.shape[2]))
        price[of] = start.prices
        score = np.where(allowed, question.top_score[:, None], 0.0)
        return cls(
            AlphaQuestion(small, score, question.alpha, question.log_w),
            Start(start.share @ among, price, start.log_unit),
            question,
            start,
            of,
            among,
        )

    def apart(self, found: Start) -> Start:
        """The start with these prices and shares of classes, which servers have as before; who had
        nothing of a class has as much on all its servers."""
        had = self.start.share
        times = np.divide(found.share, had, out=np.zeros_like(had), where=had > 0)
        share = self.given.share * times[:, self.of]
        new = np.where(had > 0, 0.0, found.share)
        if new.any():
            open_ = self.whole.instance.eligible
            many = open_ @ self.among
            share += np.where(open_, (new / np.maximum(many, 1.0))[:, self.of], 0.0)
        return Start(share, found.prices[self.of], found.log_unit)
