"""One replication of `simulate_tasks`: the state of the pool, and what the inner loop asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt.dynamics import task_loop as at
from fairopt.dynamics.rates import class_rates
from fairopt.dynamics.replications import generator
from fairopt.errors import UsageError
from fairopt.fast import loop
from fairopt.filling.criteria import CRITERIA, FIXED
from fairopt.filling.units import scaled
from fairopt.formulas.schedulers import SCHEDULERS
from fairopt.instance import Floats, Instance

BLOCK = 256
"""arrivals drawn at a time"""
SLOTS = 64
"""jobs present for which there is room at first"""


def rule_code(name: str) -> int:
    """How the loop ranks jobs under a rule: drf, pf, bmf, or a scheduler of `fairopt.filling`.

    On one pool every scheduler's criterion is the dominant share, of the capacity or of what is
    left of it.

    Raises
    ------
    UsageError : an unknown rule.
    """
    own = {"drf": at.DRF, "pf": at.IDEAL, "bmf": at.BMF}
    if name in own:
        return own[name]
    if name in SCHEDULERS:
        fixed = CRITERIA[SCHEDULERS[name].criterion].moved_by == FIXED
        return at.DRF if fixed else at.RESIDUAL
    known = ", ".join(dict.fromkeys([*own, *SCHEDULERS]))
    raise UsageError(f"rule: found {name!r}; wanted one of {known}")


def replicate(piece: Mapping[str, Any], compiled: bool | None = None) -> dict[str, Any]:
    """One replication of `simulate_tasks`, from and to JSON data.

    Parameters
    ----------
    piece : users, demand (K, R), capacity (R,), rho (K,), rule, and the other settings.
    compiled : as of `fast.loop`.

    Returns
    -------
    dict : by class "time" (mean time in the system of measured jobs, None without any),
        "measured", "number" (time-averaged jobs present), "throughput" (jobs that left, per unit
        of time); by resource "use" (time-averaged) and "peak", in parts of the pool; "parts"
        (tasks) {started, ended, running}, "whole" (jobs) {arrived, left, present}, "horizon" (time
        simulated),
        "lost" (most of a resource that is neither left nor held by a running task), "little"
        (largest relative difference between the integral of jobs present and the time that all
        jobs spent).
    """
    run = _TaskRun(piece, compiled)
    run.to_the_end()
    return run.record()


class _TaskRun:
    """The arrays of `task_loop.advance`, by its names."""

    def __init__(self, piece: Mapping[str, Any], compiled: bool | None) -> None:
        self.users: list[str] = list(piece["users"])
        self.tasks, units = int(piece["tasks_per_job"]), int(piece["units"])
        self.rule, self.freeze = rule_code(piece["rule"]), bool(piece["freeze"])
        self.strict = piece["bottleneck"] == "<"
        self.shape = int(piece.get("shape", 1))
        self.watched = int(piece["warmup"])
        self.until = self.watched + int(piece["jobs"])
        self.draw = generator(piece["seed"], piece["number"])
        pool = Instance(piece["demand"], [[units * c for c in piece["capacity"]]])
        self.need, capacity, slack, _ = scaled(pool, 1.0)
        self.capacity: Floats = capacity[0] + slack[0]
        have = np.array(piece["capacity"])
        self.parts: Floats = np.array(piece["demand"]) / np.where(have > 0, have, 1.0)
        self.share = whole_shares(self.need, self.capacity)
        rho = np.array(piece["rho"])
        self.rate = float(rho.sum()) * units / self.tasks
        """jobs that come per unit of time"""
        self.upper: Floats = np.cumsum(rho / rho.sum())
        self.advance = loop(at.advance, compiled)
        self.ideals: dict[bytes, Floats] = {}
        self._empty()
        self.last = 0.0
        self._block()

    def _empty(self) -> None:
        """An empty pool at time 0."""
        classes, resources = self.need.shape
        whole = np.int64
        with np.errstate(divide="ignore"):
            alone = np.where(self.need > 0, self.capacity / self.need, np.inf).min(axis=1)
        room = int(np.floor(alone).sum()) + 1
        self.ideal: Floats = np.ones(classes)
        self.count, self.clock = np.zeros(at.COUNTS, dtype=whole), np.zeros(1)
        self.left, self.present = self.capacity.copy(), np.zeros(classes, dtype=whole)
        self.kind, self.number, self.started, self.running, self.active = np.zeros(
            (5, SLOTS), dtype=whole
        )
        self.born, self.work = np.zeros(SLOTS), np.zeros((SLOTS, self.tasks))
        self.free = np.arange(SLOTS)[::-1].copy()
        self.count[at.FREE] = SLOTS
        self.when, self.who = np.zeros(room), np.zeros(room, dtype=whole)
        self.area, self.stay, self.wait = np.zeros((3, classes))
        self.used, self.peak = np.zeros((2, resources))
        self.seen = np.zeros(classes, dtype=whole)

    def to_the_end(self) -> None:
        """Run until the last measured job has left."""
        while True:
            # the loop is compiled and knows arrays alone: draws, larger arrays and rates are made
            # here
            why = self.advance(
                self.rule,
                self.freeze,
                self.strict,
                self.tasks,
                self.watched,
                self.until,
                self.need,
                self.capacity,
                self.share,
                self.ideal,
                self.block_kind,
                self.block_time,
                self.block_work,
                self.count,
                self.clock,
                self.left,
                self.present,
                self.kind,
                self.born,
                self.number,
                self.started,
                self.running,
                self.work,
                self.active,
                self.free,
                self.when,
                self.who,
                self.area,
                self.stay,
                self.used,
                self.peak,
                self.seen,
                self.wait,
            )
            if why == at.DONE:
                return
            {at.MORE: self._block, at.SLOTS: self._grow, at.RATES: self._rates}[why]()

    def _block(self) -> None:
        """The next arrivals: times, classes and task times of whole jobs, whatever the rule."""
        gaps = self.draw.standard_exponential(BLOCK) / self.rate
        self.block_time: Floats = self.last + np.cumsum(gaps)
        self.last = float(self.block_time[-1])
        place = np.searchsorted(self.upper, self.draw.random(BLOCK), side="right")
        self.block_kind = np.minimum(place, len(self.upper) - 1)
        size = (BLOCK, self.tasks)
        if self.shape == 1:
            self.block_work: Floats = self.draw.standard_exponential(size)
        else:
            self.block_work = self.draw.standard_gamma(self.shape, size) / self.shape
        self.count[at.NEXT] = 0

    def _grow(self) -> None:
        """Room for twice as many jobs."""
        slots = len(self.kind)
        for name in ("kind", "number", "started", "running", "active", "born", "work"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self.free = np.zeros(2 * slots, dtype=np.int64)  # none was free
        self.free[:slots] = np.arange(2 * slots - 1, slots - 1, -1)
        self.count[at.FREE] = slots

    def _rates(self) -> None:
        """Ideal rates of one job of each class, all jobs present being counted."""
        key = self.present.tobytes()
        if key not in self.ideals:
            there = np.maximum(self.present, 0)
            rates = class_rates(self.parts, there[None, :], "pf")[0]
            self.ideals[key] = np.where(there > 0, rates / np.maximum(there, 1), 1.0)
        self.ideal[:] = self.ideals[key]

    def record(self) -> dict[str, Any]:
        """What `replicate` returns."""
        count, end = self.count, float(self.clock[0])
        here = self.active[: count[at.ACTIVE]]
        staying = np.bincount(
            self.kind[here], end - self.born[here], minlength=len(self.users)
        )  # of jobs not yet gone
        spent = self.stay + staying
        apart = np.abs(self.area - spent) / np.where(spent > 0, spent, 1.0)
        full = np.where(self.capacity > 0, self.capacity, 1.0)
        held = self.running[here] @ self.need[self.kind[here]]
        seen = self.seen.tolist()
        mean = [w / n if n else None for w, n in zip(self.wait.tolist(), seen, strict=True)]
        by = self.users
        return {
            "time": dict(zip(by, mean, strict=True)),
            "measured": dict(zip(by, seen, strict=True)),
            "number": dict(zip(by, (self.area / end).tolist(), strict=True)),
            "throughput": float(count[at.LEFT] / end),
            "use": (self.used / end / full).tolist(),
            "peak": (self.peak / full).tolist(),
            "parts": {
                "started": int(count[at.STARTED]),
                "ended": int(count[at.ENDED]),
                "running": int(self.running[here].sum()),
            },
            "whole": {
                "arrived": int(count[at.ARRIVED]),
                "left": int(count[at.LEFT]),
                "present": int(count[at.ACTIVE]),
            },
            "horizon": end,
            "lost": float((np.abs(self.capacity - self.left - held) / full).max()),
            "little": float(apart.max()),
        }


def whole_shares(need: Floats, capacity: Floats) -> Floats:
    """(K,) dominant shares of one task up to a common factor, whole numbers where they can be.

    Multiples of whole numbers are compared without rounding: three tasks of a tenth are as many
    as one of three tenths.
    """
    shares = [
        max(Fraction(d) / Fraction(c) for d, c in zip(row, capacity.tolist(), strict=True) if d > 0)
        for row in need.tolist()
    ]
    unit = math.lcm(*(share.denominator for share in shares))
    whole = [share * unit for share in shares]
    if max(whole) < 2**40:  # times the tasks of a job, below 2^53
        return np.array([float(share) for share in whole])
    return np.array([float(share) for share in shares])
