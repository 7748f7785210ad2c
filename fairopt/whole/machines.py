"""Identical machines being filled with whole tasks, in integers, in groups that hold the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from fairopt.instance import Floats, Ints

Amounts = Mapping[str, Fraction]
Pattern = dict[int, int]
"""tasks by user on one machine"""
LARGEST_INTEGER = 2**62
"""from which on amounts are integers of Python: numbers of 64 bits would overflow"""
_PART = 12
"""machines are filled alike at most this part of them at a time"""


FEW_GROUPS = 8
"""groups up to which it is first asked, one by one, whether anything fits"""
Needs = Sequence[Sequence[tuple[int, int]]]
"""of each user the resources that a task needs, with how much of each"""


def needed(demand: Any) -> Needs:
    """What tasks need, of amounts (N, R)."""
    return [[(r, x) for r, x in enumerate(own) if x] for own in demand.tolist()]


class MachineRow:
    """The machines of one shape, in groups that hold the same."""

    def __init__(self, count: int, capacity: Any, demand: Any, needs: Needs | None = None) -> None:
        self.demand = demand
        self.count: list[int] = [count]
        self.room: Any = capacity[None, :].copy()
        self.tasks: list[Pattern] = [{}]
        self.needs = needed(demand) if needs is None else needs
        # room is measured against what a machine has, to find the fullest one
        self.scale = np.array([float(c) if c > 0 else 1.0 for c in capacity])

    def fit(self, n: int) -> Any:
        """(groups,) most tasks of user n that fit on one machine of each group as it is."""
        need = [r for r, _ in self.needs[n]]
        return (self.room[:, need] // self.demand[n, need]).min(axis=1)

    def place(self, n: int, wanted: int) -> int:
        """Place up to `wanted` tasks of user n, fullest machines first; returns how many fit."""
        if len(self.count) <= FEW_GROUPS and not any(
            all(room[r] >= x for r, x in self.needs[n]) for room in self.room.tolist()
        ):
            return 0
        fit = self.fit(n)
        some = np.flatnonzero(fit > 0)
        fullness = (self.room[some].astype(float) / self.scale).sum(axis=1)
        left = wanted
        for g in some[np.argsort(fullness, kind="stable")].tolist():
            if left == 0:
                break
            left -= self._into(g, n, int(fit[g]), left)
        return wanted - left

    def spread(self, wanted: Ints, size: Floats) -> Ints:
        """Place whole tasks of all users on empty machines, evenly; returns how many fit of each.

        Parameters
        ----------
        wanted : (N,) tasks of each user. size : (N,) large tasks are placed before small ones.
        """
        left, free = wanted.copy(), self.count[0]
        capacity = [int(x) for x in self.room[0]]
        while free and left.any():
            own = _pattern(left / free, capacity, self.needs, size)
            if not own:
                break
            alike = min(free // _PART + 1, *(int(left[n]) // k for n, k in own.items()))
            if alike < self.count[0]:
                self._split(0, alike)
            g = len(self.count) - 1 if alike < free else 0
            for n, k in own.items():
                self._add(g, n, k)
                left[n] -= k * alike
            free -= alike
        return wanted - left

    def _into(self, g: int, n: int, most: int, wanted: int) -> int:
        """Put tasks on machines of group g, splitting it where only some machines are needed."""
        full, part = divmod(min(wanted, most * self.count[g]), most)
        for machines, tasks in ((full, most), (1, part)):
            if machines and tasks:
                if machines < self.count[g]:
                    self._split(g, machines)
                    self._add(len(self.count) - 1, n, tasks)
                else:
                    self._add(g, n, tasks)
        return full * most + part

    def single(self) -> int:
        """The group of one machine taken off the empty ones."""
        if self.count[0] > 1:
            self._split(0, 1)
            return len(self.count) - 1
        return 0

    def add_up_to(self, g: int, n: int, tasks: int) -> int:
        """Add tasks to a machine as far as they fit; returns how many did."""
        own = min(tasks, int(self.fit(n)[g]))
        if own > 0:
            self._add(g, n, own)
        return own

    def _split(self, g: int, machines: int) -> None:
        self.count[g] -= machines
        self.count.append(machines)
        self.tasks.append(dict(self.tasks[g]))
        self.room = np.concatenate([self.room, self.room[g : g + 1]])

    def _add(self, g: int, n: int, tasks: int) -> None:
        self.room[g] -= self.demand[n] * tasks
        self.tasks[g][n] = self.tasks[g].get(n, 0) + tasks

    def machines(self) -> tuple[tuple[int, Pattern], ...]:
        """(count, tasks by user) of the different machines, most alike first."""
        alike: dict[tuple[tuple[int, int], ...], int] = {}
        for count, tasks in zip(self.count, self.tasks, strict=True):
            key = tuple(sorted(tasks.items()))
            alike[key] = alike.get(key, 0) + count
        order = sorted(alike.items(), key=lambda item: (-item[1], item[0]))
        return tuple((count, dict(key)) for key, count in order)


def _pattern(each: Floats, capacity: Sequence[int], needs: Needs, size: Floats) -> Pattern:
    """Tasks by user on one machine, near to `each` (N,) tasks of a user per machine."""
    some = np.flatnonzero(each > 0)
    some = some[np.argsort(-size[some], kind="stable")]
    down = np.floor(each[some] * min(1.0, _fitting(each, capacity, needs)) * (1 + 1e-12))
    behind = (each[some] - down) / each[some]
    room, own = list(capacity), Pattern()

    def put(n: int, most: int) -> None:
        k = min(most, *(room[r] // x for r, x in needs[n]))
        if k > 0:
            for r, x in needs[n]:
                room[r] -= k * x
            own[n] = own.get(n, 0) + k

    for n, k in zip(some.tolist(), down.astype(np.int64).tolist(), strict=True):
        if k:
            put(n, k)
    for k in np.argsort(-behind, kind="stable").tolist():
        if behind[k] > 1e-9:
            put(int(some[k]), 1)
    return own


def _fitting(each: Floats, capacity: Sequence[int], needs: Needs) -> float:
    """The part of `each` (N,) that fits: what earlier machines left over is lost by all alike."""
    load = [0.0] * len(capacity)
    for n in np.flatnonzero(each > 0).tolist():
        for r, x in needs[n]:
            load[r] += float(each[n]) * x
    return min((c / own for c, own in zip(capacity, load, strict=True) if own > 0), default=1.0)


def integers(
    resources: Sequence[str], amounts: Sequence[Mapping[str, Fraction]], more: Sequence[Amounts]
) -> tuple[Any, Any]:
    """Two lists of exact amounts as integers, each resource in a unit that makes it whole."""
    both = [*amounts, *more]
    unit = [lcm(*(own[key].denominator for own in both if key in own)) for key in resources]
    rows = [
        [int(own.get(key, Fraction(0)) * size) for key, size in zip(resources, unit, strict=True)]
        for own in both
    ]
    largest = max((value for row in rows for value in row), default=0)
    table = np.array(rows, dtype=np.int64 if largest < LARGEST_INTEGER else object)
    table = table.reshape(len(both), len(resources))
    return table[: len(amounts)], table[len(amounts) :]
