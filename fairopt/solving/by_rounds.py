"""Max-min where there are groups, guarantees, ceilings, quotas, priorities or modes: by rounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import judged
from fairopt.certificates.rounds import at_once
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance
from fairopt.notions import MaxMin, Notion
from fairopt.solving import infeasible, renamed
from fairopt.solving.best import Rung
from fairopt.solving.engines import units
from fairopt.solving.engines.point import How
from fairopt.solving.engines.quotas import begun, cuts, naming, rounds, stated
from fairopt.solving.engines.quotas.sharpened import sharpened
from fairopt.solving.ruled import INTERIOR, TRIFLE, RuledLadder, settings, tasks

NOTHING = 1e-15
"""part of what a user could have alone that is nothing"""
FITS = 1e-9
"""part by which a row may be overrun: more is no rounding"""
KEPT = "highs, kept"


class RoundsLadder(RuledLadder):
    """The answers by rounds. The steps of one are its own rounds, after what became of a start."""

    told: tuple[dict[str, Any], ...] = ()

    def found(self, best: Allocation) -> Allocation:
        """The best answer, whose steps are those of its rounds already."""
        return best.with_(steps=(*self.told, *best.steps))


def answer(
    instance: Instance, notion: Notion, score: Floats, asked: Entitled, low: Lowered, how: How
) -> Allocation:
    """Max-min beside rules: the best answer of cuts, of a start, or of rounds one after another."""
    question = rounds.RoundsQuestion(
        low, asked.tree, asked.floor, asked.added, asked.rank, units.beside_rules(low)
    )
    told = partial(_told, instance, notion, score, low)

    def begun_again(ladder: RoundsLadder) -> bool:
        assert how.start is not None
        step: dict[str, Any] = {"step": "start", "status": "too far away, solved anew"}
        ladder.told = (step,)
        if instance.modes is None and cuts.applies(question):
            step["status"] = "not used, solved anew: as fast by cuts"
            return False
        money = renamed.listed(
            [one["prices"] for one in how.start.rounds or ()], how.start, instance, low
        )
        x = renamed.columns(how.start, instance)[low.way, low.server]
        found = begun.solve(question, money, x)
        if found is None:
            return False
        reached = told(begun.NAME, found, 0.0)
        if not at_once(reached):
            step["status"] = "not close enough, solved anew"
            return False
        step["status"] = "used"
        ladder.keep({}, reached)
        return True

    def wide(ladder: RoundsLadder) -> bool | None:
        found = cuts.solve(question)
        if found is None:
            return None
        reached = told(cuts.NAME, found, 0.0)
        if low.columns > cuts.WIDEST:  # no other way ends, whatever the judge says
            ladder.best = reached
            return True
        if at_once(reached):
            ladder.keep({}, reached)
        return None

    def in_turn(ladder: RoundsLadder, solver: rounds.Solver | None, name: str) -> None:
        found = rounds.solve(question, solver, how.progress)
        name = INTERIOR if found.sharp else name
        exact = found
        if instance.modes is None and not found.sharp:
            exact = sharpened(found, question)
        reached = told(name, exact, 0.0 if exact is not found else TRIFLE)
        # levels to the last digit prove more, but beside lending they may lead elsewhere
        elsewhere = exact is not found and instance.quotas is not None
        if elsewhere and not judged(reached).certified:
            reached = told(name, found, TRIFLE)
        ladder.keep({}, reached)

    if how.solver == "auto":
        ways: list[Rung[RoundsLadder]] = [
            Rung(KEPT, RoundsLadder.short, partial(in_turn, solver=None, name=KEPT))
        ]
        if instance.modes is None:
            ways.insert(0, Rung(cuts.NAME, RoundsLadder.short, wide))
        if how.start is not None:
            ways.insert(0, Rung("start", RoundsLadder.short, begun_again))
    else:
        chosen = settings(notion, how.solver, linear=True)
        unit = np.maximum(question.alone / low.shape[0], asked.floor)
        named = stated.of_rounds(MaxMin(), low, unit, chosen)
        way = partial(in_turn, solver=named, name=chosen.label)
        ways = [Rung(chosen.label, RoundsLadder.short, way)]
    return RoundsLadder(instance, notion, score, how.gap, None).climb(ways)


def _told(
    instance: Instance,
    notion: Notion,
    score: Floats,
    low: Lowered,
    name: str,
    found: rounds.Rounds,
    trifle: float,
) -> Allocation:
    """The answer that rounds make, with the prices of each."""
    told, steps = [], []
    nothing = {"prices": np.zeros(low.shape[1:3])}
    for one in found.rounds:
        users = infeasible.named(instance, one.users)
        budget = float(low.budget(one.price))
        price = one.price / budget if budget > 0 else one.price
        told.append(
            {
                "t": one.t,
                "jump": one.jump,
                "priority": one.rank,
                "users": users,
                # who has all it wants needs none, and many such rounds would take much memory
                "prices": naming.priced(low, price) if price.any() else nothing,
            }
        )
        steps.append(
            {
                "step": "round",
                "level": one.t,
                "users": users,
                "full": naming.rows(instance, low, one.price),
            }
        )
    last = {"step": name, "programs": found.programs, "iterations": found.iterations}
    return Allocation(
        instance,
        notion,
        **tasks(instance, low, _cleaned(low, found.x, found.share), trifle),
        score=score,
        rounds=tuple(told),
        steps=(*steps, last),
    )


def _cleaned(low: Lowered, x: Floats, share: Floats) -> Floats:
    """The tasks (P,), none of users that are due nothing: what they hold is rounding. And of rows
    that the last digits overrun no more than fits: else the judge scales all tasks down by that."""
    nothing = share <= NOTHING * units.beside_rules(low)
    x = np.where(nothing[low.owner], 0.0, x)
    lent = np.diff(low.matrix.tocsr()[:, low.columns :].tocsr().indptr) > 0
    body = low.matrix.tocsc()[:, : low.columns].tocoo()
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(lent | low.signed | (low.rhs <= 0), 0.0, body @ x / low.rhs - 1.0)
    worst = np.zeros(low.columns)
    np.maximum.at(worst, body.col, over[body.row])
    return np.where(worst < FITS, x / (1.0 + worst), x)
