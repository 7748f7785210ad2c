"""The driver of notions that are a sequence of programs: one level after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.engines import conic, units
from fairopt.engines.behind import Behind
from fairopt.engines.leveling import Level, highest_level
from fairopt.engines.point import Point, Question
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance, Ints

_HIGHS = conic.Settings(
    "highs", "HIGHS",
    (("threads", 1), ("primal_feasibility_tolerance", 1e-10),
 ("dual_feasibility_tolerance", 1e-10), ("small_matrix_value", 1e-12)),
)  # fmt: skip
FILLED = 1e-14
"""what a row may lack, relative, to be full"""
SMALL = 3_000
"""pairs up to which interior levels are made exact as well"""
NOT_APART = (
    "max-min: solver interior wants nobody stopped by a limit, and nothing left for free users "
    "where others were stopped; wanted auto or highs"
)
SURE = 1e-7
"""a multiplier above this part of the largest freezes its user"""


@dataclass(frozen=True)
class Levels:
    """A lexicographic answer: tasks (N, I), prices of each level (K, I, R), and what happened."""

    tasks: Floats
    level_prices: Floats
    steps: tuple[dict[str, Any], ...]


def max_min(
    instance: Instance,
    notion: Any,
    score: Floats,
    solver: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Levels:
    """All levels. Parts that share no server, also those that levels leave behind, one by one.

    A level of a part is found by the interior method; its users and full servers are then done
    with, and what is left has levels of its own. Where a stopped user still matters to free ones (a
    limit stopped it, or its servers have resources left that they may use) the part goes to
    `programs`.

    Parameters
    ----------
    solver : "auto", "interior" (never programs) or "highs" (programs alone).
    progress : called with (users whose level is known, users).

    Raises
    ------
    SolverFailure : no answer, or "interior" does not apply.
    """
    users = instance.shape[0]
    tasks = np.zeros(instance.shape[:2])
    empty: tuple[Behind, ...] = ()
    parts = [(*part, empty) for part in reversed(instance.parts())]
    found: list[tuple[Floats, dict[str, Any]]] = []
    done = 0
    while parts:
        users_here, servers_here, behind = parts.pop()
        where = np.ix_(users_here, servers_here)
        part = _Part(instance, score, users_here, servers_here)
        level = None if solver == "highs" else part.interior(tasks)
        if level is None and solver == "interior":
            raise SolverFailure(NOT_APART)
        if level is None:
            level = programs(part.instance, notion, part.score, _counting(progress, done, users))
        tasks[where] = level.tasks
        for prices, step in zip(level.level_prices, level.steps, strict=True):
            mine = Behind.of(instance, score, part, prices, behind)
            found.append((mine.with_ancestors(instance, behind), step))
        left = part.left()
        parts.extend((*rest, (*behind, mine.only(part.full))) for rest in reversed(left))
        done += len(users_here) - sum(len(rest[0]) for rest in left)
        if progress is not None and part.peeled:
            progress(done, users)
    found.sort(key=lambda pair: pair[1]["level"])
    all_prices, steps = [p for p, _ in found], tuple(step for _, step in found)
    ours = any(step["status"] == "interior" for step in steps)
    if ours and len(instance.pairs[0]) <= SMALL:
        tasks = _polished(instance, score, tasks, all_prices)
    return Levels(tasks, np.array(all_prices), steps)


class _Part:
    """Users and servers that have nothing to do with the rest."""

    def __init__(self, instance: Instance, score: Floats, users: Ints, servers: Ints) -> None:
        whole = (len(users), len(servers)) == instance.shape[:2]
        self.users, self.servers = users, servers
        self.stopped: Bools = np.ones(len(users), bool)
        self.full: Bools = np.ones(len(servers), bool)
        self.instance = instance if whole else instance.select(users, servers)
        self.score = score[np.ix_(users, servers)]
        self.peeled = False

    def interior(self, tasks: Floats) -> Levels | None:
        """One level, with whatever tasks its free users have now; None where it does not apply."""
        inst = self.instance
        question = Question.of(inst, self.score, 1.0, False)
        before = tasks[np.ix_(self.users, self.servers)][question.pairs]
        # a part left behind by an earlier level begins where that level ended
        level = highest_level(question, before if before.any() else None)
        if level is None or not level.clear or self._coupled(level):
            return None
        self.peeled = True
        self.stopped = level.stopped
        self.full = np.asarray(level.full.any(axis=1))
        pool = np.where(inst.pool > 0, inst.pool, 1.0)
        rows = np.argwhere(level.full)
        point = Point(level.x, level.rows, level.limits)
        mine = point.tasks(inst)
        height = (mine * self.score).sum(axis=1) / inst.weight
        value = float(height[level.stopped].min())
        # who is stopped here is at one level and fills its rows, to the last digit
        mine[level.stopped] *= (value / height[level.stopped])[:, None]
        mine[np.ix_(~level.stopped, self.full)] = 0.0
        if not level.stopped.all():  # proofs of later levels lean on this one
            mine = self._exact(mine, level)
        step = {
            "step": "level", "status": "interior", "level": value,
            "users": [inst.users[k] for k in np.flatnonzero(level.stopped)],
            "full": [[inst.servers[a], inst.resources[b]] for a, b in rows],
            "at limit": [],
        }  # fmt: skip
        prices = level.rows / pool / float(level.rows.sum())
        return Levels(mine, prices[None], (step,))

    def _exact(self, tasks: Floats, level: Level) -> Floats:
        """Tasks whose stopped users fill the full rows exactly, at one level exactly."""
        from fairopt.program import usage_matrix

        users, servers = np.flatnonzero(level.stopped), np.flatnonzero(self.full)
        where = np.ix_(users, servers)
        stopped = self.instance.select(users, servers)
        usage, rows = usage_matrix(stopped)
        usage = usage[level.full[servers][rows]]
        score, y = self.score[where], tasks[where][stopped.pairs]
        group = np.zeros(len(users), dtype=np.int64)
        for _ in range(3):
            share = np.bincount(stopped.pairs[0], y * score[stopped.pairs], len(users))
            if float(np.abs(usage @ y - 1.0).max()) < FILLED:
                break
            moved = _correct(stopped, score, y, group, usage, share / stopped.weight)
            if moved is None:
                return tasks
            y = moved
        nothing = np.zeros(stopped.pool.shape)
        found = tasks.copy()
        found[where] = Point(y, nothing, np.zeros(len(users))).tasks(stopped)
        return found

    def _coupled(self, level: Level) -> bool:
        """Whether a stopped user still matters: by its limit, or where free users find room."""
        inst = self.instance
        if ((level.limits > 0) & level.stopped & np.isfinite(inst.limit)).any():
            held = level.limits / np.where(np.isfinite(inst.limit), inst.limit, 1.0)
            if bool((held[level.stopped] > 1e-9 * float(held.max())).any()):
                return True
        priced = level.full
        n, i = inst.pairs
        mine = ~level.stopped[n] & np.asarray(priced.any(axis=1))[i]
        used = (inst.pair_demand[mine] > 0) & priced[i[mine]]
        return bool((~used.any(axis=1)).any())

    def left(self) -> list[tuple[Ints, Ints]]:
        """The parts of the free users, in positions of the whole instance."""
        users, servers = np.flatnonzero(~self.stopped), np.flatnonzero(~self.full)
        if not len(users):
            return []
        rest = self.instance.select(users, servers)
        return [
            (self.users[users[n]], self.servers[servers[i]]) for n, i in rest.parts()
        ]


def _counting(
    progress: Callable[[int, int], None] | None, done: int, users: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda part, _: progress(done + part, users)


def programs(
    instance: Instance,
    notion: Any,
    score: Floats,
    progress: Callable[[int, int], None] | None = None,
) -> Levels:
    """All levels: a program each, frozen users kept exactly where they were, with no slack.

    A slack would be amplified by the ratio of the money of the frozen to that of the new level.
    `progress(frozen, users)` is called after each level.

    Raises
    ------
    SolverFailure : a program gave no answer, or nobody could be frozen.
    """
    users = instance.shape[0]
    question = Question.of(instance, score, 1.0, False)
    alone = units.alone(question)
    free, level = np.ones(users, bool), np.zeros(users)
    all_prices: list[Floats] = []
    steps: list[dict[str, Any]] = []
    point = None
    n, i = instance.pairs
    while free.any():
        # free users in units of about what their weight will give them, so that slopes are near 1
        ratio = np.where(free, instance.weight / alone, 0.0)
        wide = alone * np.maximum(ratio / ratio.max(), 1e-6)
        unit = np.where(free, wide, np.maximum(level, 1e-12 * alone))
        program = notion.step(instance, score, unit, free, level)
        point, status = conic.run(program, instance, _HIGHS)
        worth = np.abs(np.asarray(program.definition[0].dual_value, dtype=np.float64).ravel())
        slope = np.where(free, instance.weight / unit, 0.0)
        part = np.where(free, worth * slope, 0.0)
        if not part.max() > 0:
            raise SolverFailure(f"level {len(steps)}: {status}, and nobody stopped it")
        stopped = free & (part > SURE * part.max())
        share = np.bincount(n, point.x * score[n, i], users)
        t = float((share / instance.weight)[stopped].min())
        level = np.where(stopped, instance.weight * t, level)
        prices, limits = point.prices(instance)
        money = float((prices * instance.pool).sum())
        all_prices.append(prices / money if money > 0 else prices)
        free &= ~stopped
        rows = np.argwhere((prices > 0) & (instance.pool > 0))
        steps.append({
            "step": "level", "status": status, "level": t,
            "users": [instance.users[k] for k in np.flatnonzero(stopped)],
            "full": [[instance.servers[a], instance.resources[b]] for a, b in rows],
            "at limit": [instance.users[k] for k in np.flatnonzero((limits > 0) & stopped)],
        })  # fmt: skip
        if progress is not None:
            progress(users - int(free.sum()), users)
    assert point is not None
    last = Point(point.x, np.zeros(instance.pool.shape), np.zeros(users)).tasks(instance)
    found = _polished(instance, score, last, all_prices, level)
    return Levels(found, np.array(all_prices), tuple(steps))


def _polished(
    instance: Instance,
    score: Floats,
    tasks: Floats,
    prices: list[Floats],
    level: Floats | None = None,
) -> Floats:
    """Tasks (N, I) that fill every priced row exactly and give levels that are exactly equal.

    A least-norm correction of the last program's tasks, relative to each, with the value of every
    level free: the programs' own tolerances disappear.
    """
    from fairopt.program import usage_matrix

    n, i = instance.pairs
    y = tasks[n, i]
    value = (
        level if level is not None else np.bincount(n, y * score[n, i], instance.shape[0])
    ) / instance.weight
    order = np.argsort(value, kind="stable")
    new = np.concatenate([[True], np.diff(value[order]) > 1e-9 * value[order][1:]])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    usage, rows = usage_matrix(instance)
    used = usage @ y
    priced = (np.max(prices, axis=0)[rows] > 0) & (used > 1 - 1e-8)
    for _ in range(3):
        moved = _correct(instance, score, y, group, usage[priced], value)
        if moved is None:
            return tasks
        y = moved
        value = np.bincount(n, y * score[n, i], instance.shape[0]) / instance.weight
    return Point(y, np.zeros(instance.pool.shape), np.zeros(instance.shape[0])).tasks(instance)


def _correct(
    instance: Instance, score: Floats, y: Floats, group: Any, usage: Any, value: Floats
) -> Floats | None:
    from scipy.sparse import csc_array

    from fairopt.engines.polish import least_norm

    n, i = instance.pairs
    users, groups = instance.shape[0], int(group.max()) + 1
    held = np.flatnonzero(y > 0)
    share = score[n[held], i[held]] * y[held] / (value * instance.weight)[n[held]]
    full = usage[:, held].multiply(y[held][None, :]).tocoo()
    # relative: log level of the user's share moves as its group's does; then the full rows
    down = np.concatenate([n[held], np.arange(users), users + full.row])
    across = np.concatenate([np.arange(len(held)), len(held) + group, full.col])
    entries = np.concatenate([share, -np.ones(users), full.data])
    shape = (users + full.shape[0], len(held) + groups)
    mean = np.array([value[group == k].mean() for k in range(groups)])
    right = np.concatenate([
        mean[group] / value - np.bincount(n[held], share, users), 1.0 - full.sum(axis=1),
    ])  # fmt: skip
    step = least_norm(csc_array((entries, (down, across)), shape=shape), right)
    if step is None:
        return None
    moved = y.copy()
    moved[held] = np.maximum(y[held] * (1 + step[: len(held)]), 0.0)
    return moved
