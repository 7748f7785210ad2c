"""Alpha-fairness with several priority classes: one question after another, each judged.

What a class is given are its shares, not its places: in the questions after it these are floors,
and its tasks may run elsewhere.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import listed_prices
from fairopt.certificates import classes
from fairopt.certificates.ruled import feasible
from fairopt.certificates.ruled.answer import Ruled as Ruling
from fairopt.errors import UsageError
from fairopt.formulas import families, welfare
from fairopt.formulas.entitled import Entitled
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import infeasible
from fairopt.solving.best import LadderVerdict, Rung, Seen
from fairopt.solving.engines import path, units
from fairopt.solving.engines.point import How
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.quotas import conflict, naming, stated
from fairopt.solving.ruled import INTERIOR, RuledLadder, settings, tasks

SHARP = 1e-13
"""error above which the point nearby is looked for, since it is what classes after it begin with"""
CLOSE = 1e-8
"""error of an answer that is enough, since classes after it begin with it"""
SURE = 1e-9
"""prices of less than this part of the dearest row are noise"""
DEARER = 1e-7
"""part of what it costs by which a column is clearly dearer than its user's cheapest"""
LESS, SLIGHTLY = (1e-6, 1e-10), 1e-12
"""parts by which those served before are taken to hold less, so that rows are not quite full: by
engines of a class, one after the other, and where who can have something is asked"""


def check(instance: Instance, notion: Notion, score: Floats, low: Lowered) -> None:
    """Raise UsageError of alpha 0, and of rules that ask for tasks: classes have no one answer
    there."""
    nothing = tasks(instance, low, np.zeros(low.columns))
    why = classes.unasked(Allocation(instance, notion, **nothing, score=score))
    if why:
        found, _, because = why.partition(": ")
        raise UsageError(
            f"{notion.name}: found {found}; wanted one class{because and ', as '}{because}"
        )


def answer(
    instance: Instance, notion: Notion, score: Floats, asked: Entitled, low: Lowered, how: How
) -> Allocation:
    """The answer of all classes."""
    run = _ClassesRun(instance, notion, score, asked, low)
    for rank in np.unique(asked.rank).tolist():
        run.serve(rank, how)
    return run.told(run.x).with_(steps=tuple(run.steps))


