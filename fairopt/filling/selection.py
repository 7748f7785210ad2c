"""Server selections: which machine the next increment goes to.

There are two families. *User first* (joint, first-fit, best-fit, best-fit-any) chooses the user of
smallest criterion among those whose task fits somewhere, then its machine. *Server first*
(random-server, rrr, in-order) chooses a machine, then the user of smallest criterion whose task
fits there.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator

import numpy as np

from fairopt.filling.cluster import Machines
from fairopt.instance import Bools, Floats, Ints

_NONE = np.iinfo(np.int64).max


class States:
    """The different machine states in use, each with the position of its first machine.

    A state in which no kind of user fits any more is dropped (unless `keep_full`). So the table has
    at most one entry per machine that can still take a task, and usually far fewer.
    """

    def __init__(self, cluster: Machines, keep_full: bool = False) -> None:
        self.cluster, self.keep_full = cluster, keep_full
        self.size = 0
        self.shape: Ints = np.zeros(16, dtype=np.int64)
        self.room: Floats = np.full((cluster.capacity.shape[1], 16), -1.0)
        """(R, states) residual + slack, by resource so that a scan runs over contiguous memory"""
        self.first: Ints = np.full(16, _NONE)
        self.version: list[int] = [0] * len(cluster.shape)
        """times each machine has changed"""
        self._heaps: list[list[int]] = []
        self._at: dict[tuple[int, bytes], int] = {}
        self._key: list[tuple[int, bytes]] = []
        self._free: list[int] = []
        self._full: set[tuple[int, bytes]] = set()
        self._of: list[int] = [-1] * len(cluster.shape)
        for position in range(len(cluster.shape)):
            self._join(position)

    def residual(self, states: Ints) -> Floats:
        """(K, R) residuals of some states."""
        shapes = self.shape[states]
        return np.asarray(self.room[:, states].T - self.cluster.slack[shapes])

    def eligible(self, kind: int) -> Bools:
        """(states,) whether the kind is eligible there, full or not."""
        mask = self.first[: self.size] != _NONE
        if not self.cluster.eligible[kind].all():
            mask &= self.cluster.eligible[kind, self.shape[: self.size]]
        return np.asarray(mask)

    def fitting(self, kind: int) -> Ints:
        """Indices of the states in which one more increment of a kind fits."""
        c, k = self.cluster, self.size
        mask: Bools | None = None
        need = c.demand[kind, self.shape[:k]].T if c.by_server else c.demand[kind][:, None]
        for r in range(len(self.room)):
            ok = self.room[r, :k] >= need[r]
            mask = ok if mask is None else np.logical_and(mask, ok, out=mask)
        assert mask is not None
        if not c.eligible[kind].all():
            mask &= c.eligible[kind, self.shape[:k]]
        return np.flatnonzero(mask)

    def place(self, user: int, position: int) -> None:
        """Place on a machine, which must be the first of its state, and move it to its new one."""
        state = self._of[position]
        heap = self._heaps[state]
        if heapq.heappop(heap) != position:
            raise RuntimeError("a machine was chosen that is not the first of its state")
        if heap:
            self.first[state] = heap[0]
        else:
            self.room[:, state] = -1.0
            self.first[state] = _NONE
            del self._at[self._key[state]]
            self._free.append(state)
        self.cluster.place(user, position)
        self.version[position] += 1
        self._join(position)

    def _join(self, position: int) -> None:
        c = self.cluster
        shape = int(c.shape[position])
        key = (shape, c.residual[position].tobytes())
        if key in self._full:
            self._of[position] = -1
            return
        state = self._at.get(key)
        if state is None:
            if not self.keep_full and not len(c.fitting(position)):
                self._full.add(key)
                self._of[position] = -1
                return
            state = self._new(key, c.residual[position] + c.slack[shape])
        heapq.heappush(self._heaps[state], position)
        self.first[state] = self._heaps[state][0]
        self._of[position] = state

    def _new(self, key: tuple[int, bytes], room: Floats) -> int:
        if self._free:
            state = self._free.pop()
            self._key[state] = key
        else:
            state = self.size
            self.size += 1
            self._heaps.append([])
            self._key.append(key)
            if state == len(self.first):
                self.shape = np.concatenate([self.shape, np.zeros_like(self.shape)])
                self.first = np.concatenate([self.first, np.full_like(self.first, _NONE)])
                self.room = np.concatenate([self.room, np.full_like(self.room, -1.0)], axis=1)
        self._at[key] = state
        self.shape[state] = key[0]
        self.room[:, state] = room
        return state


def shape_distance(cluster: Machines, states: States, kind: int, which: Ints) -> Floats:
    """sum_r |d~_r/d~_1 - cbar_r/cbar_1| (DRFH; the Mesos code of kesidis2018).

    d~ is the demand and cbar the residual, both divided by the pool's total; component 1 is the
    first resource that the user demands. +inf where a machine has none of it left.
    """
    total = np.where(cluster.total > 0, cluster.total, 1.0)
    need = cluster.demand[kind, states.shape[which]] if cluster.by_server else cluster.demand[kind]
    need = need / total
    have = states.residual(which) / total
    one = int(np.flatnonzero(np.atleast_2d(need).max(axis=0) > 0)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(need / need[..., one : one + 1] - have / have[:, one : one + 1]).sum(axis=1)
    return np.where((have[:, one] > 0) & ~np.isnan(off), off, np.inf)


def first_of_least(states: States, which: Ints, value: Floats) -> int:
    """Position of the first machine among the states of least value (equal to 1e-12)."""
    near = which[value <= value.min() * (1 + 1e-12)]
    return int(states.first[near].min())


# -- the order in which server-first selections visit machines ---------------------------------


class Open:
    """The machines that may still take a task; drawing or closing one takes constant time."""

    def __init__(self, machines: int) -> None:
        self.list = list(range(machines))
        self._where = list(range(machines))

    def __contains__(self, position: int) -> bool:
        return self._where[position] >= 0

    def close(self, position: int) -> None:
        """Remove a machine on which nothing more fits; the last of the list takes its place."""
        at, last = self._where[position], self.list.pop()
        if last != position:
            self.list[at] = last
            self._where[last] = at
        self._where[position] = -1


Visit = Callable[[Open, random.Random], Iterator[int]]
"""(open machines, generator) -> positions, for as long as a machine is open"""


def random_server(machines: Open, draw: random.Random) -> Iterator[int]:
    """A machine drawn uniformly for every increment."""
    while machines.list:
        yield machines.list[draw.randrange(len(machines.list))]


def rounds(machines: Open, draw: random.Random) -> Iterator[int]:
    """Every open machine once per round, each round in a new random order."""
    while machines.list:
        tour = sorted(machines.list)
        draw.shuffle(tour)
        yield from tour


def in_order(machines: Open, draw: random.Random) -> Iterator[int]:
    """One machine after the other, each until nothing more fits."""
    for position in range(len(machines.list)):
        while position in machines:
            yield position


VISITS: dict[str, Visit] = {"random-server": random_server, "rrr": rounds, "in-order": in_order}
