r"""Max-min beside rules from the answer before a change: its prices are the cuts to begin with.

Prices of rows are a cut of shares wherever they come from (`cuts`), and each round of the last
answer brings some. Where a weight, a capacity or a ceiling changed they still cost every user what
they did, so that max-min under these cuts mostly is the new answer at once; after a change of
demand they are changed by the least that makes what a user holds cost it the same. Tasks follow
from the shares, by the least change of the last ones; where there are none such, by one program
that begins at the last basis. If it says that the shares do not fit, its prices are one more cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.cuts import limits_alone, rounds_of
from fairopt.solving.engines.quotas.model import LevelModel
from fairopt.solving.engines.quotas.reached import followed
from fairopt.solving.engines.quotas.rounds import FINEST, SURE, Rounds, RoundsQuestion
from fairopt.solving.engines.quotas.sharpened import held, sharpened, small, tasks, tied
from fairopt.solving.engines.quotas.under_cuts import followed as under_cuts

NAME = "start, cuts"
MOST_PROGRAMS = 8
"""programs after which the rounds are solved anew"""
FITS = 1e-9
"""part of its share that a user may be short of in a program whose shares fit"""


def solve(asked: RoundsQuestion, prices: Sequence[Floats], x: Floats) -> Rounds | None:
    """All rounds; None where the last answer leads nowhere.

    Parameters
    ----------
    prices : of rows (M,), of each round of the last answer. x : (P,) its tasks.
    """
    low, cuts = asked.low, _PricedCuts(asked)
    for price in prices:
        cuts.add(price, x)
    if not (cuts.prices and small(low)):
        return None
    model: LevelModel | None = None
    for programs in range(MOST_PROGRAMS):
        clock.tick()
        found = cuts.met(x, programs)
        if found is None:
            return None
        if not (programs or len(low.low)):  # the flows of the last answer are not told
            near = _near(found, asked, cuts.priced)
            if near is not None:
                return near
        if model is None:
            model = LevelModel(low, np.maximum(found.share, FINEST * asked.alone), 1.0)
            model.begin(x, cuts.priced)
        model.targets(found.share, np.zeros(len(found.share)))
        try:
            best = model.highest(0.0, 1.0)
        except SolverFailure:
            return None
        if best.t >= 1 - FITS:
            found = replace(found, x=best.x, flow=best.flow, iterations=model.iterations)
            return _near(found, asked) or sharpened(found, asked)
        if not cuts.add(best.price, best.x):
            return None
    return None


def _near(found: Rounds, asked: RoundsQuestion, full: Bools | None = None) -> Rounds | None:
    """The rounds with tasks near those given at which everybody has just its share; None where
    there are none. `full` (M,) rows are to be full, or those that are."""
    low, reached = asked.low, followed(found.rounds, asked)
    if reached is None:
        return None
    flow = np.zeros(len(low.low)) if found.flow is None else found.flow
    priced = np.max([one.price for one in found.rounds], axis=0) > 0
    met = tasks(found.x, flow, low, reached, priced, full)
    again = None if met is None else followed(reached.moved(met[2]), asked)
    if met is None or again is None:
        return None
    return replace(found, rounds=again.rounds, x=met[0], flow=met[1], share=again.due)


class _PricedCuts:
    """The cuts so far. prices : each (M,); parts : each (N,), what of it a unit of share takes."""

    def __init__(self, asked: RoundsQuestion) -> None:
        self.asked = asked
        self.most, self.limits = limits_alone(asked.low)
        self.prices, self.parts = list[Floats](), list[Floats]()

    @property
    def priced(self) -> Bools:
        """(M,) rows with a price in some cut."""
        return np.asarray(np.max(self.prices, axis=0) > 0)

    def add(self, price: Floats, x: Floats) -> bool:
        """One more, of prices (M,) at which what the tasks (P,) hold costs each user the same;
        whether they say anything."""
        low = self.asked.low
        money = price * low.unit
        price = np.where(money > SURE * money.max(initial=0.0), price, 0.0)
        if not price.any():
            return False
        price = tied(price, low, held(x, low))
        q, budget = np.full(low.shape[0], np.inf), float(low.budget(price))
        np.minimum.at(q, low.owner, np.where(low.dear(price), low.cost(price) / low.score, 0.0))
        if not (0 < budget < np.inf and np.isfinite(q).all() and q.any()):
            return False
        self.prices.append(price)
        self.parts.append(q / budget)
        return True

    def met(self, x: Floats, programs: int) -> Rounds | None:
        """Max-min under the cuts alone, with tasks (P,) that are not its own; None if somebody is
        never stopped."""
        found = under_cuts(self.asked, self.most, np.array(self.parts))
        if found is None or not np.isfinite(found[0]).all():
            return None
        share, stops = found
        return rounds_of(self.asked.low, stops, self.prices, self.limits, x, share, programs)


__all__ = ["NAME", "solve"]
