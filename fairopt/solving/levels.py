"""Max-min answers, level after level: our engines, then programs, until the judge agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.interior.behind import Behind
from fairopt.solving.engines.interior.leveling import Level, highest_level
from fairopt.solving.engines.point import Question, fitted
from fairopt.solving.engines.polish.levels import exactly_full, polished, settled
from fairopt.solving.engines.programs import conic, sequence
from fairopt.solving.engines.water.one_server import fill_in_turn

if TYPE_CHECKING:
    from fairopt.allocation import Allocation

SMALL = 3_000
"""for instances of up to so many pairs, levels of the interior method are made exact"""
NOT_APART = (
    "max-min: solver interior wants nobody stopped by a limit, and nothing left for free users "
    "where others were stopped; wanted auto or highs"
)
OURS = ("auto", "careful", "programs", "interior")
SHARP = 5e-7
"""if the levels have a larger error they are computed again, with `careful`"""



@dataclass(frozen=True)
class Levels:
    """A lexicographic answer.

    tasks : (N, I). level_prices : (K, I, R), of each level. steps : what was done, as plain data.
    """

    tasks: Floats
    level_prices: Floats
    steps: tuple[dict[str, Any], ...]


def ladder(instance: Instance, notion: Any, score: Floats, how: How) -> Allocation:
    """The answer of `max-min`: by the interior method, then with more care, then by programs.

    The next is tried only if the judge does not certify the answer.

    Raises
    ------
    SolverFailure : no answer was found, or solver "interior" was named and does not apply.
    """
    from fairopt.allocation import Allocation
    from fairopt.certificates import judged

    ways = ("auto", "careful", "programs") if how.solver == "auto" else (how.solver,)
    tried: list[dict[str, Any]] = []
    best: Allocation | None = None
    error = np.inf
    for way in ways:
        try:
            found = max_min(instance, notion, score, way, how.progress)
        except SolverFailure as fault:
            if how.solver != "auto":
                raise
            tried.append({"step": way, "failed": str(fault)})
            continue
        alloc = Allocation(
            instance, notion, found.tasks, level_prices=found.level_prices, score=score,
            steps=(*tried, *found.steps),
        )  # fmt: skip
        certificate = judged(alloc)
        worst = max(certificate.gap, certificate.residual)
        if best is None or worst < error:
            best, error = alloc, worst
        if error <= SHARP:
            break
        tried.append({"step": way, "gap": certificate.gap, "residual": certificate.residual})
    if best is None:
        raise SolverFailure("; ".join(str(step["failed"]) for step in tried))
    return best


def max_min(
    instance: Instance,
    notion: Any,
    score: Floats,
    way: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Levels:
    """All levels of a max-min answer.

    Parts that share no server are solved one by one. The interior method finds the lowest level of
    a part. The users stopped at it and their full servers are then removed, and the rest, which may
    fall into several parts, is treated alike. If a stopped user still shares a server with free
    users (it was stopped by its limit, or its servers have resources left that they may use), the
    part is solved by programs.

    Parameters
    ----------
    way : "auto"; "careful", which makes tasks and prices of every level exact before the next, as
        needed when weights spread over decades and a light user's money is lost in the rounding of
        others'; "programs", for every part of several servers; "interior", which never uses
        programs; or the name of a general solver, which uses programs alone.
    progress : called with (users whose level is known, users).

    Raises
    ------
    SolverFailure : no answer was found, or "interior" does not apply.
    """
    users = instance.shape[0]
    tasks = np.zeros(instance.shape[:2])
    capped = np.zeros(users, bool)
    empty: tuple[Behind, ...] = ()
    parts = [(*part, empty) for part in reversed(instance.parts())]
    found: list[tuple[Floats, dict[str, Any]]] = []
    done = 0
    while parts:
        users_here, servers_here, behind = parts.pop()
        where = np.ix_(users_here, servers_here)
        part = _Part(instance, score, users_here, servers_here, capped[users_here])
        level: Levels | None = None
        if len(servers_here) == 1 and way in OURS:
            level = part.filled()
        elif way in OURS and way != "programs":
            level = part.interior(tasks[where], way == "careful")
        if level is None and way == "interior":
            raise SolverFailure(NOT_APART)
        if level is None:
            counting = _counting(progress, done, users)
            level = _by_programs(part.instance, notion, part.score, way, counting)
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
        parts.extend((*rest, behind) for rest in reversed(left))
        done += len(users_here) - sum(len(rest[0]) for rest in left)
    levels = _in_order(instance, tasks, found)
    exact = way in ("careful", "programs")
    ours = any(step["status"] == "interior" for step in levels.steps)
    if not (ours or exact) or len(instance.pairs[0]) > SMALL:
        return levels
    all_prices = list(levels.level_prices)
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    share = (tasks * score).sum(axis=1)  # users keep it: what they give up below they get elsewhere
    for k, prices in enumerate(all_prices):
        if exact and prices.any():
            tasks, money = settled(instance, score, tasks, prices * pool)
            all_prices[k] = money / pool
    tasks = polished(instance, score, tasks, all_prices, share)
    return Levels(tasks, np.array(all_prices), levels.steps)


class _Part:
    """A part of the cluster: users and servers that share nothing with the others."""

    def __init__(
        self, instance: Instance, score: Floats, users: Ints, servers: Ints, capped: Bools
    ) -> None:
        whole = (len(users), len(servers)) == instance.shape[:2]
        self.users, self.servers = users, servers
        self.stopped: Bools = np.ones(len(users), bool)
        self.full: Bools = np.ones(len(servers), bool)
        self.instance = instance if whole else instance.select(users, servers)
        self.score = score[np.ix_(users, servers)]
        self.capped = capped.copy()
        self.peeled = False

    def filled(self) -> Levels:
        """All levels of a part of one server, by water filling."""
        inst = self.instance
        size = inst.weight / self.score[:, 0]  # tasks per unit of level
        part = inst.demand_by_server[:, 0] / np.where(inst.pool[0] > 0, inst.pool[0], 1.0)
        with np.errstate(over="ignore"):
            cap = inst.limit / size
        height, turns = fill_in_turn(part * size[:, None], np.zeros(len(size)), cap)
        found = self._by_limit(np.flatnonzero(height >= cap))
        for r, users in turns:
            stopped = users[height[users] < cap[users]]
            if len(stopped):
                prices = np.zeros(inst.pool.shape)
                prices[0, r] = 1.0 / inst.pool[0, r]
                value = float(height[stopped].max())
                found.append((prices, self._step("filled", value, stopped, [(0, r)])))
        tasks = np.where(height >= cap, inst.limit, height * size)[:, None]
        self.peeled = True
        return _in_order(inst, tasks, found)

    def _step(
        self, status: str, value: float, users: Ints, full: list[tuple[int, int]]
    ) -> dict[str, Any]:
        inst = self.instance
        names = [inst.users[k] for k in users]
        return {
            "step": "level", "status": status, "level": value, "users": names,
            "full": [[inst.servers[a], inst.resources[b]] for a, b in full],
            "at limit": [] if full else names,
        }  # fmt: skip

    def _by_limit(self, users: Ints) -> list[tuple[Floats, dict[str, Any]]]:
        """The levels at which these users reach their limits; they need no prices."""
        inst = self.instance
        most = inst.limit[users] * self.score[users].max(axis=1) / inst.weight[users]
        nothing = np.zeros(inst.pool.shape)
        return [
            (nothing, self._step("filled", float(value), users[most == value], []))
            for value in np.unique(most)
        ]

    def interior(self, before: Floats, careful: bool) -> Levels | None:
        """The lowest level of the part, with some tasks of its free users; None if not applicable.

        before : (N, I), tasks at the end of the level before, at which the free users start.
        """
        inst = self.instance
        if self.capped.all():
            everybody, self.peeled = np.arange(len(self.capped)), True
            return _in_order(inst, self._at_limits(before), self._by_limit(everybody))
        level = self._limits_known(before)
        if level is not None and self.capped.all():
            reached = np.zeros(inst.shape[:2])
            reached[inst.pairs] = level.x
            return self.interior(reached, careful)
        if level is None or not level.clear or self._coupled(level):
            return None
        self.peeled, self.stopped = True, level.stopped
        self.full = np.asarray(level.full.any(axis=1))
        stopped = level.stopped
        found = self._by_limit(np.flatnonzero(stopped & self.capped))
        mine = np.zeros(inst.shape[:2])
        mine[inst.pairs] = level.x
        money = level.rows
        if careful:
            mine, money = settled(inst, self.score, mine, np.where(level.full, money, 0.0))
        height = (mine * self.score).sum(axis=1) / inst.weight
        rising = stopped & ~self.capped
        if not rising.any():
            return None
        value = float(height[rising].min())
        # make the levels of the stopped users exactly equal and their rows exactly full
        mine[rising] *= (value / height[rising])[:, None]
        mine = fitted(inst, self._at_limits(mine))
        mine[np.ix_(~stopped, self.full)] = 0.0
        if careful or not stopped.all():  # the proofs of later levels depend on this one
            mine = exactly_full(inst, self.score, mine, stopped, level.full)
        pool = np.where(inst.pool > 0, inst.pool, 1.0)
        rows = [(int(a), int(b)) for a, b in np.argwhere(level.full)]
        step = self._step("interior", value, np.flatnonzero(rising), rows)
        found.append((money / pool / float(money.sum()), step))
        return _in_order(inst, mine, found)

    def _limits_known(self, before: Floats) -> Level | None:
        """The next level at which resources alone stop users, found without limits in the program.

        Such a level is at most too low. So a user whose limit is below it does reach its limit: it
        keeps what the limit allows, and the level of the others is found again.
        """
        inst = self.instance
        limited = np.isfinite(inst.limit)
        top = self.score.max(axis=1)
        if (limited & (np.where(inst.eligible, self.score, top[:, None]).min(axis=1) < top)).any():
            return None  # the share that a limit allows depends on the server
        share = np.where(limited, inst.limit, 0.0) * top
        loose = inst.replace(limit=None) if limited.any() else inst
        question = Question.of(loose, self.score, 1.0, False)
        x = before[question.pairs]
        while True:
            level = highest_level(
                question, x if x.any() else None, np.where(self.capped, share, 0.0)
            )
            if level is None:
                return None
            x = level.x
            height = np.bincount(inst.pairs[0], x * self.score[inst.pairs]) / inst.weight
            reached = limited & ~self.capped & (share <= height[~self.capped].min() * inst.weight)
            if not reached.any():
                return level
            self.capped |= reached
            if self.capped.all():
                return level

    def _at_limits(self, tasks: Floats) -> Floats:
        """The tasks, with those of users at their limits scaled to exactly the limit."""
        total = tasks.sum(axis=1)
        scale = np.where(self.capped & (total > 0), self.instance.limit, 1.0)
        return tasks * (scale / np.where(self.capped & (total > 0), total, 1.0))[:, None]

    def _coupled(self, level: Level) -> bool:
        """Whether a stopped user holds tasks on a server where free users may still get more."""
        inst, stopped = self.instance, level.stopped
        priced = level.full
        n, i = inst.pairs
        mine = ~stopped[n] & np.asarray(priced.any(axis=1))[i]
        used = (inst.pair_demand[mine] > 0) & priced[i[mine]]
        return bool((~used.any(axis=1)).any())

    def left(self) -> list[tuple[Ints, Ints]]:
        """The parts into which the free users fall, as positions in the whole instance."""
        users, servers = np.flatnonzero(~self.stopped), np.flatnonzero(~self.full)
        if not len(users):
            return []
        rest = self.instance.select(users, servers)
        return [
            (self.users[users[n]], self.servers[servers[i]]) for n, i in rest.parts()
        ]


def _in_order(
    instance: Instance, tasks: Floats, found: list[tuple[Floats, dict[str, Any]]]
) -> Levels:
    found.sort(key=lambda pair: pair[1]["level"])
    prices = np.array([p for p, _ in found]).reshape(-1, *instance.pool.shape)
    return Levels(tasks, prices, tuple(step for _, step in found))


def _by_programs(
    instance: Instance,
    notion: Any,
    score: Floats,
    way: str,
    progress: Callable[[int, int], None] | None,
) -> Levels:
    """One program a level, by HiGHS or by the solver named; then the answer is polished."""
    named = way not in (*OURS, "highs")
    settings = conic.ladder(way, linear=True)[0] if named else conic.EXACT
    found = sequence.programs(instance, notion.heights, score, settings, progress)
    share = instance.weight * found.level
    tasks = polished(instance, score, found.tasks, list(found.level_prices), share)
    return Levels(tasks, found.level_prices, found.steps)


def _counting(
    progress: Callable[[int, int], None] | None, done: int, users: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda part, _: progress(done + part, users)
