"""A ledger as a scheduler of an online cluster: who is served next follows from what it remembers.

Use is remembered as time passes; between two events it does not change, so that averages and sums
are exact. Among users with waiting tasks the next is

* of the first class (`kueue`, `slurm`), and there the same by their own weights,
* of changed weights (`kai`, `condor`) whose share over its weight would be least with one task
  more; of weight 0 nobody,
* of Karma who is furthest below what its fluid program gives it now and gave it so far. Credits
  change at the program's rate, a unit of time being its slice.

A share is the running tasks times what one counts as.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.overtime.ledger import Ledger
from fairopt.overtime.policies import POLICIES
from fairopt.overtime.states import LedgerState

KNOWN = ("kai", "kueue", "slurm", "condor", "karma")


def is_ledger(name: str) -> bool:
    """Whether a scheduler is named by a policy, such as "kueue:half=24"."""
    return name.partition(":")[0] in POLICIES


class Remembered:
    """A ledger and its state.

    Raises
    ------
    UsageError : an unknown policy, or one that divides slices alone; of Karma, several resources.
    """

    def __init__(self, instance: Instance, name: str) -> None:
        self.book, self.instance = Ledger.of(name), instance
        if self.book.name not in KNOWN:
            raise UsageError(
                f"policy: found {self.book.name!r} online; wanted one of {', '.join(KNOWN)}"
            )
        self.state = self.book.start(instance)
        self.use = self.book.use_of_one(instance)
        self.owed = np.zeros(len(instance.users))
        """(N,) of Karma, what the program gave so far and was not held"""
        if self.book.kind == "credits":
            self._karma(np.zeros(len(instance.users)))

    def passed(self, running: Sequence[int], waiting: Sequence[int], time: float) -> None:
        """Time went by in which users had these tasks."""
        if time <= 0:
            return
        if self.book.kind == "credits":
            due, after = self._karma(np.add(running, waiting, dtype=np.float64))
            self.owed += time * (due - np.asarray(running, dtype=np.float64))
            gained = np.asarray(after.amount - self.state.amount)
            self.state = LedgerState(np.maximum(self.state.amount + time * gained, 0.0))
        else:
            tasks = np.asarray(running, dtype=np.float64)
            self.state = self.book.after(self.state, self.instance, tasks, time)

    def line(self, running: Sequence[int], waiting: Sequence[int]) -> WaitingLine:
        """In which order users with waiting tasks are served now."""
        wants = np.add(running, waiting, dtype=np.float64)
        users = len(wants)
        if self.book.kind == "credits":
            due = self._karma(wants)[0] + self.owed
            same, one = np.zeros(users, np.int64), np.ones(users)
            return WaitingLine(same, due, one, one, np.zeros(users, bool))
        change = self.book.change(self.state, self.instance, wants)
        return WaitingLine(change.rank, np.zeros(users), self.use, change.weight, change.out)

    def _karma(self, wants: Floats) -> tuple[Floats, LedgerState]:
        """What the fluid program gives (N,), of one resource of all machines; the state after."""
        one = self.instance
        if one.shape[2] != 1 or np.ptp(one.demand) > 0:
            raise UsageError(f"karma: found {one!r}; wanted one resource, equal tasks")
        whole = Instance(one.demand.reshape(len(one.users), -1)[:, :1], [one.pool.sum(axis=0)])
        whole = whole.replace(weight=one.weight, limit=one.limit)
        found, after = self.book.division(self.state, whole, wants)
        return found[:, 0], after


class WaitingLine:
    """Who is next: by class, then by share over weight; or by running tasks less those due."""

    def __init__(
        self,
        rank: Ints,
        due: Floats,
        use: Floats,
        weight: Floats,
        out: Bools,
    ) -> None:
        self.rank, self.due, self.out = rank, due, out
        self.each = use / weight

    def next(self, left: Sequence[int], running: Sequence[int]) -> int:
        """Of some users, who is served first; ties in their order."""
        return min(
            left,
            key=lambda n: (int(self.rank[n]), (running[n] + 1 - self.due[n]) * self.each[n], n),
        )


__all__ = ["KNOWN", "Remembered", "is_ledger"]
