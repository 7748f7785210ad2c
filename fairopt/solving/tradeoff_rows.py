"""The trade-off (16) of kesidis2016 beside rows: its program by general solvers, then the judge's
nearby point, which is what certifies it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import SolverFailure, UsageError
from fairopt.formulas.lowered import lower
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, Tradeoff
from fairopt.solving import infeasible, quotas, ruled
from fairopt.solving.best import Rung
from fairopt.solving.engines import units
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.point import Question
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.quotas import naming
from fairopt.solving.ruled import RuledLadder

NEAR = 1e-9
"""an answer closer than this is not moved nearer"""
PRICES = ("prices", "limit_prices", "bound_prices", "node_prices", "rule_prices", "limit_on_prices")
"""the fields of an answer that hold prices"""


class Pulled(RuledLadder):
    """The answers tried; one that is certified is moved nearer too, as other engines come closer
    than general solvers."""

    def near(self) -> bool:
        """Whether a nearby point is worth looking for."""
        return self.error > NEAR


def answer(instance: Instance, notion: Tradeoff, score: Floats, how: How) -> Allocation:
    """The best answer of the ladder. Without penalties it is alpha-fairness of dominant shares.

    Raises
    ------
    Infeasible : the rules leave somebody nothing.
    SolverFailure : no solver gave an answer.
    UsageError : a solver that cannot state the program.
    """
    terms = Terms.of(notion.plain())
    if not (terms.t_pf or terms.t_drf):
        same = AlphaFair(terms.alpha, "dominant-share", weight_inside=True)
        found = quotas.answer(instance, same, score, how)
        prices = {name: getattr(found, name) for name in PRICES}
        return Allocation(instance, notion, found.tasks, score=score, steps=found.steps, **prices)
    if how.solver in ("interior", "highs"):
        raise UsageError(
            f"solver: found {how.solver!r}; {notion.name} beside rules wanted auto, clarabel, ecos "
            "or scs"
        )
    low = lower(instance, score)
    infeasible.check(instance, low, np.zeros(instance.shape[0]))
    unit = units.max_min(Question.of(instance, score, max(terms.alpha, 1.0), True))
    program = notion.program(instance, score, unit)

    def tried(ladder: Pulled, rung: conic.Settings) -> None:
        x, price, status = conic.run_ruled(program, rung)
        if not price.any():
            raise SolverFailure(f"{rung.label}: no prices")
        given: dict[str, Any] = {**ruled.tasks(instance, low, x), **naming.priced(low, price)}
        found = Allocation(instance, notion, score=score, **given)
        ladder.closely({"step": rung.label, "status": status}, found)

    def moved(best: Allocation, found: dict[str, Floats]) -> Allocation:
        return best.with_(**found)

    rungs = [
        Rung(each.label, RuledLadder.short, partial(tried, rung=each))
        for each in conic.ladder(how.solver, linear=False)
    ]
    return Pulled(instance, notion, score, how.gap, moved).climb(rungs)
