"""One run of packets: the arrays of `packet_loop.advance`, by its names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.dynamics import packet_loop as at
from fairopt.fast import loop
from fairopt.instance import Floats, Ints

RULES = {"drf": at.DRF, "pf": at.PF, "bmf": at.BMF, "pf-normalised": at.NORMALISED}
SLOTS = 32
"""flows present for which there is room at first"""


class PacketRun:
    """The arrays of `packet_loop.advance`, by its names."""

    def __init__(
        self,
        service: Floats,
        rule: str,
        window: int,
        compiled: bool | None,
        delay: Floats,
        parallel: bool,
    ) -> None:
        classes, resources = service.shape
        whole = np.int64
        self.service, self.rule, self.horizon = service, RULES[rule], np.inf
        self.delay, self.parallel = delay, parallel
        self.watched, self.until = 0, 1
        self.advance = loop(at.advance, compiled)
        self.block: tuple[Ints, Floats, Floats]
        self.count, self.clock = np.zeros(at.COUNTS, dtype=whole), np.zeros(1)
        self.kind, self.number, self.flying, self.active = np.zeros((4, SLOTS), dtype=whole)
        self.born, self.unsent = np.zeros((2, SLOTS))
        self.free = np.arange(SLOTS)[::-1].copy()
        self.count[at.FREE] = SLOTS
        self.tags, self.last = np.zeros((SLOTS, resources, window)), np.zeros((SLOTS, resources))
        self.head, self.length, self.through = np.zeros((3, SLOTS, resources), dtype=whole)
        self.coming = np.zeros((classes, SLOTS * window), dtype=whole)
        self.due = np.zeros((classes, SLOTS * window))
        self.oldest, self.under_way = np.zeros((2, classes), dtype=whole)
        self.virtual, self.busy = np.zeros((2, resources))
        self.serving, self.ready = np.full(resources, -1), np.full(resources, np.inf)
        self.area, self.stay, self.wait = np.zeros((3, classes))
        self.present, self.done, self.seen = np.zeros((3, classes), dtype=whole)

    def to_the_end(self, block: Any) -> None:
        """Run until the loop is done; `block` draws the next arrivals."""
        while True:
            # the loop is compiled and knows arrays alone: draws and larger arrays are made here
            why = self.advance(
                self.rule,
                self.parallel,
                self.delay,
                self.horizon,
                self.watched,
                self.until,
                self.service,
                *self.block,
                self.count,
                self.clock,
                self.present,
                self.kind,
                self.born,
                self.number,
                self.unsent,
                self.flying,
                self.active,
                self.free,
                self.tags,
                self.head,
                self.length,
                self.last,
                self.through,
                self.coming,
                self.due,
                self.oldest,
                self.under_way,
                self.virtual,
                self.serving,
                self.ready,
                self.busy,
                self.area,
                self.stay,
                self.done,
                self.seen,
                self.wait,
            )
            if why == at.DONE:
                return
            if why == at.SLOTS:
                self._grow()
            else:
                block()

    def _grow(self) -> None:
        """Room for twice as many flows."""
        slots = len(self.kind)
        for name in (
            "kind",
            "number",
            "flying",
            "active",
            "born",
            "unsent",
            "tags",
            "last",
            "head",
            "length",
            "through",
        ):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        # rings that begin at their oldest, with room behind
        turn = (self.oldest[:, None] + np.arange(self.due.shape[1])) % self.due.shape[1]
        for name in ("coming", "due"):
            old = np.take_along_axis(getattr(self, name), turn, axis=1)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=1))
        self.oldest[:] = 0
        self.free = np.zeros(2 * slots, dtype=np.int64)  # none was free
        self.free[:slots] = np.arange(2 * slots - 1, slots - 1, -1)
        self.count[at.FREE] = slots

    def record(self, users: Sequence[str]) -> dict[str, Any]:
        """What `replicate` returns."""
        count, end = self.count, float(self.clock[0])
        here = self.active[: count[at.ACTIVE]]
        staying = np.bincount(self.kind[here], end - self.born[here], minlength=len(users))
        spent = self.stay + staying
        apart = np.abs(self.area - spent) / np.where(spent > 0, spent, 1.0)
        # of what has begun, not all has been served
        serving = np.where(self.serving >= 0, self.ready - end, 0.0)
        use = (self.busy - serving) / end
        waiting = self._queued(here) + self.under_way.sum()
        seen = self.seen.tolist()
        mean = [w / n if n else None for w, n in zip(self.wait.tolist(), seen, strict=True)]
        return {
            "time": dict(zip(users, mean, strict=True)),
            "measured": dict(zip(users, seen, strict=True)),
            "number": dict(zip(users, (self.area / end).tolist(), strict=True)),
            "throughput": float(count[at.LEFT] / end),
            "use": use.tolist(),
            "peak": (self.busy > 0).astype(np.float64).tolist(),
            "parts": {
                "started": int(count[at.SENT]),
                "ended": int(count[at.ENDED]),
                "running": int(waiting),
            },
            "whole": {
                "arrived": int(count[at.ARRIVED]),
                "left": int(count[at.LEFT]),
                "present": int(count[at.ACTIVE]),
            },
            "horizon": end,
            "lost": float(abs(self.flying[here].sum() - waiting)),
            "little": float(apart.max()),
        }

    def _queued(self, slots: Ints) -> int:
        """Packets that wait or are served; in parallel each counts once."""
        at_each = self.length[slots] + (self.serving == slots[:, None])
        queued = at_each.max(axis=1, initial=0) if self.parallel else at_each.sum(axis=1)
        return int(queued.sum())


__all__ = ["RULES", "SLOTS", "PacketRun"]
