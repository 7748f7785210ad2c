"""Max-min answers, level after level: our engines, then programs, until the judge agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import judged
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.solving.best import Best, Rung
from fairopt.solving.engines.interior.behind import Behind
from fairopt.solving.engines.point import How
from fairopt.solving.engines.polish.levels import polished, settled
from fairopt.solving.engines.programs import conic, sequence
from fairopt.solving.level_part import MANY_PAIRS, ClusterPart, LevelsFound, in_order
from fairopt.solving.levels_again import at_vertex
from fairopt.solving.levels_again import begin as begun

SMALL = 3_000
"""for instances of up to so many pairs, levels of the interior method are made exact"""
NOT_APART = (
    "max-min: solver interior wants nobody stopped by a limit, and nothing left for free users "
    "where others were stopped; wanted auto or highs"
)
WAYS = ("auto", "kept", "refined", "careful", "programs")
"""the ways of `max_min`, the fastest first"""
OURS = (*WAYS, "interior")
SHARP = 5e-7
"""if the levels have a larger error they are computed again, in the next way"""
EXACT = 1e-9
"""if the levels of a small instance have a larger error, tasks and prices are made exact"""
CLOSE = 1e-8
"""the same where they began at those of the answer before a change"""


def ladder(instance: Instance, notion: Any, score: Floats, how: How) -> Allocation:
    """The answer of `max-min`: by kept models, interior levels, with more care, by programs.

    The next is tried only if the judge does not certify the answer.

    Raises
    ------
    SolverFailure : no answer was found, or solver "interior" was named and does not apply.
    """
    ways = WAYS if how.solver == "auto" else (how.solver,)
    rungs = (
        Rung(way, LevelsLadder.wants(way), partial(LevelsLadder.by, way=way, how=how))
        for way in ways
    )
    return LevelsLadder(instance, notion, score, how.gap).climb(rungs)


class LevelsLadder(Best):
    """The answers tried. The steps of one are its own levels, after what was tried before."""

    models = False  # whether every part had its kept model

    def verdict(self, alloc: Allocation, once: bool) -> Certificate:
        """The whole certificate, made once."""
        return judged(alloc)

    @staticmethod
    def wants(way: str) -> Callable[[LevelsLadder], bool]:
        """Whether a way is still worth trying: of many pairs each takes minutes for what is
        certified already."""

        def worth(ladder: LevelsLadder) -> bool:
            enough = TOLERANCE if len(ladder.instance.pairs[0]) > MANY_PAIRS else SHARP
            return ladder.error > enough and not (way == "kept" and ladder.models)

        return worth

    def by(self, way: str, how: How) -> bool:
        """All levels in one way, made finer where that helps; whether no other way can gain."""
        found = max_min(self.instance, self.notion, self.score, way, how.progress, how.start)
        done = {step["status"] for step in found.steps}
        self.models = done <= {"kept", "refined", "filled"}
        # nothing is to be gained once every part has its levels to thirty digits
        exact = done <= {"refined", "filled"}
        one = exact or clock.over()
        enough = EXACT if how.start is None else CLOSE
        for levels in (found,) if one else _finer(self.instance, self.score, found):
            step: dict[str, Any] = {"step": way}
            self.keep(step, self._answer(levels))
            if self.error <= enough:
                break
        if exact or self.error <= SHARP:
            return True
        if clock.over() and self.best is not None:
            last = {**step, "step": "time limit"}
            self.best = self.best.with_(steps=(*self.best.steps, last))
            return True
        self.steps.append(step)
        return False

    def _answer(self, levels: LevelsFound) -> Allocation:
        return Allocation(
            self.instance,
            self.notion,
            levels.tasks,
            level_prices=levels.level_prices,
            score=self.score,
            steps=(*self.steps, *levels.steps),
        )

    def found(self, best: Allocation) -> Allocation:
        """The best answer, whose steps are those of its levels already."""
        return best


def max_min(
    instance: Instance,
    notion: Any,
    score: Floats,
    way: str = "auto",
    progress: Callable[[int, int], None] | None = None,
    start: Allocation | None = None,
) -> LevelsFound:
    """All levels of a max-min answer.

    Parts that share no server are solved one by one: those that are small, or of which the first
    level stops few, on one HiGHS model that is kept from level to level. Of others the interior
    method finds the lowest level. The users stopped at it and their full servers are then removed,
    and the rest, which may fall into several parts, is treated alike. If a stopped user still
    shares a server with free users (it was stopped by its limit, or its servers have resources left
    that they may use), the part has a kept model too.

    Parameters
    ----------
    way : "auto"; "kept", a model for every part of several servers; "refined", the same with every
        level to thirty digits; "careful", which keeps none and
        makes tasks and prices of every level exact before the next, as needed when weights spread
        over decades and a light user's money is lost in the rounding of others', then programs;
        "programs", one a level for every part of several servers; "interior", which never uses
        programs; or the name of a general solver, which uses programs alone.
    progress : called with (users whose level is known, users).
    start : an answer before a change, at whose basis models begin.

    Raises
    ------
    SolverFailure : no answer was found, or "interior" does not apply.
    """
    users = instance.shape[0]
    tasks = np.zeros(instance.shape[:2])
    capped = np.zeros(users, bool)
    empty: tuple[Behind, ...] = ()
    parts = [(*part, empty, False) for part in reversed(instance.parts())]
    found: list[tuple[Floats, dict[str, Any]]] = []
    done = 0
    while parts:
        users_here, servers_here, behind, few = parts.pop()
        where = np.ix_(users_here, servers_here)
        part = ClusterPart(instance, score, users_here, servers_here, capped[users_here])
        counting = _counting(progress, done, users)
        try:
            level = _of_part(part, notion, tasks[where], way, few, counting, start)
        except clock.OutOfTime:
            level = part.late(tasks[where])
        tasks[where], capped[users_here], told = level.tasks, part.capped, done
        for prices, step in zip(level.level_prices, level.steps, strict=True):
            mine = Behind.of(instance, score, part, prices, behind)
            found.append((mine.with_ancestors(instance, behind), step))
            if progress is not None and part.peeled:
                told += len(step["users"])
                progress(told, users)
        left = part.left()
        if part.full.any():
            behind = (*behind, mine.only(part.full))
        remain = sum(len(rest[0]) for rest in left)
        # where a level stops few, more levels are to come
        few = remain > 0.5 * len(users_here)
        parts.extend((*rest, behind, few) for rest in reversed(left))
        done += len(users_here) - remain
    return in_order(instance.pool.shape, tasks, found)


def _of_part(
    part: ClusterPart,
    notion: Any,
    before: Floats,
    way: str,
    few: bool,
    counting: Callable[[int, int], None] | None,
    start: Allocation | None = None,
) -> LevelsFound:
    """The next level of a part, or all of them, by the first engine that finds any."""
    clock.tick()
    if len(part.servers) == 1 and way in OURS:
        return part.filled()
    level: LevelsFound | None = None
    begin = None
    if start is not None and way == "auto" and at_vertex(part.instance, start):
        begin = begun(part.instance, part.score, start)
    soon = (few or begin is not None) and len(part.instance.pairs[0]) <= MANY_PAIRS
    first = way in ("kept", "refined") or (way == "auto" and (soon or part.soon()))
    if first:
        level = part.kept(counting, way == "refined", begin)
    if level is None and way in ("auto", "careful", "interior"):
        level = part.interior(before, way == "careful")
    if level is None and way == "auto" and not first:
        level = part.kept(counting)
    if level is None and way == "interior":
        raise SolverFailure(NOT_APART)
    if level is not None:
        return level
    clock.tick()
    try:
        return _by_programs(part.instance, notion, part.score, way, counting)
    except clock.OutOfTime:
        raise
    except SolverFailure as fault:
        raise SolverFailure("; ".join([*part.faults, str(fault)])) from fault


def _finer(instance: Instance, score: Floats, found: LevelsFound) -> Iterator[LevelsFound]:
    """The levels as found; of small instances then with tasks, and with prices too, made exact."""
    yield found
    if len(instance.pairs[0]) <= SMALL:
        for money in (False, True):
            yield _exact(instance, score, found, money)


def _exact(instance: Instance, score: Floats, levels: LevelsFound, money: bool) -> LevelsFound:
    """Tasks that fill priced rows exactly, with `money` on pairs that cost their users the same.

    The same levels if somebody would have nothing.
    """
    tasks, all_prices = levels.tasks, list(levels.level_prices)
    share = (tasks * score).sum(axis=1)  # users keep it: what they give up below they get elsewhere
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    for k, prices in enumerate(all_prices):
        if money and prices.any():
            tasks, paid = settled(instance, score, tasks, prices * pool)
            all_prices[k] = paid / pool
    if not (tasks.any(axis=1) & (share > 0)).all():
        return levels
    tasks = polished(instance, score, tasks, all_prices, share)
    return LevelsFound(tasks, np.array(all_prices), levels.steps)


def _by_programs(
    instance: Instance,
    notion: Any,
    score: Floats,
    way: str,
    progress: Callable[[int, int], None] | None,
) -> LevelsFound:
    """One program a level, by HiGHS or by the solver named; then the answer is polished."""
    named = way not in (*OURS, "highs")
    settings = conic.ladder(way, linear=True)[0] if named else conic.EXACT
    found = sequence.programs(instance, notion.heights, score, settings, progress)
    share = instance.weight * found.level
    tasks = polished(instance, score, found.tasks, list(found.level_prices), share)
    return LevelsFound(tasks, found.level_prices, found.steps)


def _counting(
    progress: Callable[[int, int], None] | None, done: int, users: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda part, _: progress(done + part, users)
