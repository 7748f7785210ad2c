"""One part of a cluster in a max-min answer: its next level, by the fastest way that applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.guess import roughly
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.notions import MaxMin
from fairopt.solving.engines.path.level import LevelStops, stopping
from fairopt.solving.engines.point import AlphaQuestion, divided, fitted
from fairopt.solving.engines.polish.levels import exactly_full, settled
from fairopt.solving.engines.programs import kept
from fairopt.solving.engines.programs.level_model import Begin
from fairopt.solving.engines.water.one_server import fill_in_turn

USED = 1e-9
"""part of a share that is no use of a server, and of all money that is no price"""
KEPT = 3_000
"""pairs of a part up to which one kept HiGHS model is faster than a level of the interior method"""
MANY_PAIRS = 100_000
"""pairs of a part beyond which a kept model comes to no end: levels of the interior method first"""


@dataclass(frozen=True)
class LevelsFound:
    """A lexicographic answer.

    tasks : (N, I). level_prices : (K, I, R), of each level. steps : what was done, as plain data.
    """

    tasks: Floats
    level_prices: Floats
    steps: tuple[dict[str, Any], ...]


class ClusterPart:
    """A part of the cluster: users and servers that share nothing with the others."""

    def __init__(
        self, instance: Instance, score: Floats, users: Ints, servers: Ints, capped: Bools
    ) -> None:
        self._of, self.users, self.servers = instance, users, servers
        self.stopped: Bools = np.ones(len(users), bool)
        self.full: Bools = np.ones(len(servers), bool)
        self.score = score[np.ix_(users, servers)]
        self.capped = capped.copy()
        self.peeled = False
        self.faults: list[str] = []

    @cached_property
    def instance(self) -> Instance:
        """The part as a cluster of its own."""
        whole = (len(self.users), len(self.servers)) == self._of.shape[:2]
        return self._of if whole else self._of.select(self.users, self.servers)

    def filled(self) -> LevelsFound:
        """All levels of a part of one server, by water filling."""
        inst, (server,) = self._of, self.servers
        limit, pool = inst.limit[self.users], inst.pool[server]
        size = inst.weight[self.users] / self.score[:, 0]  # tasks per unit of level
        part = inst.demand_by_server[self.users, server] / np.where(pool > 0, pool, 1.0)
        with np.errstate(over="ignore"):
            cap = limit / size
        height, turns = fill_in_turn(part * size[:, None], np.zeros(len(size)), cap)
        found = self._by_limit(np.flatnonzero(height >= cap))
        for r, users in turns:
            stopped = users[height[users] < cap[users]]
            if len(stopped):
                prices = np.zeros((1, len(pool)))
                prices[0, r] = 1.0 / pool[r]
                value = float(height[stopped].max())
                found.append((prices, self._step("filled", value, stopped, [(0, r)])))
        tasks = np.where(height >= cap, limit, height * size)[:, None]
        self.peeled = True
        return in_order((1, len(pool)), tasks, found)

    def soon(self) -> bool:
        """Whether a kept model is faster than the interior method: it is small, or few stop first.

        No more than what somebody would have alone, or users without another server have on
        theirs, is the first level. If that is below what an equal division gives to half of the
        users, few stop at it, and the simplex method finds it in about one pivot a user.
        """
        inst, (n, i) = self.instance, self.instance.pairs
        if len(n) <= KEPT or len(n) > MANY_PAIRS:
            return len(n) <= KEPT
        users, servers, resources = inst.shape
        size = inst.weight[n] / self.score[n, i]  # tasks per unit of level
        with np.errstate(divide="ignore", over="ignore"):
            use = size / inst.alone[n, i]
            equal = np.bincount(n, 1.0 / np.bincount(i, use, servers)[i], users)
            most = np.bincount(n, 1.0 / use, users).min()
        only = np.flatnonzero(np.bincount(n, minlength=users)[n] == 1)
        row = i[only, None] * resources + np.arange(resources)
        part = inst.pair_part[only] * size[only, None]
        crowd = np.bincount(row.ravel(), part.ravel(), 1).max()
        return bool(min(most, 1.0 / crowd if crowd > 0 else np.inf) <= np.median(equal))

    def kept(
        self,
        progress: Callable[[int, int], None] | None,
        refined: bool = False,
        begin: Begin | None = None,
    ) -> LevelsFound | None:
        """All levels of the part, on one HiGHS model; None if that fails (`faults` says why).

        Refined if asked, or where the share that a limit allows depends on the server: prices of
        limits beside those of servers nearly in one ratio span many decades.
        """
        for exact in (True, False) if refined or self.timed else (False,):
            try:
                first = None if exact else begin
                found = kept.levels(self.instance, self.score, progress, exact, first)
            except SolverFailure as fault:
                self.faults.append(str(fault))
                continue
            return LevelsFound(found.tasks, found.level_prices, found.steps)
        return None

    @property
    def timed(self) -> bool:
        """Whether limits count tasks of users whose scores differ: jobs on kinds of machine."""
        return AlphaQuestion.of(self.instance, self.score, 1.0, False).timed

    def _step(
        self, status: str, value: float, users: Ints, full: list[tuple[int, int]]
    ) -> dict[str, Any]:
        inst = self._of
        names = [inst.users[k] for k in self.users[users].tolist()]
        return {
            "step": "level",
            "status": status,
            "level": value,
            "users": names,
            "full": [[inst.servers[self.servers[a]], inst.resources[b]] for a, b in full],
            "at limit": [] if full else names,
        }

    def _by_limit(self, users: Ints) -> list[tuple[Floats, dict[str, Any]]]:
        """The levels at which these users reach their limits; they need no prices."""
        if not len(users):
            return []
        inst, own = self._of, self.users[users]
        most = inst.limit[own] * self.score[users].max(axis=1) / inst.weight[own]
        nothing = np.zeros((len(self.servers), inst.shape[2]))
        return [
            (nothing, self._step("filled", float(value), users[most == value], []))
            for value in np.unique(most)
        ]

    def interior(self, before: Floats, careful: bool) -> LevelsFound | None:
        """The lowest level of the part, with some tasks of its free users; None if not applicable.

        before : (N, I), tasks at the end of the level before, at which the free users start.
        """
        inst = self.instance
        if self.capped.all():
            everybody, self.peeled = np.arange(len(self.capped)), True
            return in_order(inst.pool.shape, self._at_limits(before), self._by_limit(everybody))
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
        money = level.money
        if careful:
            mine, money = settled(inst, self.score, mine, np.where(level.full, money, 0.0))
        height = (mine * self.score).sum(axis=1) / inst.weight
        rising = stopped & ~self.capped
        if not rising.any():
            return None
        value = float(height[rising].min())
        # make the levels of the stopped users exactly equal and their rows exactly full
        mine[rising] *= (value / height[rising])[:, None]
        pool = np.where(inst.pool > 0, inst.pool, 1.0)
        if rising.all():  # all as much higher as fills the fullest row
            value /= float((inst.used(mine) / pool).max())
            mine *= value / float(height.min())
        mine = fitted(inst, self._at_limits(mine))
        mine[np.ix_(~stopped, self.full)] = 0.0
        if careful or not stopped.all():  # the proofs of later levels depend on this one
            mine = exactly_full(inst, self.score, mine, stopped, level.full)
        rows = [(int(a), int(b)) for a, b in np.argwhere(level.full)]
        step = self._step("interior", value, np.flatnonzero(rising), rows)
        found.append((money / pool / float(money.sum()), step))
        return in_order(inst.pool.shape, mine, found)

    def _limits_known(self, before: Floats) -> LevelStops | None:
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
        question = AlphaQuestion.of(loose, self.score, 1.0, False)
        while True:
            level = stopping(question, np.where(self.capped, share, 0.0))
            if level is None:
                return None
            height = np.bincount(inst.pairs[0], level.x * self.score[inst.pairs]) / inst.weight
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

    def _coupled(self, level: LevelStops) -> bool:
        """Whether a stopped user holds tasks on a server where free users may still get more."""
        inst, stopped = self.instance, level.stopped
        priced = level.full
        n, i = inst.pairs
        mine = ~stopped[n] & np.asarray(priced.any(axis=1))[i]
        used = (inst.pair_demand[mine] > 0) & priced[i[mine]]
        return bool((~used.any(axis=1)).any())

    def late(self, before: Floats) -> LevelsFound:
        """What the part has when the time is over: the tasks (N, I) at the end of the level before,
        or if there was none, each server divided."""
        self.full[:] = False
        tasks = before if before.any() else divided(self.instance)
        alloc = Allocation(self.instance, MaxMin(), tasks, score=self.score)
        with np.errstate(divide="ignore"):
            prices = roughly(alloc, np.log(self.instance.weight) - np.log(alloc.shares))
        value = float(alloc.levels.min())
        self.peeled = True
        return LevelsFound(
            tasks, prices[None], (self._step("time limit", value, np.arange(0), []),)
        )

    def left(self) -> list[tuple[Ints, Ints]]:
        """The parts into which the free users fall, as positions in the whole instance."""
        users, servers = np.flatnonzero(~self.stopped), np.flatnonzero(~self.full)
        if not len(users):
            return []
        rest = self.instance.select(users, servers)
        return [(self.users[users[n]], self.servers[servers[i]]) for n, i in rest.parts()]


def in_order(
    shape: tuple[int, ...], tasks: Floats, found: list[tuple[Floats, dict[str, Any]]]
) -> LevelsFound:
    """Levels found apart, with prices of that shape, as one list from the lowest up."""
    found.sort(key=lambda pair: pair[1]["level"])
    prices = np.array([p for p, _ in found]).reshape(-1, *shape)
    return LevelsFound(tasks, prices, tuple(step for _, step in found))
