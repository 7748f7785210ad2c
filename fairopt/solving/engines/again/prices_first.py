"""From the last answer to one after a change: prices first, then tasks.

A change moves prices of a few servers by much, which is hard, and tasks on many servers by little,
which is large. So prices are found where servers of one price are one (`same_prices`), by a few
steps of the rounds (`proximal`) or, where these lead nowhere, by a path (`inside`); then rounds on
all servers begin at these prices.
"""

from __future__ import annotations

import numpy as np

from fairopt.solving.engines.again.inside import Inside
from fairopt.solving.engines.again.matching import Start
from fairopt.solving.engines.again.proximal import AgainFound, AgainRounds, RoundsPace
from fairopt.solving.engines.again.same_prices import SamePrices
from fairopt.solving.engines.interior.layout import Pairs
from fairopt.solving.engines.point import AlphaQuestion

MOST_ROWS = 2_000
"""rows up to which their square matrix is factored"""
PARTINGS = 4
"""times that prices are found with servers of a class as one"""
PATIENT = RoundsPace(1e-6, 1e-12, 16, 6, 0.1)
"""beyond so many steps an answer without a start is as fast"""
HASTY = RoundsPace(1e-6, 1e-8, 8, 2, 0.03)
"""where a path is as fast, and another search goes on from the end"""
SETTLED = RoundsPace(1e-8, 1e-12, 16, 6, 0.1)
"""where prices are found already"""


def applies(question: AlphaQuestion) -> bool:
    """Whether the method knows the problem: alpha > 0, no limit on unlike scores, not too large."""
    inst = question.instance
    if question.alpha <= 0 or inst.shape[1] * inst.shape[2] > MOST_ROWS:
        return False
    return not np.isfinite(inst.limit).any() or question.one_score


def follow(question: AlphaQuestion, start: Start) -> AgainFound:
    """The answer near a start, or no point where the method gives up. Prices are found first, where
    servers of the same price are one; those whose tasks then ask for another price once more by
    themselves."""
    with np.errstate(all="ignore"):
        small, steps = SamePrices.at(question, start), 0
        for _ in range(PARTINGS):
            ended = None
            if small is not None:
                ended, more = _ended(small.question, small.start)
                steps += more
            if small is None or ended is None:
                break
            begin = small.apart(ended)
            again = AgainRounds(question, begin, SETTLED, same=small.of)
            found = again.run()
            steps += found.steps
            if found.point is not None or not again.strays.any():
                return AgainFound(found.point, steps, found.rounds)
            small = small.parted(begin, again.strays)
        found = AgainRounds(question, start, PATIENT).run()
        return AgainFound(found.point, found.steps + steps, found.rounds)


def _ended(question: AlphaQuestion, start: Start) -> tuple[Start | None, int]:
    """Shares and prices of a small question near a start, and steps; None where nothing leads
    there."""
    again = AgainRounds(question, start, HASTY, Pairs)
    if again.run().point is None:
        if np.isfinite(again.limit).any():
            return None, again.steps
        inside = Inside(again.layout, question.alpha, again.w, again.y, again.money)
        found = inside.end()
        again.steps += inside.steps
        if found is None:
            return None, again.steps
        again.y, again.money = found
    y = np.zeros(start.share.shape)
    y[question.pairs] = again.y
    pool = np.where(question.instance.pool > 0, question.instance.pool, 1.0)
    prices = np.maximum(again.money, 0.0) / pool
    return Start(y * again.unit[:, None], prices, start.log_unit), again.steps