class _ClassesRun:
    """The state from class to class.

    held : (N,) what each holds at the least: the shares of those served, floors of others.
    x : (P,) tasks of the columns. rounds : as an answer tells them. shut : (P,) columns that those
    served leave to nobody.
    """

    def __init__(
        self, instance: Instance, notion: Notion, score: Floats, asked: Entitled, low: Lowered
    ) -> None:
        self.instance, self.notion, self.score = instance, notion, score
        self.asked, self.low = asked, low
        given = families.member(notion.plain())["parameters"]
        self.alpha = float(given["alpha"])
        inside = bool(given.get("weight_inside", False))
        self.log_w = welfare.log_weight(asked.weight, self.alpha, inside)
        self.alone = units.beside_rules(low)
        self.unit = np.maximum(self.alone * units.due(self.log_w, self.alpha), asked.floor)
        self.held, self.done = asked.floor.copy(), np.zeros(low.shape[0], dtype=bool)
        self.x, self.rounds = np.zeros(low.columns), list[dict[str, Any]]()
        self.steps = list[dict[str, Any]]()
        self.shut = np.zeros(low.columns, dtype=bool)

    def serve(self, rank: int, how: How) -> None:
        """The best answer of a class, beside what those before hold."""
        mine = self.asked.rank == rank
        active = mine & ~self._stopped(rank, mine)
        if active.any():
            ladder = OfClass(self, rank, active, how.gap)
            best = ladder.climb(self._rungs(how, active))
            self.steps += [{"class": rank, **step} for step in best.steps]
            self.rounds = [dict(each) for each in best.rounds or ()]
            self.x = self._columns(best)
            self._close(best)
            share = np.bincount(self.low.owner, self.low.score * self.x, len(mine))
            self.held = np.where(active, share, self.held)
        self.done = self.done | mine

    def _stopped(self, rank: int, mine: Bools) -> Bools:
        """(N,) of a class, who can have nothing beyond its floor; told with what stops it."""
        floor = self._less(SLIGHTLY)
        found = conflict.stuck(self.low, floor, self.alone, mine)
        self.rounds += [self._round(0.0, rank, users, price) for users, price in found.rounds]
        return found.users

    def _close(self, best: Allocation) -> None:
        """Nobody has anything, from this class on, where it is clearly dearer than elsewhere."""
        low, round_ = self.low, (best.rounds or ())[-1]
        price = listed_prices(best.with_(**round_["prices"]), low)
        money = price * low.unit
        cost = low.cost(np.where(money > SURE * money.max(initial=0.0), price, 0.0))
        cost = np.where(self.shut, np.inf, cost)
        cheapest = np.full(low.shape[0], np.inf)
        np.minimum.at(cheapest, low.owner, cost / low.score)
        least = cheapest[low.owner] * low.score
        self.shut = self.shut | (cost > np.where(np.isinf(least), 0.0, least) + DEARER * cost)

    def _less(self, part: float) -> Floats:
        """(N,) what each holds at least, those before a little less."""
        return np.where(self.done, self.held * (1 - part), self.held)

    def _rungs(self, how: How, active: Bools) -> list[Rung[Any]]:
        kept = active | (self.held > 0)
        mine, low = self.low.of_users(kept, self.shut)
        only = active[kept]
        log_w = np.where(only, self.log_w[kept], self.log_w[active].min())
        unit = np.maximum(self.unit, self.held)[kept]

        def interior(ladder: OfClass, less: float) -> None:
            floor = self._less(less)[kept]
            found = path.solve(low, log_w, self.alpha, floor, self.asked.added, unit, only)
            step = {"step": INTERIOR, "steps": found.steps, "error": found.left}
            ladder.closely(step, ladder.told(self._whole(mine, found.x), found.price))

        def general(ladder: OfClass, chosen: conic.Settings) -> None:
            floor = self._less(LESS[-1])[kept]
            counted = np.where(only, log_w, -np.inf)
            added = self.asked.added and bool(only.all())
            x, price, _, status = stated.fair(low, counted, self.alpha, floor, added, unit, chosen)
            step = {"step": chosen.label, "status": status}
            ladder.closely(step, ladder.told(self._whole(mine, x), price))

        rungs: list[Rung[Any]] = []
        if how.solver in ("auto", "interior"):
            times = LESS if self.done.any() else LESS[:1]
            rungs += [
                Rung(INTERIOR, RuledLadder.short, partial(interior, less=one)) for one in times
            ]
        if how.solver != "interior":
            chosen = settings(self.notion, how.solver, linear=False)
            rungs.append(Rung(chosen.label, RuledLadder.short, partial(general, chosen=chosen)))
        return [*rungs, Rung("judged closely", OfClass.unsure, OfClass.again)]

    def _whole(self, columns: Any, x: Floats) -> Floats:
        found = np.zeros(self.low.columns)
        found[columns] = x
        return found

    def _columns(self, alloc: Allocation) -> Floats:
        """(P,) the tasks of an answer."""
        by_way = alloc.way_tasks
        stated_ = alloc.tasks[self.instance.ways.owner] if by_way is None else by_way
        return np.asarray(stated_[self.low.way, self.low.server])

    def _round(self, t: float, rank: int, users: Bools, price: Floats) -> dict[str, Any]:
        money = float(self.low.budget(price))
        return {
            "t": t,
            "jump": 0.0,
            "priority": rank,
            "users": infeasible.named(self.instance, users),
            "prices": naming.priced(self.low, price / money if money > 0 else price),
        }

    def told(self, x: Floats, *more: dict[str, Any]) -> Allocation:
        """An answer of the classes served so far."""
        rounds = (*self.rounds, *more)
        own = tasks(self.instance, self.low, x)
        return Allocation(self.instance, self.notion, **own, score=self.score, rounds=rounds)


class OfClass(RuledLadder):
    """The answers tried for one class."""

    def __init__(self, run: _ClassesRun, rank: int, active: Bools, gap: float) -> None:
        super().__init__(run.instance, run.notion, run.score, gap, None)
        self.run, self.of, self.active, self.closer = run, rank, active, False

    def unsure(self) -> bool:
        """Whether the judge is asked for all it knows."""
        return self.short() and self.best is not None

    def again(self) -> None:
        """The best answer, and the points that the judge finds with more digits."""
        assert self.best is not None
        self.closer, alloc, self.best = True, self.best, None
        self.closely({"step": "judged closely"}, alloc)

    def told(self, x: Floats, price: Floats) -> Allocation:
        """The answer with these tasks (P,) and prices (M,) of the class."""
        run = self.run
        share = np.bincount(run.low.owner, run.low.score * x, len(self.active))
        above = np.maximum(share - run.asked.base, 0.0)[self.active]
        t = welfare.equivalent(run.log_w[self.active], above, run.alpha)
        return run.told(x, run._round(max(t, 1e-300), self.of, self.active, price))

    def verdict(self, alloc: Allocation, once: bool) -> LadderVerdict:
        found = classes.proved(alloc, self.of, self.closer)
        far = float(found.off[self.active | self.run.done].max())
        kept = feasible.checks(Ruling(alloc), self.run.asked.floor)
        return Seen(found.gap, far, max(found.gap, far) <= CLOSE and all(c.holds for c in kept))

    def near(self) -> bool:
        return self.error > SHARP

    def searched(self, best: Allocation, once: bool) -> dict[str, Floats] | None:
        return classes.proved(best, self.of, self.closer).stages[-1].nearer()

    def moved(self, found: dict[str, Floats]) -> Allocation:
        assert self.best is not None
        alloc = self.best.with_(**{**found, "rounds": None})
        price = listed_prices(alloc, self.run.low)
        return self.told(self.run._columns(alloc), price)


__all__ = ["answer"]
